# SPDX-License-Identifier: Apache-2.0
"""One Slurm for all tests of the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster import Cluster

from slowpath.core.errors import EnvironmentFailure


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """Where Debian's Slurm is; elsewhere these tests are skipped, which CI takes for a failure."""
    cluster = Cluster()
    try:
        cluster.__enter__()
    except EnvironmentFailure as error:
        pytest.skip(f"{error}")
    try:
        yield cluster
    finally:
        cluster.__exit__(None, None, None)
