# SPDX-License-Identifier: Apache-2.0
"""Named stretches of a call and of a first use, as blocks number them (engine/studies/nccl/part.hpp). Pure."""

from __future__ import annotations

WHOLE, SUBMIT, WAIT = 0, 1, 2

# Of a first use, one after the other without a gap: name -> number.
STEPS = {
    "load": 3,
    "unique_id": 4,
    "share_id": 5,
    "runtime": 9,
    "init": 6,
    "buffers": 10,
    "one_element": 7,
    "first_call": 8,
}
INIT = STEPS["init"]

# Inside init, as NCCL's line "Init timings" has them, in its steps of 10 ms.
INIT_PARTS = {
    "init_kernels": 16,
    "init_alloc": 17,
    "init_bootstrap": 18,
    "init_allgathers": 19,
    "init_topo": 20,
    "init_graphs": 21,
    "init_connections": 22,
    "init_rest": 23,
}
REST = INIT_PARTS["init_rest"]  # NCCL's own word for what it has no word for
TOTAL = 24  # from NCCL's first clock inside init to its last
STEP_NS = 10_000_000  # of what NCCL reports
