# SPDX-License-Identifier: Apache-2.0
"""In which order a rank meets its peers, as engine/mpi/first_peers has it. Pure."""

from __future__ import annotations

ORDERS = ("ascending", "xor")


def peers_in_order(order: str, rank: int, size: int) -> list[int]:
    """ascending: ranks 0, 1, 2, ...; xor: rank xor 1, rank xor 2, ..., as far as there are such ranks."""
    if order == "ascending":
        return [peer for peer in range(size) if peer != rank]
    steps = 1 << max(0, size - 1).bit_length()
    return [rank ^ step for step in range(1, steps) if rank ^ step < size]
