# SPDX-License-Identifier: Apache-2.0
"""What the analysis has to know of cannon's variants. Pure."""

from __future__ import annotations

REFERENCE = "sendrecv_replace"  # the textbook form, which speed-ups are over
CEILING = "compute_only"  # the local multiplications alone; no way to communicate, so it does not compete
ALONE = "dgemm_alone"  # rank 0's local multiplications while the other ranks sleep: one core alone
YARDSTICKS = (CEILING, ALONE)

# Variant -> whether it runs with ranks on several nodes; engine/studies/cannon/variants/.
ACROSS_NODES: dict[str, bool] = {
    CEILING: True,
    REFERENCE: True,
    "sendrecv": True,
    "isend_wait": True,
    "isend_test": True,
    "isend_test_apart": True,
    "put_fence": True,
    "put_fence_two_windows": True,
    "pscw": True,
    "put_flag": True,
    "get_from_home": True,
    "shared_copy": False,
    "shared_direct": False,
    ALONE: True,
}
