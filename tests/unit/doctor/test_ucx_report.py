# SPDX-License-Identifier: Apache-2.0
"""UCX's account of its protocols: tables as UCX 1.22 prints them, cut short in places."""

from __future__ import annotations

import math

from slowpath.mpi.message_path import in_words, moving, protocols

# The first table is a rank talking to itself, the second as printed on host memory, the third has device memory.
TEXT = """
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   | ucp_context_0 self cfg#0                                                |
[1795177234.894242] [vm:16169:0]   | tagged message by ucp_tag_send* from host memory                        |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   |   Range   |                  Description                  |   Config    |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   | 2285..inf | (?) rendezvous copy from mapped remote memory | self/memory |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
8    1.0    0.5
[1795177234.895196] [vm:16169:0]   | ucp_context_0 intra-node cfg#1                                      |
[1795177234.895196] [vm:16169:0]   | tagged message by ucp_tag_send*(fast-completion) from host memory   |
[1795177234.895196] [vm:16169:0]   +-----------+-------------------------------------------+-------------+
[1795177234.895196] [vm:16169:0]   |   Range   |                Description                |   Config    |
[1795177234.895196] [vm:16169:0]   |         0 | eager short                               | sysv/memory |
[1795177234.895196] [vm:16169:0]   |  1..5028  | eager copy-in copy-out                    | sysv/memory |
[1795177234.895196] [vm:16169:0]   |  256K..inf | (?) rendezvous zero-copy read from remote | cma/memory  |
  | ucp_context_0 intra-node cfg#1                                                     |
  | rendezvous data fetch into cuda/GPU0 memory from cuda                              |
  |      0 | no data fetch                               |                             |
  | 1..inf | zero-copy read from remote                  | cuda_ipc/cuda               |
"""
LARGE = 64 << 20


def test_tables_become_rows() -> None:
    found = protocols(TEXT)
    assert [p.scope for p in found] == ["self", *["intra-node"] * 5]
    assert found[1].operation == "tagged message by ucp_tag_send*(fast-completion) from host memory"
    assert (found[1].first_bytes, found[1].last_bytes, found[1].how) == (0, 0, "eager short")
    assert (found[3].first_bytes, found[3].last_bytes) == (256 << 10, math.inf)
    assert (found[3].how, found[3].transports) == ("rendezvous zero-copy read from remote", "cma/memory")
    assert found[5].operation == "rendezvous data fetch into cuda/GPU0 memory from cuda"


def test_what_moves_a_message_to_another_process() -> None:
    found = moving(protocols(TEXT), LARGE)
    assert [p.transports for p in found] == ["cma/memory", "cuda_ipc/cuda"]
    assert [p.direct for p in found] == [False, True]
    assert in_words(found) == "rendezvous zero-copy read from remote on cma/memory; zero-copy read from remote on " + (
        "cuda_ipc/cuda"
    )
    assert [p.how for p in moving(protocols(TEXT), 0)] == ["eager short"]
