# SPDX-License-Identifier: Apache-2.0
"""Fixtures: what the engine says of itself; MPIs, the embedded one and those of SLOWPATH_TEST_MPIS=path:path."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from needs import NEEDS, why_skipped
from slowpath.core.files import data_folder
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.cache import Engine, list_engines, source_hash

MPI_OPTIONS = ["embedded", *filter(None, os.environ.get("SLOWPATH_TEST_MPIS", "").split(":"))]
CACHE = Path(__file__).resolve().parents[1] / "build" / "cache"


@pytest.fixture(scope="session")
def description() -> dict[str, Any]:
    """What `slowpath-engine describe --json` says, kept beside the tests."""
    loaded: dict[str, Any] = json.loads((Path(__file__).parents[1] / "schema" / "engine.json").read_text())
    return loaded


def pytest_configure() -> None:
    """Shells start what stands in the background with SIGINT ignored, nohup with SIGHUP: what is watched or counted
    inherits that, and tests that end it so would wait for ever.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --rest, so that no test runs both in `make test` and in `make test-rest`."""
    parser.addoption("--rest", action="store_true", help="only what `make test` leaves out")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse needs that tests/needs.py does not list, and keep only the rest with --rest."""
    for item in items:
        if unknown := set(needs_of(item)) - set(NEEDS):
            raise pytest.UsageError(f"{item.nodeid} needs {', '.join(sorted(unknown))}: not in tests/needs.py")
    if config.getoption("--rest"):
        rest = [item for item in items if needs_of(item) or mpi_of(item) not in (None, "embedded")]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(rest)])
        items[:] = rest


def mpi_of(item: pytest.Item) -> str | None:
    """Return the MPI under which a test runs, or None if it asks for no MPI."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get("mpi")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose need is not met before any of its fixtures is made."""
    if (why := why_skipped(needs_of(item))) is not None:
        pytest.skip(why)


def needs_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the arguments of all markers `needs` of a test, its module's included."""
    return tuple(name for marker in item.iter_markers("needs") for name in marker.args)


@pytest.fixture(scope="session", params=MPI_OPTIONS)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI to test with, in turn. One that is not there is an error, not a skip."""
    return find_mpi(request.param)


@pytest.fixture(scope="session")
def engine_cache() -> Path:
    """Cache folder that all test sessions of this checkout share, unless SLOWPATH_CACHE_DIR names another."""
    folder = Path(os.environ.get("SLOWPATH_CACHE_DIR") or CACHE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o755, exist_ok=True)  # one that a group can write is not used
    return folder


@pytest.fixture(scope="session")
def blankless_of_session() -> Iterator[Path]:
    """A folder whose path has no blank: for libraries that LD_PRELOAD names, as ld.so(8) demands, and for ReFrame."""
    CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        yield Path(folder)


@pytest.fixture
def blankless(blankless_of_session: Path) -> Path:
    """Such a folder for one test, and empty."""
    return Path(tempfile.mkdtemp(dir=blankless_of_session))


def take_over(cache: Path) -> None:
    """Copy engines of this source from the user's own cache into `cache`, so that none is compiled twice."""
    source = source_hash(data_folder("engine"))
    for kept in list_engines(os.environ):
        folder, place = kept.program.parent, cache / "engines" / kept.program.parent.name
        if kept.note.source == source and not place.exists():
            shutil.copytree(folder, place)


@pytest.fixture(scope="session")
def engine(mpi: Mpi, engine_cache: Path) -> Engine:
    """The engine for `mpi`: that of `make run`, else built once, whichever session or worker is the first to ask."""
    with (engine_cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        take_over(engine_cache)
        return engine_for(mpi, {**os.environ, "SLOWPATH_CACHE_DIR": str(engine_cache)})
