# SPDX-License-Identifier: Apache-2.0
"""Spoilt folders for every command that reads one, always the same; and the sandbox sees what it is to see.

tools/fuzz-folders gives them tens of thousands.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import fuzz_sandbox
import pytest
from fuzz_folder_commands import READERS, Place, Reader, judged
from fuzz_folder_run import Ground, measure, warm_up
from fuzz_folder_seeds import SEEDS, make_seeds
from fuzz_sandbox import Outcome, run_child

MUTATIONS = 150


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with contextlib.chdir(Path(__file__).parents[3]):  # so that the record of an import names the same files everywhere
        yield Ground(tmp_path_factory.mktemp("fuzz"), 1)


@pytest.mark.needs("minutes")
def test_every_command_bears_every_spoilt_folder(ground: Ground) -> None:
    warm_up()
    found = measure(ground, range(MUTATIONS), each=1)
    failures = {
        f"{name}: {kind}": mutation for name, one in found.items() for kind, (mutation, _, _) in one.failures.items()
    }
    assert failures == {}, "tools/fuzz-folders --seed 1 --make NUMBER"
    assert sum(one.inputs for one in found.values()) == MUTATIONS
    assert {reader.name for readers in READERS.values() for reader in readers} == set(found), "each was tried"
    refused = sum(one.codes[4] for one in found.values())
    assert 0.2 * MUTATIONS < refused < 0.9 * MUTATIONS, "some are refused, and some are read"


def test_valid_folders_are_read(tmp_path: Path) -> None:
    """Else a mutation of one would say nothing about what lies behind its readers' first check."""
    for name, folder in make_seeds(tmp_path / "seeds").items():
        kind = SEEDS[name][0]
        reader = next(one for one in READERS[kind] if not one.name.startswith(("compare", "gate")))
        own = folder / "results.json" if kind == "results" else folder
        (tmp_path / name).mkdir()
        place = Place(own, own, tmp_path / name)
        outcome = run_child(lambda: reader.run(place, 0), [*reader.allowed(place)])  # noqa: B023
        assert outcome.code == 0, f"{name}: {outcome.err.decode()}"


PLACE = Place(Path("folder"), Path("pristine"), Path("out"))


def kind_of(body: Callable[[], int], allowed: Path, wall_s: float = fuzz_sandbox.WALL_S) -> str | None:
    reader = Reader("reader", lambda place, turn: body())
    return judged(reader, PLACE, run_child(body, [allowed], wall_s))


def test_what_waits_for_ever_is_ended(tmp_path: Path) -> None:
    assert kind_of(lambda: threading.Event().wait() and 0, tmp_path, 0.2) == "takes over 10 s"


def test_what_computes_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_sandbox, "CPU_S", 1)

    def busy() -> int:
        while True:
            pass

    assert kind_of(busy, tmp_path) == "takes over 10 s"


def a_thread() -> int:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    return 0


def a_file(path: Path) -> Callable[[], int]:
    return lambda: path.write_text("x") and 0


@pytest.mark.parametrize(("body", "expected"), [
    (lambda: 0, None),
    (a_thread, None),
    (lambda: len(bytearray(300 * 2**20)) and 0, None),
    (lambda: subprocess.run(["true"], check=False).returncode, "starts a process"),
    (lambda: os.system("true"), "starts a process"),
    (lambda: os.fork() and 0, "starts a process"),
    (lambda: os.execv("/bin/true", ["true"]), "starts a process"),
    (lambda: len(bytearray(2**31)) and 0, "MemoryError"),
    (lambda: 17, "exit code 17"),
    (lambda: 4, "exit code 4 without its line"),
    (lambda: print("\x1b[2J") or 0, "stdout has the control character U+001B"),
    (lambda: 1 // 0, "ZeroDivisionError: integer division or modulo by zero"),
], ids=range(12))  # fmt: skip
def test_the_sandbox_sees(body: Callable[[], int], expected: str | None, tmp_path: Path) -> None:
    found = kind_of(body, tmp_path)
    assert (found or "").startswith(expected) if expected else found is None


def test_the_sandbox_sees_what_is_written_elsewhere(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (own / "link").symlink_to(other / "file")
    assert kind_of(a_file(own / "a"), own) is None
    for body in (a_file(other / "a"), a_file(own / "link"), lambda: os.mkdir(other / "b") or 0,
                 lambda: os.rename(own / "a", other / "c") or 0):  # fmt: skip
        assert str(kind_of(body, own)).startswith("writes outside: ")


def test_one_mutation_is_the_same_each_time(ground: Ground, tmp_path: Path) -> None:
    told = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        _, place, done = ground.make(16, tmp_path / name)
        told.append((done, sorted(str(path.relative_to(place.folder)) for path in place.folder.rglob("*"))))
    assert told[0] == told[1]
    assert told[0][0]


def test_an_outcome_names_its_signal() -> None:
    assert Outcome(-31, b"", b"", 0, 0, 0, ()).killed_by == "SIGSYS"
    assert Outcome(4, b"", b"", 0, 0, 0, ()).killed_by is None
    assert fuzz_sandbox.MEMORY_BYTES == 2**30
