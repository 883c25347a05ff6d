# SPDX-License-Identifier: Apache-2.0
"""Cores of its own for each of several diagnoses side by side, as cpusets of the kernel.

An affinity (taskset) does not do: launchers that bind ranks to cores count from the machine's first core on, whatever
processors they were started on (MPICH 5.0.2 and Open MPI 5.0.11 do). A cpuset they see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure

CORES = 2  # of a diagnosis, which has two ranks
_V1, _V2 = Path("/sys/fs/cgroup/cpuset"), Path("/sys/fs/cgroup")
_CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Pen:
    """group: folder of the control group; None: all processors are the diagnosis's."""

    group: Path | None = None

    def around(self, argv: Sequence[str]) -> list[str]:
        """A command that runs in the pen, with all that it starts."""
        if self.group is None:
            return list(argv)
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.group / "cgroup.procs"), *argv]

    def enter(self) -> None:
        """Move this process into it, as far as the kernel lets it: a matter of speed alone."""
        if self.group is not None:
            with suppress(OSError):
                (self.group / "cgroup.procs").write_text(str(os.getpid()))


def cores(processors: Sequence[int], system: Path = _CPUS) -> list[list[int]]:
    """Processors by the core to which they belong, in the order of the cores."""
    found: dict[str, list[int]] = {}
    for cpu in sorted(processors):
        try:
            siblings = (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        found.setdefault(siblings, []).append(cpu)
    return list(found.values())


def shares(jobs: int, of: Sequence[Sequence[int]]) -> list[list[int]]:
    """Processors of each job: two cores.  Raises: EnvironmentFailure: there are not so many."""
    if len(of) < CORES * jobs:
        raise EnvironmentFailure(
            f"--jobs {jobs}: needs {CORES * jobs} cores, but there are {len(of)}; use --jobs "
            f"{max(1, len(of) // CORES)} or fewer"
        )
    return [[cpu for core in of[CORES * i : CORES * (i + 1)] for cpu in core] for i in range(jobs)]


@contextmanager
def penned(jobs: int) -> Iterator[list[Pen]]:
    """A pen for each job; one job has the whole machine.  Raises: EnvironmentFailure: too few cores, or no cpusets."""
    if jobs == 1:
        yield [Pen()]
        return
    parts = shares(jobs, cores(sorted(os.sched_getaffinity(0))))
    with ExitStack() as made:
        yield [made.enter_context(_cpuset(f"slowpath-plants-{os.getpid()}-{n}", part)) for n, part in enumerate(parts)]


@contextmanager
def _cpuset(name: str, processors: Sequence[int], first: Path = _V1, second: Path = _V2) -> Iterator[Pen]:
    listed = ",".join(str(cpu) for cpu in processors)
    old = (first / "cpuset.cpus").is_file()
    parent = first if old else second
    group = parent / name
    try:
        if not old:
            (parent / "cgroup.subtree_control").write_text("+cpuset")
        group.mkdir()
        (group / "cpuset.cpus").write_text(listed)
        if old:
            (group / "cpuset.mems").write_text((parent / "cpuset.mems").read_text())
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        raise EnvironmentFailure(
            f"{group}: no cpuset can be made there ({error.strerror}), but launchers bind ranks to cores; run as "
            "root on a host that allows control groups, or use --jobs 1"
        ) from None
    try:
        yield Pen(group)
    finally:
        with suppress(OSError):  # what still runs in it keeps it
            group.rmdir()
