# SPDX-License-Identifier: Apache-2.0
"""From the lines of a process's file to numbers and shares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.studies.counting.model import ProcessCount, spread
from slowpath.studies.counting.read import Name, Place, decode_lines, parse_mappings, place, process_count, read_folder
from slowpath.studies.counting.show import as_json, as_text
from slowpath.studies.counting.start import exit_code

MAPS = [
    "1000-2000 r-xp 00001000 fe:00 77                         /opt/an app",
    "5000-7000 r-xp 00000000 fe:00 78                         /lib/libmpi.so.12",
    "9000-a000 r-xp 00000000 00:00 0 ",
]
PROCESS = {
    "event": "process",
    "version": 1,
    "method": "trap flag",
    "host": "n0",
    "pid": 7,
    "rank": "1",
    "program": "/opt/an app",
    "function": "MPI_Put",
    "skip": 2,
    "calls": 64,
}


def lines(*events: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def call(number: int, at: list[list[int]]) -> dict[str, object]:
    stepped, retired = sum(entry[1] for entry in at), sum(entry[2] for entry in at)
    return {
        "event": "call", "call": number, "thread": 7, "stepped": stepped, "retired": retired, "reason": None, "at": at
    }  # fmt: skip


def names(places: Sequence[Place]) -> dict[Place, Name]:
    return {where: (where[0].rpartition("/")[2], f"f{where[1] // 0x1000}") for where in places}


FOUND = {"event": "found", "library": "/lib/libmpi.so.12"}
MAPPINGS = {"event": "mappings", "lines": MAPS}
CALLS = [call(3, [[0x5000, 10, 10], [0x6000, 37, 1]]), call(4, [[0x5000, 12, 12], [0x9004, 1, 1], [0x1000, 2, 2]])]
WHOLE = lines(PROCESS, FOUND, MAPPINGS, *CALLS, {"event": "end", "calls": 4})


def counted(data: bytes = WHOLE) -> ProcessCount:
    made = process_count(Path("x"), data, names)
    assert made is not None
    return made


def test_shares_are_sums_over_calls_by_function() -> None:
    shares = {(share.library, share.function): (share.stepped, share.retired) for share in counted().shares}
    assert shares == {
        ("libmpi.so.12", "f1"): (37, 1),
        ("libmpi.so.12", "f0"): (22, 22),
        ("an app", "f1"): (2, 2),
        ("?", "?"): (1, 1),
    }
    assert [share.stepped for share in counted().shares] == [37, 22, 2, 1]


def test_mappings_hold_for_the_calls_that_follow() -> None:
    moved = {"event": "mappings", "lines": [MAPS[1].replace("libmpi.so.12", "other.so")]}
    made = counted(lines(PROCESS, MAPPINGS, CALLS[0], moved, CALLS[0]))
    assert {share.library for share in made.shares} == {"libmpi.so.12", "other.so"}


def test_addresses_become_places() -> None:
    mappings = parse_mappings([*MAPS, "nonsense"])
    assert place(mappings, 0x1010) == ("/opt/an app", 0x1010)
    assert place(mappings, 0x6FFF) == ("/lib/libmpi.so.12", 0x1FFF)
    assert place(mappings, 0x7000) is None
    assert place(mappings, 0x9000) is None
    assert place(mappings, 0) is None


def test_a_path_keeps_its_letters() -> None:
    text = "1000-2000 r-xp 00000000 fe:00 77 /opt/m\u00c3\u00bcnchen"  # as bytes of UTF-8
    assert parse_mappings([text])[0].path == "/opt/münchen"


def test_a_line_that_is_cut_off_costs_only_itself() -> None:
    made = counted(WHOLE[:-25])
    assert made.damaged == 1
    assert made.calls_met is None
    assert len(made.counted) == 2
    assert "did not end in good order" in as_text([made])


def test_a_file_without_its_first_line_is_none() -> None:
    assert process_count(Path("x"), lines(FOUND), names) is None
    assert decode_lines(b"{") == ([], 1)


def test_another_version_is_told() -> None:
    with pytest.raises(RecordError, match="version 2"):
        counted(lines({**PROCESS, "version": 2}))


def test_processes_come_by_rank(tmp_path: Path) -> None:
    for number, rank in enumerate(["10", None, "9"]):
        (tmp_path / f"{number}.jsonl").write_bytes(lines({**PROCESS, "rank": rank, "pid": number}))
    assert [count.rank for count in read_folder(tmp_path, names)] == ["9", "10", None]


def test_numbers_of_calls() -> None:
    numbers = spread([10, 12, None, 10, 40])
    assert numbers is not None
    assert (numbers.calls, numbers.median, numbers.min, numbers.max, numbers.mean) == (4, 11, 10, 40, 18)
    assert numbers.distribution == ((10, 2), (12, 1), (40, 1))
    assert spread([None]) is None
    assert spread([]) is None


def test_text_shows_both_ways_to_count_rep() -> None:
    text = as_text([counted()])
    assert "MPI_Put in rank 1 (n0, process 7, an app): 2 calls counted, after 2 that were let through" in text
    rows = {line.split("  ")[1]: line.split()[-4:] for line in text.splitlines() if " rep " in line or "  rep" in line}
    assert rows["each rep iteration is one"] == ["31", "15", "47", "31.00"]
    assert rows["rep as one, as hardware counts"] == ["13", "11", "15", "13.00"]


def test_nothing_counted_has_a_reason() -> None:
    never = counted(lines(PROCESS, FOUND, {"event": "end", "calls": 0}))
    assert "it was not called" in as_text([never])
    refused = {**CALLS[0], "stepped": None, "retired": None, "reason": "it starts a thread", "at": []}
    given_up = counted(lines(PROCESS, FOUND, refused))
    data = json.loads(as_json([given_up], "MPI_Put", 0))
    assert data["processes"][0]["stepped"] is None
    assert data["processes"][0]["reason"] == "call 3: it starts a thread"
    assert exit_code([never], "MPI_Put", 0) == 0
    with pytest.raises(EnvironmentFailure, match="no call of MPI_Put could be counted"):
        exit_code([never, given_up], "MPI_Put", 0)
    assert exit_code([given_up, counted()], "MPI_Put", 0) == 0


@pytest.mark.parametrize(("ended", "text"), [(3, "exit code 3"), (-11, "SIGSEGV"), (-99, "signal 99")])
def test_a_program_that_fails_is_told(ended: int, text: str) -> None:
    with pytest.raises(EnvironmentFailure, match=text):
        exit_code([counted()], "MPI_Put", ended)


def test_no_process_is_told() -> None:
    with pytest.raises(EnvironmentFailure, match="no process"):
        exit_code([], "MPI_Put", 0)
