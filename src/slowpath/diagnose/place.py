# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the place before anything is launched there, so that it is said where every launch fails, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.place import PlaceFault
from slowpath.diagnose.bench import Bench
from slowpath.mpi.place import PlaceJob, faults
from slowpath.run.place import place_here


def wrong_place(bench: Bench) -> list[PlaceFault]:
    """For the ranks that the diagnosis is about, on one node."""
    ranks = -(-bench.job.ranks // max(bench.job.nodes, 1))
    return faults(place_here(), PlaceJob(ranks, bench.library.name, bench.environ))


@contextmanager
def behind_place(wrong: Sequence[PlaceFault]) -> Iterator[None]:
    """Failures of the machine speak behind what is wrong with the place.  Raises: EnvironmentFailure."""
    try:
        yield
    except EnvironmentFailure as error:
        if not wrong or type(error) is not EnvironmentFailure:
            raise
        said = [f"{one.sentence} {one.action}" for one in wrong]
        raise EnvironmentFailure(" ".join([*said, str(error)])) from error
