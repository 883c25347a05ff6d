# SPDX-License-Identifier: Apache-2.0
"""Histories: which runs become one series, in which order, and what is said of a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import planted_runs as planted
import pytest

from slowpath.compare.history import History, history
from slowpath.compare.history_views import render_history, render_svg
from slowpath.compare.read import RunSource, read_all
from slowpath.core.errors import RecordError, UsageError
from support.results import an_mpi


def run(rng: np.random.Generator, day: int, factor: float = 1.0, **about: Any) -> RunSource:
    """Two cells; cell 1 is slower by `factor`."""
    started = f"2026-03-{day:02d}T00:00:00+00:00"
    return planted.run_of(rng, f"run-{day}", 2, {1: factor}, **{"started": started, **about})


def made(sources: list[RunSource], **more: Any) -> History:
    return history("folder", sources, [], 0.03, **more)


def test_a_planted_change_stands_where_it_began_with_what_differs() -> None:
    rng = np.random.default_rng(1)
    machine = {**planted.MACHINE, "kernel": "6.12"}
    runs = [run(rng, day) for day in range(1, 11)]
    runs += [run(rng, day, 1.15, machine=machine) for day in range(11, 16)]
    rng.shuffle(runs)  # type: ignore[arg-type]
    found = made(runs)
    flat, changed = sorted(found.series, key=lambda one: one.label)
    assert [point.run for point in changed.points] == [f"run-{day}" for day in range(1, 16)]
    assert flat.shifts == []
    (shift,) = changed.shifts
    assert (shift.run, shift.state, shift.worse) == ("run-11", "change", True)
    assert shift.ratio == pytest.approx(1.15, rel=0.03)
    assert [(one.what, one.a, one.b) for one in shift.differences][:1] == [("kernel", "6.1", "6.12")]
    said = render_history(found)
    assert "worse from 2026-03-11" in said
    assert "kernel: 6.1 -> 6.12" in said
    picture = ElementTree.fromstring(render_svg(found))
    assert picture.tag.endswith("svg")
    assert len(picture.findall(".//{*}circle")) == 30


def test_unlike_machines_never_share_a_series() -> None:
    rng = np.random.default_rng(1)
    other = {**planted.MACHINE, "processor": "Q"}
    renamed = {**planted.MACHINE, "host": "n2"}
    found = made([run(rng, 1), run(rng, 2, machine=other), run(rng, 3, machine=renamed)])
    assert sorted(len(one.points) for one in found.series) == [1, 1, 2, 2]


def test_by_label_a_series_goes_on_under_another_library_version() -> None:
    rng = np.random.default_rng(1)
    runs = [run(rng, day) for day in range(1, 9)]
    mpis = [an_mpi(version="6.0")]
    for day in range(9, 13):
        cells = [planted.cell(i, planted.values(rng, 1.2), key=f"new{i}") for i in range(2)]
        runs.append(planted.source(f"run-{day}", cells, started=f"2026-03-{day:02d}T00:00:00+00:00", mpis=mpis))
    assert sorted(len(one.points) for one in made(runs).series) == [4, 4, 8, 8]
    joined = made(runs, by="label").series
    assert [len(one.points) for one in joined] == [12, 12]
    assert all(one.key is None and one.shifts[0].run == "run-9" for one in joined)
    assert ("MPI", "mpich 5.0.2", "mpich 6.0") in [(d.what, d.a, d.b) for d in joined[0].shifts[0].differences]


def test_moments_are_compared_and_not_their_spelling() -> None:
    rng = np.random.default_rng(1)
    late = run(rng, 2, started="2026-03-02T01:00:00+05:00")  # 20:00 of the day before in UTC
    early = run(rng, 1, started="2026-03-01T21:00:00+00:00")
    assert [point.run for point in made([early, late]).series[0].points] == ["run-2", "run-1"]


def test_copies_and_runs_without_a_date_are_left_out_and_named() -> None:
    rng = np.random.default_rng(1)
    one = run(rng, 1)
    found = made([one, one, run(rng, 2, started=None), run(rng, 3, started="soon")])
    assert found.runs == 1
    assert [line.partition(": ")[2] for line in found.left_out] == [
        "is a copy of run-1",
        "does not say when it began",
        "does not say when it began",
    ]


def test_a_metric_that_no_run_has() -> None:
    with pytest.raises(UsageError, match="no run has nope"):
        made([run(np.random.default_rng(1), 1)], metrics=["nope"])


def test_one_bad_run_costs_no_other(tmp_path: Path) -> None:
    """Damaged, foreign, empty, with a folder that nobody may list: each is one line, and the rest is shown."""
    planted.folder(tmp_path / "good", 1)
    (planted.folder(tmp_path / "damaged", 2) / "plan.json").write_text("{")
    (planted.folder(tmp_path / "odd", 3) / "launches" / "000000" / "events.jsonl").unlink()
    planted.folder(tmp_path / "empty", 4, launches=0)
    (tmp_path / "empty" / "launches").mkdir(exist_ok=True)
    (tmp_path / "foreign.json").write_text('{"name": "package"}')
    found = history("f", *read_all(tmp_path), 0.03)
    assert {point.run for series in found.series for point in series.points} == {"good", "odd"}
    assert sorted(Path(line.partition(":")[0]).name for line in found.left_out) == [
        "empty",
        "foreign.json",
        "plan.json",
    ]
    assert any("nothing was measured: no launch ended well" in line for line in found.left_out)
    assert all("\n" not in line for line in found.left_out)


def test_a_run_that_nothing_foresaw_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slowpath.compare import read as reading

    planted.folder(tmp_path / "good", 1)
    planted.folder(tmp_path / "strange", 2)

    def read(path: Path) -> RunSource:
        if path.name == "strange":
            raise KeyError("facts\nof it")
        return planted.source("good", [])

    monkeypatch.setattr(reading, "read_source", read)
    found, left_out = read_all(tmp_path)
    assert len(found) == 1
    assert left_out == [f"{tmp_path / 'strange'}: cannot be analysed (KeyError: 'facts\\nof it')"]


def test_another_unit_is_left_out_of_its_series() -> None:
    rng = np.random.default_rng(1)
    odd = run(rng, 3)
    for cell in odd.results.cells:
        cell.metrics[planted.METRIC] = msgspec.structs.replace(cell.metrics[planted.METRIC], unit="ms")
    found = made([run(rng, 1), run(rng, 2), odd])
    assert [[point.run for point in series.points] for series in found.series] == [["run-1", "run-2"]] * 2
    assert len(found.left_out) == 2
    assert "half_round_trip_latency_s is in ms, but most runs use s" in found.left_out[0]


def test_runs_that_state_no_machine_are_shown_and_not_judged() -> None:
    rng = np.random.default_rng(1)
    runs = [run(rng, day, 2.0 if day > 8 else 1.0, machine={}) for day in range(1, 17)]
    series = made(runs).series[1]
    assert (len(series.points), series.shifts) == (16, [])
    assert series.reason == "the runs do not state their machine"
    assert made([run(rng, day, 2.0 if day > 8 else 1.0) for day in range(1, 17)]).series[1].shifts


def test_memory_that_the_kernel_keeps_makes_no_other_machine() -> None:
    rng = np.random.default_rng(1)
    little_less = {**planted.MACHINE, "memory_bytes": planted.MACHINE["memory_bytes"] - 200 * 2**20}
    assert [len(one.points) for one in made([run(rng, 1), run(rng, 2, machine=little_less)]).series] == [2, 2]


def test_a_folder_of_runs_without_a_value_ends_with_the_reason() -> None:
    empty = planted.source("empty", [])
    with pytest.raises(RecordError, match="no run in it can be used; the first of 1: empty: nothing was measured"):
        made([empty])


def test_several_machines_are_named() -> None:
    rng = np.random.default_rng(1)
    said = render_history(made([run(rng, 1), run(rng, 2, machine={**planted.MACHINE, "processor": "Q"})]))
    assert "2 kinds of machine, each with its own series" in " ".join(said.split())
    assert "[Q, 2, 8 GiB]" in said


def test_folders_and_files_at_any_depth(tmp_path: Path) -> None:
    planted.folder(tmp_path / "runs" / "one", 1)
    (tmp_path / "2026").mkdir()
    (tmp_path / "2026" / "a.json").write_bytes(msgspec.json.encode(planted.results([], id="a")))
    (tmp_path / "2026" / "bad.json").write_text("{}")
    (tmp_path / "2026" / "notes.txt").write_text("not mine")
    found, left_out = read_all(tmp_path)
    assert sorted(source.run.id for source in found) == ["a", "one"]
    assert len(left_out) == 1
    assert "bad.json" in left_out[0]


def test_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no run folder"):
        read_all(tmp_path)
    with pytest.raises(RecordError, match="does not exist"):
        read_all(tmp_path / "nowhere")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(RecordError, match=r"x\.json"):
        read_all(tmp_path)
    with pytest.raises(RecordError, match="is not a folder"):
        read_all(tmp_path / "x.json")
