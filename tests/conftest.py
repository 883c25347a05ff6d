# SPDX-License-Identifier: Apache-2.0
"""Fixtures that need a real MPI. The embedded one is always tested, others by SLOWPATH_TEST_MPIS=path:path."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowpath.core.errors import SlowpathError
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.cache import Engine

MUST_RUN = bool(os.environ.get("SLOWPATH_TESTS_MUST_RUN"))
MPI_OPTIONS = ["embedded", *filter(None, os.environ.get("SLOWPATH_TEST_MPIS", "").split(":"))]


def pytest_configure() -> None:
    """Shells start what stands in the background with SIGINT ignored; tests of Ctrl-C would then wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Where everything is installed (SLOWPATH_TESTS_MUST_RUN, as CI sets it), a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if MUST_RUN and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome, report.longrepr = "failed", f"{reason}, and SLOWPATH_TESTS_MUST_RUN is set"


@pytest.fixture(scope="session", params=MPI_OPTIONS)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI to test with, in turn. One that was asked for and is not there is an error, not a skip."""
    if request.param != "embedded":
        return find_mpi(request.param)
    try:
        return find_mpi("embedded")
    except SlowpathError as error:
        pytest.skip(f"{error}")


@pytest.fixture(scope="session")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache folder of this test session, unless SLOWPATH_CACHE_DIR names one to share between sessions."""
    given = os.environ.get("SLOWPATH_CACHE_DIR")
    return Path(given) if given else tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def engine(mpi: Mpi, engine_cache: Path) -> Engine:
    """The engine for `mpi`, built once a session."""
    return engine_for(mpi, {**os.environ, "SLOWPATH_CACHE_DIR": str(engine_cache)})
