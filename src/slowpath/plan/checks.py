# SPDX-License-Identifier: Apache-2.0
"""Checks across the parameters of one cell, made before anything is launched. One function an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slowpath.errors import UsageError
from slowpath.units import format_bytes

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


def _check_p2p(parameters: Mapping[str, str], ranks: int) -> None:
    message = int(parameters["message_bytes"])
    for i, side in enumerate(_SIDES):
        written = side_values(parameters["buffer_bytes"])[i]
        buffer = message if written == "message" else int(written)
        extra = int(side_values(parameters["overalloc_bytes"])[i])
        offset = int(side_values(parameters["offset_bytes"])[i])
        if offset + message > buffer + extra:
            raise UsageError(
                f"a message of {format_bytes(message)} at offset {format_bytes(offset)} does not fit in "
                f"the {side}'s buffer of {format_bytes(buffer)} with {format_bytes(extra)} "
                "over-allocated; enlarge buffer_bytes"
            )
        memory, pages = side_values(parameters["memory"])[i], side_values(parameters["pages"])[i]
        if memory != "host" and pages != "default":
            raise UsageError(f"pages={pages} holds for host memory only, but the {side}'s is {memory}; leave pages out")
    pairs = int(parameters["pairs"])
    if parameters["pattern"] == "windowed" and ranks < 2 * pairs:
        raise UsageError(f"{pairs} pairs need {2 * pairs} ranks, but the campaign has {ranks}; set ranks or pairs")


def _check_p2p_metric(parameters: Mapping[str, str], metric: str) -> None:
    """With synchronise=inside the sample holds the barrier too, and no other metric (docs/record.md)."""
    inside = parameters["pattern"] == "one_way" and parameters["synchronise"] == "inside"
    if inside and metric != "send_barrier_s":
        raise UsageError(f"{metric} is not measured with synchronise=inside; use send_barrier_s")
    if not inside and metric == "send_barrier_s":
        raise UsageError("send_barrier_s is measured only with pattern=one_way and synchronise=inside")


_CELL_CHECKS: dict[str, Callable[[Mapping[str, str], int], None]] = {"p2p": _check_p2p}
_METRIC_CHECKS: dict[str, Callable[[Mapping[str, str], str], None]] = {"p2p": _check_p2p_metric}
