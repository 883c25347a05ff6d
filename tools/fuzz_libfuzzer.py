# SPDX-License-Identifier: Apache-2.0
"""One target under libFuzzer for some time: what it is started with, and what its output says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_corpora import dictionary, read_corpus, unpack
from fuzz_targets import ENGINE_TARGETS, TARGETS

HERE = Path(__file__).resolve().parent
PROGRAM = Path("fuzz") / "slowpath_fuzz"  # in the engine's build folder
ONE_LIMIT_S = 20  # of one input; readers take milliseconds
MEMORY_MB = 4096
LONGEST_BYTES = 8192  # of an input, unless a kept one is longer
MOST_CRASHES = 5  # then a target is given up
_STATE = re.compile(r"#(\d+)\s+(INITED|NEW|REDUCE|pulse|RELOAD|DONE)\s+cov: (\d+) ft: (\d+)")
_SAID = re.compile(r"^(?:slowpath_fuzz: .*|SUMMARY: .*|[\w.]*(?:Error|Exception|Defect)\b.*)", re.MULTILINE)


@dataclass
class Fuzzed:
    """What became of one target.

    edges_before, edges_after: with the kept inputs, and at the end.  curve: (seconds, inputs, edges, features).
    crashes: (what was said, file with the input).
    """

    target: str
    inputs: int = 0
    seconds: float = 0.0
    edges_before: int = 0
    edges_after: int = 0
    entries_before: int = 0
    entries_after: int = 0
    curve: list[tuple[float, int, int, int]] = field(default_factory=list)
    crashes: list[tuple[str, str]] = field(default_factory=list)


def fuzz(target: str, seconds: float, build: Path, work: Path) -> Fuzzed:
    """Give a target inputs for so long. A crash is kept, and the target started again for the time that is left."""
    corpus, seeds = work / target, _seeds(target, work)
    unpack([*read_corpus(target), *seeds], corpus)
    longest = max((path.stat().st_size for path in corpus.iterdir()), default=0)
    words = work / f"{target}.dict"
    words.write_text(dictionary([path.read_bytes() for path in sorted(corpus.iterdir())]))
    found = Fuzzed(target, entries_before=_count(corpus))
    begun = time.monotonic()
    while (left_s := seconds - (time.monotonic() - begun)) > 1 and len(found.crashes) < MOST_CRASHES:
        options = [
            f"-max_total_time={left_s:.0f}", f"-timeout={ONE_LIMIT_S}", f"-rss_limit_mb={MEMORY_MB}",
            f"-max_len={max(LONGEST_BYTES, longest)}", f"-dict={words}", f"-artifact_prefix={work / target}.",
        ]  # fmt: skip
        log = work / f"{target}.log"
        inputs = _run(_command(target, build, [*options, str(corpus)]), log, found, begun)
        found.inputs += inputs
        if not (said := _crash(log)):
            break
        found.crashes.append(said)
    found.seconds, found.entries_after = time.monotonic() - begun, _count(corpus)
    return found


def minimise(target: str, build: Path, work: Path) -> list[bytes]:
    """The inputs that reach all that a target's corpus reaches."""
    small = work / f"{target}.small"
    small.mkdir(exist_ok=True)
    options = ["-merge=1", f"-timeout={ONE_LIMIT_S}", f"-rss_limit_mb={MEMORY_MB}", str(small), str(work / target)]
    with (work / f"{target}.merge.log").open("wb") as log:
        subprocess.run(_command(target, build, options), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                       env=_environ(target), check=False)  # fmt: skip
    return [path.read_bytes() for path in sorted(small.iterdir())]


def _command(target: str, build: Path, options: Sequence[str]) -> list[str]:
    if target in ENGINE_TARGETS:
        return [str(build / PROGRAM), f"--target={target}", *options]
    return [str(HERE / "fuzz_python.py"), *options]


def _environ(target: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    asan = "quarantine_size_mb=8:detect_leaks=1"
    return {
        **os.environ,
        "PATH": path,
        "ASAN_OPTIONS": asan,
        "SLOWPATH_FUZZ_TARGET": target,
        "TMPDIR": tempfile.gettempdir(),
    }


def _seeds(target: str, work: Path) -> list[bytes]:
    folder = work / "made"
    folder.mkdir(exist_ok=True)
    return [seed for one in TARGETS if one.name == target for seed in one.seeds(folder)]


def _run(command: Sequence[str], log: Path, found: Fuzzed, begun: float) -> int:
    """Returns: inputs."""
    inputs = 0
    with (
        log.open("w") as kept,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, errors="replace", env=_environ(found.target)) as process,
    ):  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            kept.write(line)
            if state := _STATE.search(line):
                inputs, edges, features = int(state[1]), int(state[3]), int(state[4])
                found.edges_before = found.edges_before or edges
                found.edges_after = max(found.edges_after, edges)
                found.curve.append((round(time.monotonic() - begun, 1), found.inputs + inputs, edges, features))
    return inputs


def _crash(log: Path) -> tuple[str, str] | None:
    """The last reason that was given, and the input; None: libFuzzer ended by itself.

    It also writes units of more than 10 s (slow-unit) and goes on: those of a reader that waits for a core are none.
    """
    text = log.read_text(errors="replace")
    written = re.search(r"Test unit written to (?!\S*slow-unit-)(\S+)", text)
    if written is None:
        return None
    said = [line for line in _SAID.findall(text) if "libFuzzer" not in line] or _SAID.findall(text)
    return (said[0] if said else "no reason was given", written[1])


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())
