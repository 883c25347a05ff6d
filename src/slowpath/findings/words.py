# SPDX-License-Identifier: Apache-2.0
"""Sentences of findings: times, ratios, lengths and laws in words. Plain ASCII; rounding is that of `units`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowpath.core.units import format_bytes, format_ratio, format_time
from slowpath.findings.evidence.compared import Cell, Compared
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.rule import Interval
from slowpath.stats.laws.coefficient import Coefficient

# Of the metrics of one cell the first of these speaks.
SPEAKING = ("one_way_s", "half_round_trip_latency_s", "send_barrier_s", "time_per_message_s", "time_per_put_s")
_MIB = 2**20
_DEVICE = ("device", "device_pool", "device_vmm", "managed")
_PHRASES = {
    "one_way_s": "the one-way time",
    "send_s": "the time in MPI_Send",
    "receive_s": "the time in MPI_Recv",
    "send_barrier_s": "the time of MPI_Send and a barrier",
    "half_round_trip_latency_s": "the half round trip",
    "time_per_message_s": "the time per message",
    "time_per_put_s": "the time per put",
    "put_call_s": "the time of a put call",
    "synchronisation_s": "the time of the synchronisation",
    "ipc_open_s": "opening the handle",
}


def metric_words(metric: str) -> str:
    return _PHRASES.get(metric, metric.removesuffix("_s").replace("_", " "))


def ratio_words(ratio: float, interval: Interval | None) -> str:
    """`3.29 [3.10, 3.50] times`; without an interval the bare ratio."""
    half = (interval[1] - interval[0]) / 2 if interval else None
    span = f" [{format_ratio(interval[0], half)}, {format_ratio(interval[1], half)}]" if interval else ""
    return f"{format_ratio(ratio, half)}{span} times"


def compared_words(one: Compared) -> str:
    """Evidence of one comparison, with its contrast to look up."""
    named = f" (contrast {one.contrast})" if one.contrast else ""
    return (
        f"{one.slow['label']}, {one.slow_phase}: {format_time(one.slow_s)} against {format_time(one.fast_s)} of "
        f"{one.fast['label']}, {one.fast_phase}: {ratio_words(one.ratio, one.interval)}{named}"
    )


def sizes(cells: Iterable[Cell], name: str = "message_bytes") -> str:
    """`1 MiB`, or `64 KiB to 16 MiB`; empty where no cell says it."""
    found = sorted({int(c["parameters"][name]) for c in cells if str(c["parameters"].get(name, "")).isdecimal()})
    if not found:
        return ""
    ends = dict.fromkeys((found[0], found[-1]))
    return " to ".join(format_bytes(one) for one in ends)


def memory(cells: Iterable[Cell]) -> str:
    """Kinds of memory of some cells, as their parameter says: `host`, `device:host`."""
    return " and ".join(dict.fromkeys(str(cell["parameters"].get("memory", _default(cell))) for cell in cells))


def gpus(cells: Iterable[Cell]) -> str:
    """`within one GPU`, `between GPUs 0 and 1`; empty where memory is not a GPU's, or each rank took its own."""
    found = dict.fromkeys(_gpus(str(cell["parameters"].get("device", "auto"))) for cell in cells if is_device(cell))
    return " and ".join(one for one in found if one)


def is_device(cell: Cell) -> bool:
    """Whether the sender's buffer is GPU memory."""
    return memory([cell]).split(":")[0] in _DEVICE


def _gpus(device: str) -> str:
    sides = device.split(":")
    if not all(side.isdecimal() for side in sides):
        return ""
    return "within one GPU" if len(set(sides)) == 1 else f"between GPUs {' and '.join(sides)}"


def _default(cell: Cell) -> str:
    return "device" if cell["experiment"] == "ipc" else "host"


def coefficient_words(one: Coefficient) -> str:
    """`1.73 us [1.70, 1.76] for each 4 KiB page`; bytes are told by the MiB."""
    scale = _MIB if one.unit == "s per byte" else 1
    per = one.unit.removeprefix("s per ") if one.unit != "s" else ""
    each = f" for each {'MiB' if scale > 1 else per}" if per else _when(one.name)
    value = one.value * scale
    if one.interval is None:
        return f"{'at most ' if one.name.endswith(' at most') else ''}{format_time(value)}{each}"
    low, high = (end * scale for end in one.interval)
    half = (high - low) / 2
    return f"{format_time(value, half)} [{format_time(low, half)}, {format_time(high, half)}]{each}"


def _when(name: str) -> str:
    """Of a constant: ` at 64 MiB` where each length has its own."""
    _, at, length = name.partition(" at ")
    return f" at {length}" if at else " in any case"


def cost_words(law: LawFound) -> str:
    """What a law charges for, in the middle of a sentence: its terms without the constants, where it has any other."""
    terms = [one for one in law.coefficients if one.unit != "s"] or list(law.coefficients)
    return listed([coefficient_words(one) for one in terms])


def law_words(law: LawFound) -> str:
    """One line: the law, what each term costs, and where its limits lie; or why there is none."""
    if law.name is None:
        return f"no law: {law.refused}"
    terms = ", ".join(coefficient_words(one) for one in law.coefficients)
    limits = "; ".join(f"{b.covariate} above {_number(b.above)} up to {_number(b.up_to)}" for b in law.brackets)
    return f"{law.name}: {terms}" + (f"; limits: {limits}" if limits else "")


def _number(value: float) -> str:
    return format_bytes(int(value)) if value >= 1024 and value == int(value) else f"{value:g}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))
