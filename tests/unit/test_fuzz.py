# SPDX-License-Identifier: Apache-2.0
"""A few spoilt inputs for every reader, always the same, and bytes that hypothesis makes up (tools/fuzz: millions)."""

from __future__ import annotations

from pathlib import Path

import fuzz_run
import pytest
from fuzz_run import run
from fuzz_targets import TARGETS, Target, refused, seeds_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowpath.record.imports.log import parse_log

INPUTS = 150
BY_NAME = pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])


@BY_NAME
def test_no_reader_breaks(target: Target, tmp_path: Path) -> None:
    counts = run(target, INPUTS, 1, tmp_path)
    assert counts.crashes == {}
    assert counts.inputs == INPUTS


@BY_NAME
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(junk=st.binary(max_size=300), at=st.floats(0, 1))
def test_no_reader_breaks_on_bytes_in_a_valid_input(target: Target, junk: bytes, at: float, tmp_path: Path) -> None:
    valid = seeds_of(target, tmp_path)[0]
    place = int(at * len(valid))
    refused(target, valid[:place] + junk + valid[place:], tmp_path)


LOG = b"mem_type: host\np2p_size: 8\nDoing MPI_Send/Recv from rank 0 to rank 1, of 8 bytes\n[0:0] time: 0.5\n"
MANY = b"9" * 5000  # int() refuses more than 4300 digits


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("campaign", b"[campaign]\nranks = " + MANY),
        ("log of the reproducers", LOG + b"[0:" + MANY + b"] time: 1\n"),
        ("log of the reproducers", LOG.replace(b"of 8 bytes", b"of " + MANY + b" bytes")),
        ("log of the reproducers", LOG.replace(b"rank 1", b"rank " + MANY)),
    ],
)
def test_numbers_without_end_are_refused(name: str, content: bytes, tmp_path: Path) -> None:
    assert refused(next(target for target in TARGETS if target.name == name), content, tmp_path)


def test_a_rank_before_a_line_is_no_part_of_its_number(tmp_path: Path) -> None:
    """`srun --label` puts "1: " before a line; in the middle of one it is damage, not a label to be left out."""
    log = parse_log(tmp_path / "log", LOG + b"0: [0:1] time: 0.25\n[0:2] time: 0.01: 234\n")
    assert [time.text for time in log.sections[0].times] == ["0.5", "0.25"]
    assert log.notes == [(6, "[0:2] time: 0.01: 234")]


def test_what_breaks_a_reader_is_counted_and_kept(tmp_path: Path) -> None:
    def fragile(content: bytes, folder: Path) -> None:
        if b"x" not in content:
            raise ZeroDivisionError("no x")

    counts = run(Target("fragile", lambda: [b"x" * 3], fragile), 200, 1, tmp_path)
    assert counts.crashes is not None
    ((kind, path),) = counts.crashes.items()
    assert "ZeroDivisionError: no x" in kind
    assert b"x" not in Path(path).read_bytes()


def test_what_takes_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_run, "ONE_LIMIT_S", 1)

    def endless(content: bytes, folder: Path) -> None:
        while content != b"x":
            pass

    counts = run(Target("endless", lambda: [b"x"], endless, lambda seeds, chance: b"y"), 1, 1, tmp_path)
    assert "Hang: over 1 s" in next(iter(counts.crashes or {}))
