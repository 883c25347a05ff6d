# SPDX-License-Identifier: Apache-2.0
"""A library that a watch's folder names is asked only where root alone could have put it, and stays that file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowpath.watch.folder import WatchInfo
from slowpath.watch.prove import session as conduct
from slowpath.watch.prove.remedies import of_user
from slowpath.watch.prove.rerun import before_runs
from slowpath.watch.prove.session import of_system
from support.watch_results import a_program, results

LIBC = Path(next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc" in line))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that root alone can change, down from /; for tests that are root."""
    folder = Path(tempfile.mkdtemp(dir="/run"))
    folder.chmod(0o755)
    (folder / "inner").mkdir(mode=0o755)
    library = folder / "inner" / "libmpi.so.12"
    library.write_bytes(b"")
    library.chmod(0o644)
    yield library
    shutil.rmtree(folder)


def test_a_library_of_the_system_is_taken_by_its_resolved_path(tmp_path: Path) -> None:
    link = tmp_path / "libmpi.so.12"
    link.symlink_to(LIBC)
    assert of_system(link) == LIBC.resolve()
    assert of_system(LIBC) == LIBC.resolve()


def test_a_link_that_is_swapped_after_the_check_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library that is asked is the one that was checked."""
    link = tmp_path / "libmpi.so.12"
    link.symlink_to(LIBC)
    evil = tmp_path / "evil.so"
    evil.write_bytes(b"")
    mpi = conduct.mpi_of(_info(tmp_path), results(program=a_program(library_path=str(link))), {})
    assert mpi.name == "mpich"
    link.unlink()
    link.symlink_to(evil)
    asked: list[list[str]] = []
    before_runs(of_user(["A=1"], [], ("app",), mpi, {}), mpi, ("app",), {}, lambda argv, _: asked.append(argv))  # type: ignore[func-returns-value]
    assert asked
    for argv in asked:
        assert str(LIBC.resolve()) in argv
        assert str(link) not in argv


@pytest.mark.needs("root")
def test_every_folder_on_the_way_has_to_be_roots_alone(place: Path) -> None:
    assert of_system(place) == place
    for folder in (place.parent, place.parent.parent):
        for mode in (0o777, 0o775, 0o1777):
            folder.chmod(mode)
            assert of_system(place) is None
        folder.chmod(0o755)
        os.chown(folder, 65534, 65534)
        assert of_system(place) is None
        os.chown(folder, 0, 0)
    assert of_system(place) == place
    for mode in (0o666, 0o664):
        place.chmod(mode)
        assert of_system(place) is None


@pytest.mark.needs("root")
def test_a_link_in_a_folder_of_the_way_is_followed_before_the_check(place: Path) -> None:
    inner = place.parent
    other = inner.with_name("other")
    other.symlink_to(inner)
    assert of_system(other / place.name) == place
    other.unlink()
    other.symlink_to("/tmp")
    assert of_system(other / place.name) is None
    other.unlink()


def test_what_is_no_file_is_nothing(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (loop, tmp_path / "missing", Path("/usr/lib"), Path("/dev/null"), Path("a\0b")):
        assert of_system(path) is None


def _info(folder: Path) -> WatchInfo:
    return WatchInfo(
        slowpath="1",
        command=(str(folder / "app"),),
        started="2026-01-31T12:00:00+00:00",
        working_folder=str(folder),
        host="here",
        library="/lib/libslowpath-watch.so",
    )
