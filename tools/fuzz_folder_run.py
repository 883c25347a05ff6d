# SPDX-License-Identifier: Apache-2.0
"""Mutations one after the other in one process, each given to its readers in forked children; what became of them."""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import pkgutil
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_folder_commands import READERS, Place, Reader, judged
from fuzz_folder_mutation import spoil
from fuzz_folder_seeds import SEEDS, make_seeds, make_twin
from fuzz_sandbox import Outcome, run_child

import slowpath

MOST_KEPT = 100


@dataclass
class Tally:
    """What became of the inputs of one reader. failures: kind -> mutation, how often, what it printed last."""

    inputs: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0
    peak_bytes: int = 0
    failures: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    def add(self, outcome: Outcome, mutation: int, kind: str | None) -> None:
        """One input."""
        self.inputs += 1
        self.codes[outcome.code] += 1
        self.slowest_s = max(self.slowest_s, outcome.cpu_s)
        self.peak_bytes = max(self.peak_bytes, outcome.grown_bytes)
        if kind is not None and (kind in self.failures or len(self.failures) < MOST_KEPT):
            first, times, said = self.failures.get(kind, (mutation, 0, outcome.err.decode(errors="replace")[-3000:]))
            self.failures[kind] = (first, times + 1, said)

    def merge(self, other: Tally) -> None:
        """Those of another process."""
        self.inputs += other.inputs
        self.codes += other.codes
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        for kind, (mutation, times, said) in other.failures.items():
            first, before, words = self.failures.get(kind, (mutation, 0, said))
            self.failures[kind] = (min(first, mutation), before + times, words if first <= mutation else said)


class Ground:
    """The seeds, a folder that nobody may change, and a place for one mutation after the other."""

    def __init__(self, base: Path, seed: int) -> None:
        self.base, self.seed = base, seed
        self.seeds = make_seeds(base / "seeds")
        self.twins = {name: make_twin(seed, base / "twins" / seed.name) for name, seed in self.seeds.items()}
        self.victim = base / "victim"
        self.victim.mkdir()
        (self.victim / "file").write_text("not yours\n")
        (self.victim / "launches").mkdir()
        self._untouched = self.state()

    def state(self) -> str:
        """All that must stay as it is: names, sizes, times and links."""
        digest = hashlib.sha256()
        for top in (self.base / "seeds", self.base / "twins", self.victim):
            for where, folders, files in os.walk(top):
                folders.sort()
                for name in sorted(files):
                    status = os.lstat(os.path.join(where, name))
                    digest.update(f"{where}/{name} {status.st_size} {status.st_mtime_ns} {status.st_mode}\n".encode())
        return digest.hexdigest()

    @property
    def is_untouched(self) -> bool:
        """Whether seeds and victim are as they were made."""
        return self.state() == self._untouched

    def make(self, mutation: int, where: Path) -> tuple[str, Place, list[str]]:
        """The folder of one mutation: the kind of its readers, its place, and what was done to it."""
        chance = random.Random(f"{self.seed} {mutation}")
        name = list(SEEDS)[mutation % len(SEEDS)]
        folder = where / "folder"
        shutil.copytree(self.seeds[name], folder, symlinks=True)
        done = spoil(folder, self.victim, list(self.seeds.values()), chance)
        kind = SEEDS[name][0]
        if kind == "results":
            folder = folder / "results.json"
        pristine = self.twins[name] / "results.json" if kind == "results" else self.twins[name]
        (where / "out").mkdir()
        return kind, Place(folder, pristine, where / "out"), done


def warm_up() -> None:
    """Every module and one whole report, so that a child needs no file of the package."""
    for module in pkgutil.walk_packages(slowpath.__path__, "slowpath."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def measure(
    ground: Ground, mutations: Iterable[int], each: int | None = None, tell: Callable[[int], None] = lambda done: None
) -> Mapping[str, Tally]:
    """Every mutation, given to all of its readers, or to `each` of them in turn."""
    found: dict[str, Tally] = {}
    for done, mutation in enumerate(mutations):
        where = ground.base / "now"
        for number, reader in enumerate(_chosen(ground, mutation, each)):
            shutil.rmtree(where, ignore_errors=True)
            where.mkdir()
            _, place, _ = ground.make(mutation, where)
            outcome = run_child(lambda: reader.run(place, mutation // len(SEEDS)), reader.allowed(place))  # noqa: B023
            kind = judged(reader, place, outcome)
            if number == 0 and not ground.is_untouched:
                kind = kind or "changes a folder that is not its output"
            found.setdefault(reader.name, Tally()).add(outcome, mutation, kind)
        tell(done + 1)
    shutil.rmtree(ground.base / "now", ignore_errors=True)
    return found


def _chosen(ground: Ground, mutation: int, each: int | None) -> list[Reader]:
    readers = list(READERS[SEEDS[list(SEEDS)[mutation % len(SEEDS)]][0]])
    if each is None:
        return readers
    turn = mutation // len(SEEDS) * each + 7 * (mutation % len(SEEDS))  # seeds of one kind begin with different ones
    return [readers[(turn + i) % len(readers)] for i in range(min(each, len(readers)))]
