# SPDX-License-Identifier: Apache-2.0
"""What tests may need beyond what the README names: the one list for the marker `needs`.

`make test` leaves out every test with this marker. `make test-rest` runs them, and skips one whose need is not met.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CAP_SYS_ADMIN = 21  # its number in linux/capability.h


@dataclass(frozen=True)
class Need:
    """source: where it comes from, for the reason of a skip.  is_met: whether it is here."""

    source: str
    is_met: Callable[[], bool]


def programs(*names: str) -> Callable[[], bool]:
    """Return the question whether all of these programs are on the PATH."""
    return lambda: all(shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") for name in names)


def variable(name: str) -> Callable[[], bool]:
    """Return the question whether this variable is set."""
    return lambda: bool(os.environ.get(name))


def is_root() -> bool:
    """Return whether this process is root's and may make namespaces; in a container root often may not."""
    status = Path("/proc/self/status").read_text().splitlines()
    capabilities = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    return os.geteuid() == 0 and bool(capabilities >> CAP_SYS_ADMIN & 1)


NEEDS = {
    "minutes": Need("a longer time than `make test` may take", lambda: True),
    "other MPIs": Need("SLOWPATH_TEST_MPIS, as `make test-rest` sets it", variable("SLOWPATH_TEST_MPIS")),
    "CUDA packages": Need(
        "SLOWPATH_TEST_CUDA_PARTS, as `make test-rest` sets it", variable("SLOWPATH_TEST_CUDA_PARTS")
    ),
    "root": Need("root, with the right to make namespaces", is_root),
    "chromium": Need("Debian: chromium chromium-driver", programs("chromium", "chromedriver")),
    "gfortran": Need("Debian: gfortran", programs("gfortran")),
    "groff": Need("Debian: groff", programs("groff")),
    "iproute2": Need("Debian: iproute2", programs("ip", "tc")),
    "slurm": Need("Debian: slurm-wlm munge libpmix-dev", programs("slurmctld", "slurmd", "munged", "srun")),
    "tclsh": Need("Debian: tcl", programs("tclsh")),
}


def why_skipped(names: tuple[str, ...]) -> str | None:
    """Return what the first of these needs that is not met asks for, or None if all are met."""
    for name in names:
        if not NEEDS[name].is_met():
            return f"needs {name}: {NEEDS[name].source}"
    return None
