# SPDX-License-Identifier: Apache-2.0
"""The table of wrapped calls: current, whole, and with roles that say what each word is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from watch_calls import Argument, family_of, roles_of

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "engine" / "watch" / "calls.txt"
LINES = re.findall(r"^(\w+\*?): ([^:\n]*):(.*)$", TABLE.read_text(), re.MULTILINE)
NAMES = [(f"MPI_{name}", family, roles.split()) for family, names, roles in LINES for name in names.split()]
CALLS = {name.removesuffix("+"): (family, roles) for name, family, roles in NAMES}
CALLS |= {f"{name[:-1]}_c": (f"{family}*", roles) for name, family, roles in NAMES if name.endswith("+")}


def names_of(enum: str) -> set[str]:
    """The enumerators in call.hpp."""
    text = (ROOT / "engine" / "watch" / "call.hpp").read_text()
    body = re.search(rf"enum class {enum} [^{{]*{{(.*?)}};", text, re.DOTALL)
    assert body is not None
    return set(re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", body[1]), re.MULTILINE))


def test_the_table_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate-watch", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_all_large_count_forms_are_there() -> None:
    large = {name for name in CALLS if name.endswith("_c")}
    assert len(large) == 159
    assert all(name.removesuffix("_c") in CALLS for name in large)
    assert {name for name, (family, _) in CALLS.items() if family.endswith("*")} - large == {
        "MPI_Psend_init",
        "MPI_Precv_init",
    }


def test_words_fit_and_are_known() -> None:
    families, roles = names_of("Family"), names_of("Role")
    for name, (family, of_words) in CALLS.items():
        assert family.removesuffix("*") in families, name
        assert set(of_words) <= roles, name
        assert len(of_words) <= 16, name
        assert len(name) < 40, "the record has 40 bytes for it"


def test_calls_that_are_no_error_codes_are_left_out() -> None:
    assert not {"MPI_Wtime", "MPI_Pcontrol", "MPI_Comm_c2f", "MPI_Aint_add"} & set(CALLS)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("MPI_Send", "send_buffer send_count send_datatype destination send_tag communicator"),
        ("MPI_Recv_c", "receive_buffer receive_count receive_datatype source receive_tag communicator status"),
        ("MPI_Bcast", "send_buffer send_count send_datatype root communicator"),
        ("MPI_Reduce_scatter", "send_buffer receive_buffer receive_counts send_datatype operation communicator"),
        (
            "MPI_Ialltoallw",
            "send_buffer send_counts send_offsets send_datatypes receive_buffer receive_counts receive_offsets"
            " receive_datatypes communicator request",
        ),
        (
            "MPI_Neighbor_alltoallw",  # its offsets are MPI_Aint whatever the form
            "send_buffer send_counts other send_datatypes receive_buffer receive_counts other receive_datatypes"
            " communicator",
        ),
        (
            "MPI_Get",
            "receive_buffer receive_count receive_datatype target target_offset target_count target_datatype window",
        ),
        ("MPI_Waitsome", "request_count requests out_count indices statuses"),
        ("MPI_Testany", "request_count requests index flag status"),
        ("MPI_Pready", "partition request_value"),
        ("MPI_Cancel", "request"),
        ("MPI_Comm_free", "new_communicator"),
        ("MPI_Comm_split", "communicator color key new_communicator"),
        ("MPI_Win_allocate", "bytes other info communicator address new_window"),
        ("MPI_Type_commit", "new_datatype"),
        ("MPI_Mrecv", "receive_buffer receive_count receive_datatype message status"),
    ],
)
def test_roles(name: str, roles: str) -> None:
    assert CALLS[name][1] == roles.split()


def test_an_argument_of_an_unknown_kind_is_other() -> None:
    assert roles_of("MPI_New", [Argument("x", "NEVER_HEARD_OF", "in", False)]) == ("other",)
    assert family_of("MPI_New") == "other"
