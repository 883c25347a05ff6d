# SPDX-License-Identifier: Apache-2.0
"""A run against reference runs: like with like, words that the number of runs supports, and never a false all-clear."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import planted_runs as planted
import pytest

from slowpath.cli.main import exit_code
from slowpath.compare.read import RunSource
from slowpath.compare.reference import MINIMUM_RUNS, add, hold, read_references, render_reference
from slowpath.core.errors import UsageError
from slowpath.core.units import format_time

SPREAD = (0.98, 0.99, 1.0, 1.01, 1.02)


def run_at(name: str, factor: float, **changes: Any) -> RunSource:
    launches = [1e-5 * factor * one for one in (0.999, 1.0, 1.001, 1.0, 0.999, 1.0, 1.001, 1.0)]
    return planted.source(name, [planted.cell(1, launches)], **changes)


REFERENCES = [run_at(f"reference{number}", factor) for number, factor in enumerate(SPREAD)]


def word(run: RunSource, references: Sequence[RunSource] = REFERENCES) -> str:
    (row,) = hold(run, references, 0.05).rows
    return row.word


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1.0, "within"), (1.02, "within"), (1.04, "undecided"), (1.5, "slower"), (0.5, "faster")],
)
def test_words(factor: float, expected: str) -> None:
    assert word(run_at("new", factor)) == expected


def test_a_slower_cell_says_by_how_much_and_stands_first() -> None:
    fast, slow = planted.cell(1, [1e-5] * 8), planted.cell(2, [2e-5] * 8)
    references = [planted.source(f"r{n}", [fast, planted.cell(2, [1e-5 * f] * 8)]) for n, f in enumerate(SPREAD)]
    found = hold(planted.source("new", [fast, slow]), references, 0.05)
    assert {one.label: one.ratio for one in found.rows}["cell 2"] == pytest.approx(2 / 1.02)
    head, _, first, *_ = render_reference(found).splitlines()
    assert head == "new against 5 reference runs on P: 1 slower, 1 within"
    value, low, high = (format_time(one) for one in (2e-5, 0.98e-5, 1.02e-5))
    assert first == f"slower        cell 2: {value}; {low} to {high} in 5 runs; 1.96 times the slowest of them"


def test_too_few_runs_say_nothing() -> None:
    assert word(run_at("new", 3.0), REFERENCES[: MINIMUM_RUNS - 1]) == "no reference"
    assert "A range needs at least 5 runs" in render_reference(hold(run_at("new", 3.0), REFERENCES[:2], 0.05))


@pytest.mark.parametrize("field", ["processor", "processors", "memory_bytes"])
def test_another_machine_is_no_reference(field: str) -> None:
    other = {**planted.MACHINE, field: {"processor": "Q", "processors": 64, "memory_bytes": 2**36}[field]}
    found = hold(run_at("new", 1.0, machine=other), REFERENCES, 0.05)
    assert found.rows == []
    assert "no reference for this processor" in render_reference(found)
    unknown = {k: v for k, v in planted.MACHINE.items() if k != "processor"}
    both = [run_at(f"u{n}", 1.0, machine=unknown) for n in range(5)]
    assert hold(run_at("new", 1.0, machine=unknown), both, 0.05).rows == []


def test_another_library_is_no_reference_and_another_version_is_one() -> None:
    def under(name: str, version: str) -> RunSource:
        mpi = planted.model.an_mpi(name=name, version=version)
        return run_at("new", 1.0, mpis=[mpi])

    assert word(under("mpich", "9.9")) == "within"
    assert word(under("openmpi", "5.0.2")) == "no reference"


def test_a_run_is_not_its_own_reference() -> None:
    assert hold(REFERENCES[0], REFERENCES, 0.05).used == [one.run.id for one in REFERENCES[1:]]


def test_kept_listed_and_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "site"
    for one in [*REFERENCES, REFERENCES[0]]:
        add(one, folder)
    (folder / "broken.json").write_text("{")
    found, left_out = read_references(folder)
    assert [one.run.id for one in found] == [one.run.id for one in REFERENCES]
    assert len(left_out) == 1
    new = tmp_path / "new.json"
    new.write_text(json.dumps(msgspec.to_builtins(run_at("new", 1.5).results)))
    assert exit_code(["reference", "show", str(new), "--in", str(folder)]) == 0
    assert "1 slower" in capfd.readouterr().out
    assert exit_code(["reference", "list", "--in", str(folder)]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "reference0  planted, mpich 5.0.2; P, 2 processors"
    assert exit_code(["reference", "add", str(new), "--in", str(folder)]) == 0
    assert len(read_references(folder)[0]) == 6
    assert exit_code(["reference", "show", str(new), "--in", str(tmp_path / "none"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out.partition("{")[2].join(["{", ""]))["rows"] == []


def test_runs_of_one_name_from_two_nodes_are_two_references(tmp_path: Path) -> None:
    here, there = (run_at("new", 1.0, machine={**planted.MACHINE, "host": host}) for host in ("n1", "n2"))
    assert [add(one, tmp_path).name for one in (here, there, here)] == ["new.json", "new-2.json", "new.json"]
    (tmp_path / "new-2.json").write_text("{")
    assert add(there, tmp_path).name == "new-2.json"
    assert len(read_references(tmp_path)[0]) == 2


def test_what_is_no_reference(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its status is partial"):
        add(run_at("new", 1.0, status="partial"), tmp_path)
    with pytest.raises(UsageError, match="it was imported"):
        add(run_at("new", 1.0, imported=True), tmp_path)
