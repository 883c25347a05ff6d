# SPDX-License-Identifier: Apache-2.0
"""Whether a setting is taken, as the library, the launcher's ranks and the padding library say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.slowpaths.registry import find_program_remedy
from slowpath.watch.prove.remedies import Candidate, ProgramMpi, candidate, of_user
from slowpath.watch.prove.rerun import before_runs, of_pad_report

MPICH = ProgramMpi("mpich", "5.0.2", None, Path("/lib/libmpi.so.12"), "hydra")
COMMAND = ("mpiexec", "-n", "2", "sh", "-c", "true")
ENVIRON = {"PATH": "/usr/bin:/bin"}
KNOWN = {"MPIR_CVAR_CH4_CMA_ENABLE": 1}


def library(argv: list[str], environ: Mapping[str, str]) -> str:
    """An MPICH with one control variable, which it reads from the environment."""
    value = int(environ.get("MPIR_CVAR_CH4_CMA_ENABLE", "1") != "0")
    values = {name: value.to_bytes(4, "little").hex() for name in KNOWN if name in argv}
    return json.dumps({"names": [*KNOWN, "MPIR_CVAR_OTHER"], "values": values})


def tried(setting: str, environ: Mapping[str, str] = ENVIRON) -> Candidate:
    return of_user([setting], [], COMMAND, MPICH, environ)


def state(one: Candidate, ask: object = library) -> tuple[str, str]:
    found = before_runs(one, MPICH, COMMAND, ENVIRON, ask)  # type: ignore[arg-type]
    return found.state, found.text


def test_a_variable_that_reads_back_is_taken() -> None:
    assert state(tried("MPIR_CVAR_CH4_CMA_ENABLE=0"))[0] == "taken"


def test_a_variable_that_the_library_has_not_is_ignored() -> None:
    found, text = state(tried("MPIR_CVAR_CH4_CMA_ENABEL=0"))
    assert found == "ignored"
    assert "nearest: MPIR_CVAR_CH4_CMA_ENABLE" in text
    assert state(tried("OMPI_MCA_smsc=none"))[0] == "ignored"


def test_a_variable_that_changes_nothing_is_ignored() -> None:
    assert "has that value already" in state(tried("MPIR_CVAR_CH4_CMA_ENABLE=1"))[1]


def test_what_the_library_can_not_say_is_not_known() -> None:
    assert state(tried("MY_OWN=1"))[0] == "not known"
    assert state(tried("MPIR_CVAR_CH4_CMA_ENABLE=0"), lambda *_: None)[0] == "not known"
    nameless = before_runs(tried("A=1"), ProgramMpi(), COMMAND, ENVIRON)
    assert nameless.state == "not known"


def ranks(argv: list[str], environ: Mapping[str, str]) -> str:
    masks = ["0", "1"] if "-bind-to" in argv else ["0-1", "0-1"]
    return "".join(f"Cpus_allowed_list:\t{mask}\n" for mask in masks)


def test_a_binding_is_seen_in_the_ranks_processors() -> None:
    one = candidate(find_program_remedy("bind-cores"), COMMAND, MPICH, ENVIRON, ())
    assert isinstance(one, Candidate)
    assert one.argv == ("mpiexec", "-bind-to", "core", *COMMAND[1:])
    assert state(one, ranks)[0] == "taken"
    assert state(one, lambda *_: "Cpus_allowed_list:\t0-1\n" * 2)[0] == "ignored"


def test_a_command_that_binds_by_itself_is_left_alone() -> None:
    bound = ("mpiexec", "-bind-to", "none", "sh")
    assert "binds ranks itself" in str(candidate(find_program_remedy("bind-cores"), bound, MPICH, ENVIRON, ()))


def test_tunables_stand_behind_the_users_own() -> None:
    own = {**ENVIRON, "GLIBC_TUNABLES": "glibc.malloc.check=0"}
    one = candidate(find_program_remedy("keep-freed-memory"), COMMAND, MPICH, own, ())
    assert isinstance(one, Candidate)
    assert one.variables["GLIBC_TUNABLES"].startswith("glibc.malloc.check=0:glibc.malloc.mmap_max=0")
    again = {**ENVIRON, **one.variables}
    assert candidate(find_program_remedy("keep-freed-memory"), COMMAND, MPICH, again, ()) == "it is set already"


def test_open_mpi_hands_a_remedy_to_other_nodes() -> None:
    mpi = ProgramMpi("openmpi", "5.0.11", None, None, "prterun")
    one = candidate(find_program_remedy("yield-when-idle"), ("mpirun", "sh"), mpi, ENVIRON, ())
    assert isinstance(one, Candidate)
    assert one.argv == ("mpirun", "-x", "OMPI_MCA_mpi_yield_when_idle", "sh")


def test_what_a_library_knows_no_way_for_is_left_out() -> None:
    intel = ProgramMpi("intelmpi", "2021.18", None, None, "hydra-intel")
    assert "no variable for it is known" in str(
        candidate(find_program_remedy("yield-when-idle"), COMMAND, intel, ENVIRON, ())
    )


def test_a_library_to_preload_has_to_be_there(tmp_path: Path) -> None:
    remedy = find_program_remedy("pad-host")
    assert "is missing" in str(candidate(remedy, COMMAND, MPICH, ENVIRON, (tmp_path,)))
    (tmp_path / "libslowpath-pad.so").touch()
    one = candidate(remedy, COMMAND, MPICH, {**ENVIRON, "LD_PRELOAD": "/own.so"}, (tmp_path,))
    assert isinstance(one, Candidate)
    assert one.variables["LD_PRELOAD"] == f"/own.so:{tmp_path}/libslowpath-pad.so"


def test_own_settings_are_tried_together_and_taken_away() -> None:
    one = of_user(["A=1", "B=x=y"], ["C"], COMMAND, MPICH, {**ENVIRON, "C": "1"})
    assert one.environ({"C": "1", "D": "2"}) == {"A": "1", "B": "x=y", "D": "2"}
    assert one.key == "A=1 B=x=y -C"
    for settings, unset in ((["A"], []), ([], ["C"])):
        with pytest.raises(UsageError):
            of_user(settings, unset, COMMAND, MPICH, ENVIRON)


def test_the_padding_library_says_what_it_padded(tmp_path: Path) -> None:
    report = tmp_path / "report"
    found = of_pad_report(report)
    assert found is not None
    assert found.state == "ignored"
    line = "slowpath-pad: process 4: device: 9 allocations, 6 padded, 15 bytes added, 41 at peak; host: 3 allocations, "
    report.write_text(f"{line}0 padded, 0 bytes added\n{line}2 padded, 9 bytes added\n")
    found = of_pad_report(report)
    assert found is not None
    assert (found.state, found.text) == ("taken", "libslowpath-pad.so padded 14 allocations")
