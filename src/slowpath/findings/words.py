# SPDX-License-Identifier: Apache-2.0
"""Words of findings: ratios, lengths, memory, costs. Plain ASCII; rounding is that of `core.units`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.core.units import format_bytes, format_interval, format_ratio, format_time, of_ratio
from slowpath.core.units import ratio_words as with_interval
from slowpath.findings.difference import Difference, Ratio, Slowdown
from slowpath.findings.observation import Stayed

# Of the metrics of one cell the first of these speaks.
OF_MESSAGES = ("one_way_s", "half_round_trip_latency_s", "send_barrier_s", "time_per_message_s")

PUT = "time_per_put_s"

SPEAKING = (*OF_MESSAGES, PUT)

SMALL_PAGE_BYTES = 4096

HUGE_PAGE_BYTES = 2 * 2**20

SWITCHED_OUT = 0.05

MOST_CONTROLS = 3

_DEVICE = ("device", "device_pool", "device_vmm", "managed")

_PAGE_OF = {"small": SMALL_PAGE_BYTES, "shared": SMALL_PAGE_BYTES, "huge": HUGE_PAGE_BYTES}


def ratio_words(ratio: Ratio) -> str:
    """`3.29x [3.10, 3.50]`; without an interval the bare ratio."""
    return with_interval(ratio.value, ratio.interval)


def fraction_words(value: float, interval: Interval) -> str:
    """`0.91 [0.89, 0.93]`."""
    return f"{format_ratio(value, (interval[1] - interval[0]) / 2)} {format_interval(interval, value)}"


def stayed_words(one: Stayed) -> str:
    """The negative control's line of evidence."""
    word = "unchanged" if one.held else "may have changed"
    return f"{one.words}: {with_interval(one.ratio, one.interval)} with it, {word}"


def all_stayed_words(every: Sequence[Stayed]) -> str | None:
    """Those that moved first; None: none was measured."""
    ordered = sorted(every, key=lambda one: one.held)
    return "; ".join(dict.fromkeys(stayed_words(one) for one in ordered[:MOST_CONTROLS])) or None


def times_words(one: Difference) -> str:
    """`4.00 ms vs 2.00 ms`, the slow side first."""
    slow_s, fast_s = of_ratio(one.slow_s, one.fast_s, one.ratio.value)
    return f"{format_time(slow_s)} vs {format_time(fast_s)}"


def slowdown_words(one: Slowdown) -> str:
    """Facts of one contrast, with its id to look up."""
    slow_s, fast_s = of_ratio(one.slow_s, one.fast_s, one.ratio.value)
    return (
        f"{one.slow.label}, {one.slow_phase}: {format_time(slow_s)} vs {format_time(fast_s)} of "
        f"{one.fast.label}, {one.fast_phase}: {ratio_words(one.ratio)} (contrast {one.contrast})"
    )


def parameter(cell: CellResult, name: str, default: str = "") -> str:
    """As the plan has it; the default where the cell has none."""
    return cell.parameters.get(name, default)


def number(cell: CellResult, name: str) -> float | None:
    """A parameter as a number; None where the cell has none or another thing."""
    text = cell.parameters.get(name, "")
    return float(text) if text.isdecimal() else None


def sizes(cells: Iterable[CellResult], name: str = "message_bytes") -> str:
    """`1 MiB`, or `64 KiB to 16 MiB`; empty where no cell has the parameter."""
    found = sorted({int(value) for cell in cells if (value := number(cell, name)) is not None})
    if not found:
        return ""
    ends = dict.fromkeys((found[0], found[-1]))
    return " to ".join(format_bytes(end) for end in ends)


def memory(cells: Iterable[CellResult]) -> str:
    """Kinds of memory of some cells, as their parameter has it: `host`, `device:host`."""
    return " and ".join(dict.fromkeys(parameter(cell, "memory", _default(cell)) for cell in cells))


def _default(cell: CellResult) -> str:
    """An experiment with a GPU that exports is about GPU memory alone."""
    return "device" if "exporter_device" in cell.parameters else "host"


def is_device(cell: CellResult) -> bool:
    """Whether the sender's buffer is GPU memory."""
    return memory([cell]).split(":")[0] in _DEVICE


def variable_words(variables: Mapping[str, str]) -> str:
    """`NAME=value, OTHER=value`."""
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def is_switched_out(cell: CellResult) -> bool:
    """Whether the kernel took the processor from a rank in more than one of 20 operations: what comes out then is how
    long others ran.
    """
    seen = [one for one in (cell.witness or {}).get("steady", {}).values() if one is not None]
    return any((witness.involuntary_switches or 0) > SWITCHED_OUT * (witness.operations or 1) for witness in seen)


def where_words(cells: Sequence[CellResult], *others: str) -> list[str]:
    """Words of a place: the memory, what else is asked for, the lengths of messages."""
    lengths = sizes(cells)
    return [f"{memory(cells)} memory", *others, *([f"messages of {lengths}"] if lengths else [])]


def gpus(cells: Iterable[CellResult]) -> list[str]:
    """`within one GPU`, `between GPUs 0 and 1`; empty where memory is not a GPU's, or each rank took its own."""
    found = dict.fromkeys(_gpus(parameter(cell, "device", "auto")) for cell in cells if is_device(cell))
    words = " and ".join(one for one in found if one)
    return [words] if words else []


def _gpus(device: str) -> str:
    sides = device.split(":")
    if not all(side.isdecimal() for side in sides):
        return ""
    return "within one GPU" if len(set(sides)) == 1 else f"between GPUs {' and '.join(sides)}"


def page_bytes(cell: CellResult) -> float | None:
    """Length of the pages under a cell's buffers as they were observed, None: not observed, or of several kinds."""
    seen = set(cell.allocations.pages_observed) if cell.allocations else set()
    known = {_PAGE_OF[kind] for kind in seen if kind in _PAGE_OF}
    return float(known.pop()) if len(known) == 1 and seen <= _PAGE_OF.keys() else None


def buffer_words(cell: CellResult) -> str:
    """`1 GiB + 1 B` for the sender's allocation; empty where it is as long as the message, or not recorded."""
    length = (parameter(cell, "allocation_bytes") or parameter(cell, "buffer_bytes") or "message").split(":")[0]
    extra = parameter(cell, "overalloc_bytes", "0").split(":")[0]
    if length == "message":
        length = parameter(cell, "message_bytes") if extra not in ("", "0") else ""
    if not (length.isdecimal() and extra.isdecimal()):
        return ""
    pad = parameter(cell, "pad_to_bytes", "0").split(":")[0]
    whole = int(length) + int(extra)
    if pad.isdecimal() and int(pad) > 0:
        whole = -(-whole // int(pad)) * int(pad)
    return format_bytes(whole)
