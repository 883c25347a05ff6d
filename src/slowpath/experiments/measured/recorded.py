# SPDX-License-Identifier: Apache-2.0
"""How many bytes a cell writes into a record (docs/internals/record.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.units import whole_number

SAMPLE_BYTES = 16  # duration_ns and start_ns
BLOCK_BYTES = 128  # schema/block.json, header_bytes
EVENT_BYTES = 512


def recorded_bytes(parameters: Mapping[str, str], ranks: int, parts: int = 1) -> int:
    """Upper estimate of what one cell writes in one launch, bytes, where every rank stores samples of each allocation.

    Args: parts: what samples span: whole operations, or parts of them too.
    """
    samples = max(_number(parameters, "samples"), _number(parameters, "messages"))
    allocations = _number(parameters, "allocations") * _number(parameters, "live_buffers")
    each = 3 * BLOCK_BYTES + 2 * EVENT_BYTES + parts * samples * SAMPLE_BYTES
    return 2 * EVENT_BYTES + ranks * allocations * each


def _number(parameters: Mapping[str, str], name: str) -> int:
    text = parameters.get(name, "1")
    return 1 if (found := whole_number(text)) is None else found
