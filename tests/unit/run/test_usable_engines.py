# SPDX-License-Identifier: Apache-2.0
"""Which engines of a cache are run: nobody else's, and whole ones. Those that are not are made anew, in one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.core import files as trust
from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import make_place, why_not_trusted
from slowpath.run.engine import cache as usable
from slowpath.run.engine.cache import (
    NOTE,
    PROGRAM,
    EngineNote,
    discard,
    kept_now,
    seal,
    trusted_folder,
    usable_engine,
    why_not_usable,
)

NOBODY = 65534
NOTED = EngineNote("key", "mpich 5.0", "mpich", "mpicxx", "g++ 12", "source", "2026")


def status(mode: int, user: int | None = None, group: int | None = None) -> os.stat_result:
    """Of a file or folder of this user."""
    user, group = (os.geteuid() if user is None else user), (NOBODY if group is None else group)
    return os.stat_result((mode, 1, 1, 1, user, group, 0, 0, 0, 0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of an engine in a cache."""
    folder = tmp_path / "cache" / "engines" / "key"
    make_place(folder.parent)
    folder.mkdir()
    (folder / PROGRAM).write_bytes(b"#!/bin/sh\n" + b"x" * 5000)
    (folder / PROGRAM).chmod(0o775)
    (folder / "libslowpath-blas.so").write_bytes(b"library")
    seal(folder, NOTED)
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of that cache."""
    return {"SLOWPATH_CACHE_DIR": str(tmp_path / "cache")}


FOLDER, FILE = stat.S_IFDIR, stat.S_IFREG


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (status(FILE | 0o755), None),
        (status(FILE | 0o755, user=0), None),
        (status(FILE | 0o755, user=NOBODY), "it belongs to user"),
        (status(FILE | 0o757), "everybody can write there"),
        (status(FILE | 0o1777), "everybody can write there"),
        (status(FOLDER | 0o777), "everybody can write there"),
        (status(FOLDER | 0o1777), None),
        (status(FOLDER | 0o1777, user=NOBODY), "it belongs to user"),
    ],
)
def test_who_could_have_changed_it(what: os.stat_result, reason: str | None) -> None:
    found = why_not_trusted(what, {})
    assert found == reason if reason is None else reason in str(found)


def truncate(folder: Path) -> None:
    os.truncate(folder / PROGRAM, 100)


def change_a_byte(folder: Path) -> None:
    with (folder / PROGRAM).open("r+b") as file:
        file.seek(3000)
        file.write(b"y")


def lose_a_library(folder: Path) -> None:
    (folder / "libslowpath-blas.so").unlink()


def cut_the_note(folder: Path) -> None:
    os.truncate(folder / NOTE, 20)


def forget_checksums(folder: Path) -> None:
    note = (folder / NOTE).read_bytes()
    (folder / NOTE).write_bytes(note[: note.index(b',"files"')] + b"}")


def let_everybody_write(folder: Path) -> None:
    (folder / PROGRAM).chmod(0o777)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (truncate, "it was damaged: slowpath-engine is not what was put there"),
        (change_a_byte, "it was damaged: slowpath-engine is not what was put there"),
        (lose_a_library, "it was damaged: libslowpath-blas.so: No such file or directory"),
        (cut_the_note, "it was damaged: engine.json or the program can't be read"),
        (forget_checksums, "it has no checksums"),
        (let_everybody_write, "slowpath-engine: everybody can write there"),
    ],
)
def test_what_is_not_whole_is_not_run(
    folder: Path, environ: dict[str, str], harm: Callable[[Path], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usable, "BETWEEN_LOOKS_S", 0.0)  # nobody exchanges it
    told: list[str] = []
    assert usable_engine(folder, environ, told.append) is not None
    assert told == []
    harm(folder)
    assert usable_engine(folder, environ, told.append) is None
    assert len(told) == 1
    assert told[0].startswith(f"the engine in {folder} is not used, but made anew: {said}")
    with pytest.raises(EnvironmentFailure, match="set SLOWPATH_CACHE_DIR to a file system that keeps"):
        kept_now(folder, environ)
    discard(folder, environ)
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []


def test_an_engine_of_another_user_is_not_run(
    folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "trusted_owners", lambda _: frozenset({folder.stat().st_uid + 1}))
    assert str(why_not_usable(folder, environ)).startswith("it belongs to user ")
    with pytest.raises(EnvironmentFailure) as caught:
        usable_engine(folder, environ)
    said = str(caught.value)
    assert f"engines in {folder.parents[1]} are not run, because it belongs to user" in said
    assert "if you trust that user, name it in SLOWPATH_TRUST_OWNERS, or use another folder with" in said


@pytest.mark.parametrize("mode", [0o777])
def test_a_cache_that_others_can_write(folder: Path, environ: dict[str, str], mode: int) -> None:
    folder.parent.chmod(mode)
    with pytest.raises(
        EnvironmentFailure,
        match=r"can write there: chmod go-w \S.*engines, or use another folder",
    ):
        trusted_folder(environ)
    folder.parent.chmod(mode | 0o1000)
    assert trusted_folder(environ) == folder.parent
