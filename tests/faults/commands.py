# SPDX-License-Identifier: Apache-2.0
"""The commands that faults are done to: how each is started and continued, and what it must have left."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults.check import at_once, differences, doubled, signature, unreadable
from faults.world import World
from slowpath.diagnose.records import read_diagnosis
from slowpath.watch.folder import WatchInfo, read_watch, record_files, write_watch
from slowpath.watch.proof import proof_folders, read_proof

SEED = 7  # of all runs: the same plan
STOPPED = 130
Found = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """begin: starts it in a world, and comes back when its folder is there.  again: words that go on with it.

    done: exit codes of a whole result, and of going on.  holds: what the folder holds, without its times; raises where
    it can't be read.  wrong: what may not be, whatever the fault was, in words, for the last exit code.
    """

    name: str
    begin: Callable[[World], None]
    again: Callable[[World], tuple[str, ...]]
    done: tuple[int, ...]
    holds: Callable[[Path], Found]
    wrong: Callable[[World, int | None], list[str]] = lambda world, code: []
    differ: Callable[[Found, Found], list[str]] = lambda expected, got: (
        [] if expected == got else [f"{got}: {expected}"]
    )
    is_whole: Callable[[World, int | None], bool] | None = None

    def whole(self, world: World, code: int | None) -> bool:
        """Whether there is nothing left to do."""
        return code in self.done and (self.is_whole is None or self.is_whole(world, code))


def _begin_run(world: World) -> None:
    world.start_run(SEED)


def _run_is_whole(world: World, code: int | None) -> bool:
    return code == 0 and _status(world.run) == "complete"


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / "run.json").read_text())["status"])
    except (OSError, ValueError, KeyError):
        return "unknown"


def _of_run(run: Path) -> Found:
    if why := unreadable(run):
        raise ValueError(why)
    return signature(run)


def _twice(run: Path) -> list[str]:
    return doubled(run) + at_once(run) if (run / "launches").is_dir() else []


def _begin_tune(world: World) -> None:
    few = ("--collectives", "scatter", "--bytes", "8", "--rounds", "5", "--budget", "1s")
    world.start("tune", *few, "--ranks", "2", "--mpi", _mpi(world), "--out", str(world.run))
    world.wait_until(lambda: any(world.run.glob("choose-*/run.json")))


def _of_tuning(folder: Path) -> Found:
    """The cells of the first step, which does not depend on what was measured, and which files there are."""
    found: Found = {"tuned": (folder / "tuned.txt").is_file()}
    if (folder / "choose-2" / "run.json").is_file():
        found["choose"] = sorted(_of_run(folder / "choose-2"))
    for step in folder.glob("*-2/run.json"):  # without it a disk was full before the step began, and it begins anew
        _of_run(step.parent)
    if (folder / "tuning.json").is_file():
        found["table"] = sorted(json.loads((folder / "tuning.json").read_text()))
    return found


def _begin_diagnosis(world: World) -> None:
    asked = ("--budget", "15s", "--only", "window kind", "--name-only", "--mpi", _mpi(world))
    world.start("diagnose", *asked, "--out", str(world.run))
    world.wait_until(lambda: any(world.run.glob("*/run.json")))


def _of_diagnosis(folder: Path) -> Found:
    """The cells of the survey, and whether it came to an end."""
    diagnosis = read_diagnosis(folder)
    steps = [step for step in diagnosis.steps if (folder / step.folder / "run.json").is_file()]
    cells = [sorted(_of_run(folder / step.folder)) for step in steps]
    return {"survey": cells[:1], "ended": diagnosis.status in ("settled", "named", "budget")}


def _begin_proof(setting: str) -> Callable[[World], None]:
    def begin(world: World) -> None:
        world.run.mkdir()
        write_watch(world.run, watched(world))
        world.start("prove", *_words(setting)(world))
        world.wait_until(lambda: any(world.run.glob("proof-*/proof.json")))

    return begin


def _words(setting: str) -> Callable[[World], tuple[str, ...]]:
    return lambda world: (str(world.run), "--trust", "--try", setting, "--budget", "8s")


# Ends with 9 at once where FAIL is set, which is faster than all else.
_STUB = 'test -n "$FAIL" && exit 9; test -n "$FAST" || sleep 0.3'


def watched(world: World) -> WatchInfo:
    """A watch of a command that is faster, and fails faster, by a variable."""
    return WatchInfo(
        slowpath="1",
        command=("sh", "-c", _STUB),
        started="2026-01-31T12:00:00+00:00",
        working_folder=str(world.folder),
        host="here",
        library="/lib/libslowpath-watch.so",
        wall_s=0.3,
        exit_code=0,
    )


def _of_proof(folder: Path) -> Found:
    """One that was decided when it was hit is not gone on with: then there are two of the same remedy."""
    return {"remedies": sorted({read_proof(one).remedy for one in proof_folders(folder)})}


def _wrong_proof(world: World, code: int | None) -> list[str]:
    """Proven may only be what was fast and ended with 0, run by run; and a run that ended well is no failed one."""
    found = []
    for proof in (read_proof(one) for one in proof_folders(world.run)):
        bad = [run.number for run in proof.runs if run.exit_code != 0 or run.failed]
        if proof.verdict == "proven" and (bad or proof.remedy != "FAST=1"):
            found.append(f"proven, with runs {bad} that failed: {proof.remedy}")
        if code == 0 and proof.verdict != "proven":
            found.append(f"exit code 0, and {proof.remedy} is {proof.verdict}")
        if proof.remedy == "FAST=1" and proof.verdict in ("failed", "ignored", "slower", "no effect"):
            found.append(f"{proof.remedy}: {proof.verdict}: {proof.reason}")
        unseen = [run.number for run in proof.runs if run.exit_code is None and not run.failed]
        found += [f"runs {unseen} have no exit code and count"] if unseen else []
    return found


def _begin_watch(world: World) -> None:
    world.start("watch", "--out", str(world.run), "--", *_program(world))
    world.wait_until(lambda: (world.run / "watch.json").exists())


def _of_watch(folder: Path) -> Found:
    return {"command": len(read_watch(folder).command)}


def _wrong_watch(world: World, code: int | None) -> list[str]:
    """The exit code is the program's, as it is written down; without one slowpath was killed."""
    info = read_watch(world.run)
    if world.words[:2] == ("watch", "--from"):
        return [] if code in (0, 4) else [f"concluding ended with {code}"]  # which says nothing of the program
    own = info.exit_code if info.exit_code is not None else 128 + info.signal if info.signal else None
    if code is None or code < 0 or own is None or code == own or (own == 0 and code in (4, STOPPED)):
        return []  # one that was stopped while it concluded says so
    return [f"ended with {code}, and the program with {own}"]


