# SPDX-License-Identifier: Apache-2.0
"""One Slurm for all tests of the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster import Cluster


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """Two nodes under Debian's Slurm."""
    with Cluster() as cluster:
        yield cluster
