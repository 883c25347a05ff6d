# SPDX-License-Identifier: Apache-2.0
"""What the C library is asked to do with memory that MPI libraries take and free. Pure."""

from __future__ import annotations

TUNABLES = "GLIBC_TUNABLES"
# malloc takes no mapping of its own for long blocks, and gives nothing back to the system.
KEEP_FREED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615"
