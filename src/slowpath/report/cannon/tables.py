# SPDX-License-Identifier: Apache-2.0
"""Answers of Cannon's study as tables and lines: critical n and its moves, compiler options, computation and clock."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import CannonComputation, CannonGroup, CannonKernels, CriticalN
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import value_words
from slowpath.report.cannon.words import variant_name
from slowpath.report.figure import FigureTable

SHARES = (("half", "half"), ("tenth", "a tenth"))
CRITICAL_HEAD = ["Style", "Half exposed at n", "Against the reference", "A tenth exposed at n", "Against the reference"]
COMPUTATION_HEAD = ["Style", "n", "Spread of computation", "Spread of the clock", "Correlation", "Interval"]
KERNELS_HEAD = ["Kernel", "Computation", "Interval", "Time over the base", "Interval"]


def critical_table(group: CannonGroup) -> FigureTable:
    """Return from which n on less than half and a tenth of each style's time is exposed, and the moves."""
    rows = []
    for variant in group.variants:
        found = [variant.critical_n[key] for key, _ in SHARES if key in variant.critical_n]
        if found:
            rows.append(
                [
                    variant_name(variant.variant),
                    *(words for critical_n in found for words in (_n(critical_n), _moved(critical_n))),
                ]
            )
    return FigureTable(CRITICAL_HEAD, rows)


def critical_lines(group: CannonGroup) -> list[str]:
    """Return the critical n of the reference, then one line for each share with every other style's move."""
    lines = []
    for key, words in SHARES:
        own = group.critical_n[key]
        if (sentence := _exposes(group, key, words)) is not None:
            lines.append(f"  {sentence}")
        elif key == "half":
            lines.append(
                f"  Where communication becomes the smaller part of {group.reference} is not known: {own.reason}."
            )
        moves = [(v.variant, v.critical_n[key]) for v in group.variants if key in v.critical_n]
        known = [(name, one) for name, one in moves if one.move and one.move.word != "undecided"]
        if known:
            each = "; ".join(f"{name}: {_n(one)}, {_moved(one)}" for name, one in known)
            lines.append(f"  The same n of the others: {each}.")
        undecided = [name for name, one in moves if one.move and one.move.word == "undecided"]
        if own.n is not None and undecided:
            lines.append(f"  Undecided against {group.reference}: {', '.join(undecided)}.")
    return lines


def critical_answer(group: CannonGroup) -> list[str]:
    """Return from which n on the reference exposes the smallest share that is known, or []."""
    found = [sentence for key, words in SHARES if (sentence := _exposes(group, key, words))]
    return found[-1:]


def _exposes(group: CannonGroup, key: str, words: str) -> str | None:
    own = group.critical_n[key]
    if own.n is None:
        return None
    shown = fmt.with_kind(fmt.quantity_interval(own.n, "", own.interval), own.interval_kind)
    return f"{group.reference} exposes less than {words} of its time from n = {own.n:.0f} on ({shown})."


def _n(critical: CriticalN) -> str:
    if critical.n is None:
        return f"{fmt.MISSING} {critical.reason}"
    ends = fmt.quantity_interval(critical.n, "", critical.interval)
    return f"n = {fmt.quantity(critical.n, '', critical.interval)}" + (f" {ends}" if ends else "")


def _moved(critical: CriticalN) -> str:
    """Return `stays`, or `moves higher by 1.4 [1.2, 1.6]`."""
    move = critical.move
    if move is None:
        return "the reference"
    if move.over is None:
        return f"moves {move.word}" if move.word in ("higher", "lower") else f"undecided: {move.reason}"
    ends = fmt.ratio_interval(move.over.value, move.over.interval)
    ratio = fmt.ratio(move.over.value, move.over.interval) + (f" {ends}" if ends else "")
    if move.word in ("higher", "lower"):
        return f"moves {move.word} by {ratio}"
    return f"{move.word}: {ratio}"


def kernels_table(found: CannonKernels) -> FigureTable:
    """Return computation time over compiler options at one n."""
    rows = [
        [
            kernel.kernel,
            *value_words(kernel.dgemm_s, "s", None),
            *value_words(kernel.over_base, "×", kernel.over_base_reason),
        ]
        for kernel in found.kernels
    ]
    return FigureTable(list(KERNELS_HEAD), rows)


def kernels_title(found: CannonKernels) -> str:
    """Return `Computation over compiler options, n = 512`."""
    return f"Computation over compiler options, n = {found.n}, of {found.variant}, over {found.base}"


def kernel_lines(found: CannonKernels) -> list[str]:
    """Return computation time by compiler options in one line."""
    each = []
    for kernel in found.kernels:
        ends = fmt.quantity_interval(kernel.dgemm_s.value, "s", kernel.dgemm_s.interval)
        each.append(f"{kernel.kernel} {value_words(kernel.dgemm_s, 's', None)[0]}" + (f" {ends}" if ends else ""))
    return [f"{kernels_title(found)}: {', '.join(each)}."]


def computation_table(group: CannonGroup) -> FigureTable:
    """Return how computation varies between repetitions, and how that follows the clock."""
    return FigureTable(list(COMPUTATION_HEAD), [_computation_row(computation) for computation in group.computation])


def _computation_row(found: CannonComputation) -> list[str]:
    clock = f"{fmt.MISSING} {found.reason}"
    ends = f"[{found.interval[0]:.2f}, {found.interval[1]:.2f}], t 95 %" if found.interval else found.reason or ""
    return [
        variant_name(found.variant),
        str(found.n),
        fmt.percent(found.spread_ratio, 2),
        clock if found.clock_spread_ratio is None else fmt.percent(found.clock_spread_ratio, 2),
        fmt.MISSING if found.correlation is None else f"{found.correlation:.2f}",
        ends,
    ]


def clock_lines(group: CannonGroup) -> list[str]:
    """Return in one line how much computation varies, and what the clock explains of it."""
    if not group.computation:
        return []
    largest = max(computation.n for computation in group.computation)
    found = [computation for computation in group.computation if computation.n == largest]
    least, most = (choose(found, key=lambda one: one.spread_ratio) for choose in (min, max))
    varies = f"Computation at n = {largest} varies by {fmt.percent(least.spread_ratio)} ({least.variant})"
    varies += f" to {fmt.percent(most.spread_ratio)} ({most.variant}) between repetitions"
    return [f"  {varies}; {_clock_words(found)}."]


def _clock_words(found: Sequence[CannonComputation]) -> str:
    known = [computation for computation in found if computation.interval is not None]
    if not known:
        return f"whether the clock explains that is not known: {found[0].reason}"
    following = [computation for computation in known if computation.follows]
    if not following:
        return f"no style shows a relation to the clock's frequency ({len(known)} examined)"
    strongest = min(following, key=lambda one: one.correlation or 0.0)
    ends = strongest.interval or (0.0, 0.0)
    words = f"it follows the clock's frequency in {len(following)} of {len(known)} styles, most in {strongest.variant}"
    return f"{words} (correlation {strongest.correlation:.2f} [{ends[0]:.2f}, {ends[1]:.2f}])"
