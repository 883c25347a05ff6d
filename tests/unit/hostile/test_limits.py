# SPDX-License-Identifier: Apache-2.0
"""Folders that somebody made up: each is one line with exit code 4, whichever file was changed, and how."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.cli.main import exit_code
from slowpath.core.cpu_list import parse_cpu_list
from slowpath.core.decoding import decoded
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import require_utf8, write_atomically
from slowpath.core.limits import DEEPEST, FILE_BYTES, LARGEST_GAP_BYTES, MOST_CPUS
from slowpath.core.machine import require_machine, require_mpi, require_small
from slowpath.core.units import whole_number
from slowpath.record import blocks
from slowpath.record.events import MOST_NOTES, read_events
from slowpath.record.folder import RunInfo, launch_folders, write_run
from slowpath.record.plan_files import require_parameters

Change = Callable[[Path], None]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return planted.make_run(tmp_path / "run")


def edited(name: str, *keys: str | int, to: Any) -> Change:
    """A change of the value at these keys of a JSON file of the run."""

    def change(run: Path) -> None:
        path = run / name
        document = json.loads(path.read_text())
        place = document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to
        path.write_text(json.dumps(document))

    return change


def sparse(name: str, size_bytes: int) -> Change:
    def change(run: Path) -> None:
        with (run / name).open("wb") as file:
            file.truncate(size_bytes)

    return change


def replaced(name: str, make: Callable[[Path], object]) -> Change:
    def change(run: Path) -> None:
        path = run / name
        path.rename(run.parent / f"was-{path.name}")
        make(path)

    return change


PLAN, RUN, LAUNCH = "plan.json", "run.json", "launches/000003/launch.json"
DEEP = '{"schema": 1, "event": ' + "[" * 100_000 + "]" * 100_000 + "}"
ATTACKS: list[tuple[Change, str]] = [
    (sparse(RUN, 24 * 2**30), "more than the 16777216 that are read"),
    (sparse(PLAN, 24 * 2**30), "more than the 67108864 that are read"),
    (sparse("launches/000003/events.jsonl", 10 * 2**30), "more than the 268435456 that are read"),
    (sparse("launches/000003/samples.blk", 2**40), "more than the 1073741824 that are read"),
    (replaced(RUN, os.mkfifo), "is a FIFO"),
    (replaced("launches/000003/events.jsonl", os.mkfifo), "is a FIFO"),
    (replaced("launches/000003/samples.blk", lambda path: path.symlink_to("/dev/zero")), "leads out of"),
    (replaced(LAUNCH, lambda path: path.symlink_to("/etc/hostname")), "leads out of"),
    (replaced("launches/000003", lambda path: path.symlink_to(path.parents[2] / "was-000003")), "leads out of"),
    (replaced("launches", lambda path: path.symlink_to(path.parents[1] / "was-launches")), "leads out of"),
    (lambda run: (run / PLAN).write_text(DEEP), "nested too deeply"),
    (lambda run: (run / RUN).write_bytes(b'{"schema": 1, "id": "\xff"}'), "is damaged"),
    (lambda run: (run / RUN).write_text('{"schema": 1' + "0" * 5000 + "}"), "out of range"),
    (edited(PLAN, "rounds", to=10**25), "Expected `int` <= 100000"),
    (edited(PLAN, "ranks", to=0), "Expected `int` >= 1"),
    (edited(PLAN, "minimum_effect", to=-1), "Expected `float` >= 0"),
    (edited(PLAN, "cells", 1, "cell", to=0), "cell '0' is there twice"),
    (edited(PLAN, "cells", 1, "environment", to="none"), "cell 1: there is no environment 'none'"),
    (edited(PLAN, "cells", 1, "placement", to="x" * 5000), "Expected `str` of length <= 1000"),
    (edited(PLAN, "cells", 0, "parameters", "message_bytes", to="\u00b2"), "is no number of bytes"),
    (edited(PLAN, "cells", 0, "parameters", "message_bytes", to="9" * 5000), "is no number of bytes"),
    (edited(PLAN, "cells", 0, "parameters", "in_flight", to="0"), "is no whole number from 1 on"),
    (edited(PLAN, "contrasts", 0, "a", "cell", to=77), "contrast 'environment': there is no cell '77'"),
    (edited(PLAN, "contrasts", 0, "a", "phase", to="last"), "matching regex"),
    (edited(PLAN, "launches", 0, "cells", to=[0, 0]), "launch 0: cell '0' is there twice"),
    (edited(PLAN, "launches", 0, "placement", to="moon"), "launch 0: there is no placement 'moon'"),
    (edited(LAUNCH, "environment", to="moon"), "launch 3: there is no environment 'moon'"),
    (edited(LAUNCH, "launch", to=4), "is of launch 4, not of this folder"),
    (edited(LAUNCH, "round", to=-1), "Expected `int` >= 0"),
    (edited(LAUNCH, "ended", to="well"), "matching regex"),
    (edited(RUN, "machine", to={"load": "high"}), "machine: Expected `array | null`"),
    (edited(RUN, "machine", to={"processor_groups": ["core"]}), "machine: Expected `object | null`"),
    (edited(RUN, "machine", to={"variables": {"X": 1}}), "machine: Expected `str`"),
    (edited(RUN, "mpis", to=[{"env": "X=1"}]), "mpi: Expected `object | null`"),
    (edited(RUN, "mpi", to={"engine": "gcc"}), "mpi: Expected `object | null`"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), ATTACKS, ids=[said[:40] for _, said in ATTACKS])
def test_a_made_up_folder_is_one_line(run: Path, change: Change, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    change(run)
    assert exit_code(["report", str(run)]) == 4
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("slowpath: error: ")
    assert err.count("\n") == 1
    assert said in err


def test_a_step_of_a_diagnosis_is_a_folder_of_it(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for folder, said in [("../run", "matching regex"), (str(run), "matching regex"), ("01-survey", "leads out of")]:
        diagnosis = run.parent / "diagnosis"
        diagnosis.mkdir(exist_ok=True)
        (diagnosis / "01-survey").unlink(missing_ok=True)
        (diagnosis / "01-survey").symlink_to(run)
        step = {"number": 1, "folder": folder, "why": "w", "estimate_s": 1.0, "task": {"kind": "survey"}}
        head = {"schema": 2, "slowpath": "0", "command": [], "started": "now", "budget_s": 1.0, "mpi": None}
        (diagnosis / "diagnosis.json").write_text(json.dumps({**head, "steps": [step]}))
        for argv in (["report", str(diagnosis)], ["table", str(diagnosis)]):
            assert exit_code(argv) == 4
            assert said in capfd.readouterr().err
    assert not (run / "report.html").exists()


def test_traces_go_into_the_run_alone(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "traces").symlink_to(tmp_path / "elsewhere")
    assert exit_code(["trace", str(run)]) == 4
    assert "leads out of" in capfd.readouterr().err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_only_what_is_called_like_a_launch_is_one(run: Path) -> None:
    before = launch_folders(run)
    for name in ("\u00b2", "9" * 40, "1", "0000001", "-1", "\u0663\u0663\u0663\u0663\u0663\u0663"):
        (run / "launches" / name).mkdir()
    assert launch_folders(run) == before


def test_a_hole_in_the_samples_is_not_searched_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "samples.blk"
    one = blocks.Block(0, 1, "steady", [10, 20])
    blocks.write_blocks(path, [one])
    whole = path.stat().st_size
    os.truncate(path, whole + LARGEST_GAP_BYTES + 2**22)
    with path.open("r+b") as file:
        file.seek(whole + LARGEST_GAP_BYTES + 2**22)
        file.write(path.read_bytes()[:whole])
    index = blocks.scan(path)
    assert len(index) == 1
    assert "are no whole block" in index.notes[0]


def test_events_of_ranks_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    head = '{"event": "launch_begin", "t_ns": 1, "launch": 1, "size": 2, "ranks": [{"rank": 0, "host": "a"}, %s]}\n'
    for other in ('{"rank": 0, "host": "a"}', '{"rank": 2, "host": "a"}', '{"rank": -1, "host": "a"}'):
        path.write_text(head % other)
        assert read_events(path).events == ()
    path.write_text(DEEP + "\n" + '{"event": "note", "t_ns": 1e400, "text": ""}\n' * 100)
    notes = read_events(path).notes
    assert "nested too deeply" in notes[0]
    assert len(notes) == MOST_NOTES + 1
    assert "81 more lines" in notes[-1]


@pytest.mark.parametrize("text", ["0-999999999", f"{MOST_CPUS}", "\u00b2", "\u0663", "9" * 5000])
def test_processors_that_no_machine_has_are_none(text: str) -> None:
    assert parse_cpu_list(text) == frozenset()
    assert parse_cpu_list(f"0-{MOST_CPUS - 1}") == frozenset(range(MOST_CPUS))


def test_whole_numbers() -> None:
    assert whole_number("0017") == 17
    assert [whole_number(text) for text in ("", "-1", "1_0", "\u00b2", "\u0663", "9" * 19)] == [None] * 6


def test_facts_whose_shape_is_open_are_small() -> None:
    nested: Any = 1
    for _ in range(DEEPEST):
        nested = [nested]
    for value in (nested, {"x": 2**63}, {"x": float("inf")}, [1e300], {"y" * 2_000_000: 1}):
        with pytest.raises(ValueError, match="Expected"):
            require_small(value)
    require_small({"a": [1, 2.5, None, {"b": "c"}]})
    require_machine({"load": [0.5], "future": {"a": 1}})
    with pytest.raises(ValueError, match="mpi: "):
        require_mpi({"version": 5})


def test_parameters_are_what_their_types_say() -> None:
    require_parameters("p2p", {"message_bytes": "8", "pages": "new", "buffer_bytes": "message:16", "future": "\u00b2"})
    require_parameters("other", {"message_bytes": "x"})
    for name, value in [("message_bytes", "-1"), ("block_bytes", "0"), ("overalloc_bytes", "1:2:3"),
                        ("time_limit_s", "nan"), ("time_limit_s", "1e999"), ("warmup_s", "-1")]:  # fmt: skip
        with pytest.raises(ValueError, match=name):
            require_parameters("p2p", {name: value})


def test_each_limit_names_a_file_that_is_read_by_it(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "internals" / "record.md").read_text()
    rows = page.partition("## Limits")[2].splitlines()
    for name, limit in FILE_BYTES.items():
        assert any(f"`{name}`" in row and f"| {limit // 2**20} MiB" in row for row in rows), name


def test_names_that_are_no_utf8_are_refused_before_anything_is_done(capfd: pytest.CaptureFixture[str]) -> None:
    for argv in (["run", "--out", "a\udcff"], ["report", "a\udcff"], ["table", "\udc80"]):
        assert exit_code(argv) == 2
        assert "is not UTF-8, which records are written in; rename it" in capfd.readouterr().err
    with pytest.raises(UsageError, match=r"a\\udcff: is not UTF-8"):
        require_utf8(Path("a\udcff"))


def test_a_job_whose_name_is_no_utf8_is_refused_before_the_first_launch(tmp_path: Path) -> None:
    info = RunInfo(1, "id", "c", "t", "0", "0.1.0", machine={"allocation": {"job": "\udcff"}})
    with pytest.raises(UsageError, match=r"'\\udcff': is not UTF-8"):
        write_run(tmp_path, info)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_a_part_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowpath.core.files.secrets.token_hex", lambda size: "known")
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".out.known.part").symlink_to("victim")
    write_atomically(tmp_path / "out", "new")
    assert (tmp_path / "victim").read_text() == "mine"
    assert (tmp_path / "out").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "victim"]


def test_what_msgspec_cannot_decode_is_one_line() -> None:
    for content in (b"", b"\xff", b'"\xff"', b'"\\ud800"', DEEP.encode(), b"9" * 5000):
        with pytest.raises(RecordError, match=r"^x: is damaged: .*; do$"):
            decoded(content, object, Path("x"), "do")


def test_cells_of_slowpath_ipc_that_have_nothing_in_common_are_refused(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"event": "launch_begin", "launch": 0, "size": 2}]
    for cell, name in enumerate(("live", "\u202elive")):
        lines.append({"event": "cell_begin", "cell": cell, "experiment": "ipc", "parameters": {name: "1"}})
    (tmp_path / "events.jsonl").write_text("".join(json.dumps({"t_ns": 1, **line}) + "\n" for line in lines))
    blocks.write_blocks(tmp_path / "samples.blk", [blocks.Block(0, 0, "first", [10])])
    with pytest.raises(RecordError, match="do not have the same parameters"):
        build_results(tmp_path)


@pytest.mark.parametrize("argv", [["import", "{loop}"], ["report", "{folder}"], ["table", "{folder}"]])
def test_a_link_to_itself_is_one_line(argv: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "run.json").symlink_to("run.json")
    assert exit_code([word.format(loop=tmp_path / "loop", folder=tmp_path) for word in argv]) == 4
    err = capfd.readouterr().err
    assert err.startswith("slowpath: error: ")
    assert err.count("\n") == 1


def test_launches_of_a_run_that_is_named_from_here(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`slowpath report run` is the same run as `slowpath report /elsewhere/run`."""
    monkeypatch.chdir(run.parent)
    found = launch_folders(Path(run.name))
    assert found
    assert [one.resolve() for one in found] == [one.resolve() for one in launch_folders(run)]
