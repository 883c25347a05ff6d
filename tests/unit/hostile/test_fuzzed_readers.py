# SPDX-License-Identifier: Apache-2.0
"""What fuzzing found: inputs that ended a reader by a traceback."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from slowpath.diagnose.session import replaced_words
from slowpath.mpi.control_variables import ControlVariables, read_control_variables
from slowpath.mpi.install.place import MANIFEST, read_manifest
from slowpath.mpi.tuning import REPLACED_CALLS
from slowpath.record.owner import latest
from slowpath.run.engine.cache import NOTE, cached_engine
from slowpath.run.engine.elf import dynamic
from slowpath.watch.prove.rerun import of_collectives_report

NO_JSON = pytest.mark.parametrize(
    "content",
    [b'{"a": "\xff"}', b"[" * 100_000, b"\xff\xfe", b'{"x": ' + b'{"x":' * 5000],
    ids=["not UTF-8", "nested", "bytes", "nested objects"],
)


@NO_JSON
def test_bytes_that_are_no_json_are_no_traceback(content: bytes, tmp_path: Path) -> None:
    launch = tmp_path / "launches" / "000001"
    (tmp_path / "owner").mkdir()
    launch.mkdir(parents=True)
    for path in (MANIFEST, NOTE, "owner/000001.json", f"launches/000001/{REPLACED_CALLS}"):
        (tmp_path / path).write_bytes(content)
    assert read_manifest(tmp_path) is None
    assert cached_engine(tmp_path) is None
    held = latest(tmp_path)
    assert held is not None
    assert held.owner is None
    assert replaced_words(tmp_path) is not None
    witness = of_collectives_report(launch / REPLACED_CALLS)
    assert witness is not None
    assert witness.state == "ignored"
    said = content.decode("utf-8", "replace")
    assert read_control_variables(Path("libmpi.so"), ["EAGER"], {}, lambda argv, environ: said) is None


def test_a_control_variable_in_no_hexadecimal_digits_has_no_number() -> None:
    assert ControlVariables(["EAGER"], {"EAGER": "no digits"}).number("EAGER") is None
    assert ControlVariables(["EAGER"], {"EAGER": "00100000"}).number("EAGER") == 4096


def elf(offset: int, count: int) -> bytes:
    """A header of ELF-64 whose tables begin there."""
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("=HHIQQQIHHHHHH", 3, 62, 1, 0, offset, offset, 0, 64,
                                                                 56, count, 64, count, 0)  # fmt: skip
    return head.ljust(200, b"\0")


@pytest.mark.parametrize("offset", [2**63, 2**64 - 8, 100])
def test_a_program_whose_tables_lie_beyond_its_end_has_no_dynamic_section(offset: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(elf(offset, 3))
    assert dynamic(path) is None


def test_a_program_whose_names_have_no_end_needs_nothing(tmp_path: Path) -> None:
    """One loaded segment, one dynamic one; the table of strings reaches up to the end of the file."""
    load = struct.pack("=IIQQQQQQ", 1, 4, 0, 0, 0, 1000, 1000, 1)
    dynamic_segment = struct.pack("=IIQQQQQQ", 2, 4, 176, 176, 176, 48, 48, 8)
    entries = struct.pack("=qQqQqQ", 5, 224, 1, 0, 0, 0)
    path = tmp_path / "program"
    path.write_bytes(elf(64, 2)[:64] + load + dynamic_segment + entries + b"libmpi.so")
    assert dynamic(path) is None
