# SPDX-License-Identifier: Apache-2.0
"""One Slurm for all tests of the session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster import Cluster

from slowpath.core.errors import EnvironmentFailure


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """Where Debian's Slurm and root are; elsewhere these tests are skipped, which CI takes for a failure."""
    if os.geteuid() != 0:
        pytest.skip("nodes that are namespaces need root")
    cluster = Cluster()
    try:
        cluster.__enter__()
    except EnvironmentFailure as error:
        pytest.skip(f"{error}")
    try:
        yield cluster
    finally:
        cluster.__exit__(None, None, None)