def _watch_is_whole(world: World, code: int | None) -> bool:
    return code == 0 and len(record_files(world.run)) == 2


def _program(world: World) -> tuple[str, ...]:
    """That of program.c, which `Faults` compiled beside the worlds."""
    return _mpi(world), "-n", "2", str(world.folder.parent / "program")


def _mpi(world: World) -> str:
    return world.environ.get("SLOWPATH_MPI", "mpich")


def _again(*words: str) -> Callable[[World], tuple[str, ...]]:
    return lambda world: (*words, str(world.run))


def _prove(setting: str, done: tuple[int, ...]) -> Command:
    words = _words(setting)
    return Command(
        f"prove {setting}",
        _begin_proof(setting),
        lambda world: ("prove", *words(world)),
        done,
        _of_proof,
        _wrong_proof,
    )


RUN = Command(
    "run",
    _begin_run,
    _again("resume"),
    (0,),
    _of_run,
    lambda world, code: _twice(world.run),
    differences,
    _run_is_whole,
)
DIAGNOSE = Command(
    "diagnose",
    _begin_diagnosis,
    lambda world: ("diagnose", "--resume", str(world.run), "--budget", "15s"),
    (0,),
    _of_diagnosis,
)
TUNE = Command(
    "tune", _begin_tune, lambda world: ("tune", "--resume", str(world.run), "--budget", "1s"), (0,), _of_tuning
)
PROVE = _prove("FAST=1", (0, 3))
PROVE_FAILS = _prove("FAIL=1", (1, 3))
WATCH = Command(
    "watch", _begin_watch, _again("watch", "--from"), (0, 4), _of_watch, _wrong_watch, is_whole=_watch_is_whole
)
OTHERS = (DIAGNOSE, PROVE, PROVE_FAILS, TUNE, WATCH)
