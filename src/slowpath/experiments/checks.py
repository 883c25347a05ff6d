# SPDX-License-Identifier: Apache-2.0
"""Checks across the parameters of one cell, made before anything is launched. One function an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slowpath.core.errors import UsageError
from slowpath.core.units import MAX_BYTES, format_bytes
from slowpath.experiments.cannon.cost import check_cannon
from slowpath.experiments.p2p.layout import TOGETHER, check_combination, extent_bytes
from slowpath.experiments.put.cost import check_put

_PLACE_BYTES = 64  # a cache line
_SHARED_PINNED = ("pinned_registered", "shared")  # the engine registers private mappings only
_SIDES = ("sender", "receiver")


def check_cell(experiment: str, parameters: Mapping[str, str], ranks: int) -> None:
    """Refuses parameters that cannot go together.  Raises: UsageError naming the numbers."""
    check = _CELL_CHECKS.get(experiment)
    if check is not None:
        check(parameters, ranks)


def check_metric(experiment: str, parameters: Mapping[str, str], metric: str) -> None:
    """Refuses a metric that this cell does not yield.  Raises: UsageError."""
    check = _METRIC_CHECKS.get(experiment)
    if check is not None:
        check(parameters, metric)


def side_values(value: str) -> tuple[str, str]:
    """Sender's and receiver's value of a sided parameter."""
    sender, colon, receiver = value.partition(":")
    return (sender, receiver) if colon else (sender, sender)


def p2p_message_span(parameters: Mapping[str, str], side: int) -> int:
    """Bytes from the first to the last one that a side's messages occupy.

    The receiver of a window has a place for each message in flight, on a multiple of 64 bytes, as the engine does.
    """
    message = extent_bytes(parameters)
    places = int(parameters["in_flight"]) if parameters["pattern"] == "windowed" and side == 1 else 1
    return (places - 1) * (-(-message // _PLACE_BYTES) * _PLACE_BYTES) + message


def p2p_buffer_bytes(parameters: Mapping[str, str], side: int) -> int:
    """Length of a side's allocation without over-allocation."""
    written = side_values(parameters["buffer_bytes"])[side]
    return p2p_message_span(parameters, side) if written == "message" else int(written)


def _check_p2p(parameters: Mapping[str, str], ranks: int) -> None:
    check_combination(parameters, ranks)
    for i, side in enumerate(_SIDES):
        span, buffer = p2p_message_span(parameters, i), p2p_buffer_bytes(parameters, i)
        extra = int(side_values(parameters["overalloc_bytes"])[i])
        offset = int(side_values(parameters["offset_bytes"])[i])
        if offset + span > buffer + extra:
            raise UsageError(
                f"a message of {format_bytes(span)} at offset {format_bytes(offset)} does not fit in the {side}'s "
                f"buffer of {format_bytes(buffer)} with {format_bytes(extra)} over-allocated; raise buffer_bytes"
            )
        if buffer + extra > MAX_BYTES:
            raise UsageError(f"the {side}'s buffer of {buffer} + {extra} bytes exceeds 2^63 - 1; shorten it")
        memory, pages = side_values(parameters["memory"])[i], side_values(parameters["pages"])[i]
        if pages != "default" and (memory not in ("host", "pinned_registered") or (memory, pages) == _SHARED_PINNED):
            raise UsageError(f"pages={pages} is for host memory, not for the {side}'s {memory}; leave pages out")
    pairs = int(parameters["pairs"])
    if parameters["pattern"] == "windowed" and ranks < 2 * pairs:
        raise UsageError(f"{pairs} pairs need {2 * pairs} ranks, not {ranks}; change ranks or pairs")


def _check_p2p_metric(parameters: Mapping[str, str], metric: str) -> None:
    """With synchronise=inside the sample holds the barrier too, and no other metric; with posted=before and after
    the receiver is late on purpose (docs/internals/record.md)."""
    inside = parameters["pattern"] == "one_way" and parameters["synchronise"] == "inside"
    if inside and metric != "send_barrier_s":
        raise UsageError(f"{metric} is not measured with synchronise=inside; use send_barrier_s")
    if not inside and metric == "send_barrier_s":
        raise UsageError("send_barrier_s is measured only with pattern=one_way and synchronise=inside")
    if parameters.get("posted", TOGETHER) != TOGETHER and metric in ("one_way_s", "send_s"):
        raise UsageError(f"{metric} is not measured with posted={parameters['posted']}; use receive_s")


_CELL_CHECKS: dict[str, Callable[[Mapping[str, str], int], None]] = {
    "p2p": _check_p2p,
    "put": check_put,
    "cannon": check_cannon,
}
_METRIC_CHECKS: dict[str, Callable[[Mapping[str, str], str], None]] = {"p2p": _check_p2p_metric}
