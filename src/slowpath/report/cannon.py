# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm: advice, curves over n and over ranks, parts of the time and timelines, for page and terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.results import Results
from slowpath.core.study_results import (
    CannonBest,
    CannonBlas,
    CannonComputation,
    CannonDistribution,
    CannonGroup,
    CannonKernels,
    CannonPoint,
    CannonScaling,
    CannonTimeline,
    CriticalN,
    ScalingPoint,
    Value,
)
from slowpath.core.units import listed
from slowpath.experiments.cannon.runs import YARDSTICKS
from slowpath.report import format as fmt
from slowpath.report.figure import (
    MOST_SERIES,
    Axis,
    Band,
    Block,
    Cell,
    Facts,
    Figure,
    Fold,
    Group,
    Heading,
    Mark,
    Plot,
    Point,
    Quantity,
    Row,
    Rows,
    Section,
    Series,
    Table,
    Text,
    grouped,
    numbers,
)

# ---- Names

# Panels of curves: variants that communicate alike.
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("two-sided", ("sendrecv", "isend_wait", "isend_test", "isend_test_apart")),
    ("one-sided", ("put_fence", "put_fence_two_windows", "pscw", "put_flag", "get_from_home")),
    ("shared memory", ("shared_copy", "shared_direct")),
    ("yardsticks", ("dgemm_alone",)),
)
# In the order in which a bar stacks them. What a rank does meanwhile, and the style.
PARTS: dict[str, tuple[str, str]] = {
    "dgemm": ("multiplies", "bar computing"),
    "issue": ("starts communication", "bar s5"),
    "test": ("tests", "bar s5 faint"),
    "wait": ("waits for communication", "bar s2"),
    "copy": ("copies", "bar s3"),
    "synchronise": ("synchronises", "bar s4"),
    "skew": ("aligns", "bar s6"),
    "distribute": ("inputs out of rank 0 or a file", "bar s1"),
    "gather": ("product to rank 0 or into a file", "bar s1 faint"),
}  # `generate` lies before the multiplication
_SHARES = (("half", "half"), ("tenth", "a tenth"))


def variant_name(variant: str) -> str:
    """Return the name of a variant, such as `put fence two windows`."""
    return variant.replace("_", " ")


def _families(variants: Sequence[str], most: int) -> list[tuple[str, list[str]]]:
    """Return the variants by family, in panels of at most `most`, those without a family last."""
    known = {name for _, names in FAMILIES for name in names}
    groups = [(title, [name for name in names if name in variants]) for title, names in FAMILIES]
    groups.append(("others", [name for name in variants if name not in known]))
    return [(title, names[start : start + most]) for title, names in groups for start in range(0, len(names), most)]


def points(group: CannonGroup, variant: str) -> list[CannonPoint]:
    """Return the measured points of a variant by n."""
    measured = next((candidate.points for candidate in group.variants if candidate.variant == variant), [])
    return sorted(measured, key=lambda point: point.n)


# ---- Curves over n

_ORDER = "order n of the matrices"
_Of = Callable[[CannonPoint], tuple[Value | None, str | None]]


@dataclass(frozen=True, slots=True)
class _Share:
    """A kind of panel.  Args: level: line to compare with.  of: value at a point, and why there is none."""

    title: str
    y_title: str
    unit: str
    of: _Of
    level: float | None = None
    caption: str = ""
    with_reference: bool = False


def _communication(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.exposed, None


def _computation(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.parts.get("dgemm"), None


def _shares(reference: str, ceiling: str) -> list[_Share]:
    """Return the kinds of panels, absolute times first. The reference stands in those of absolute times and shares."""
    exposed = "exposed: the whole less the local multiplications, mean over ranks"
    return [
        _Share("Time of a multiplication", "time of one multiplication", "s", lambda p: (p.multiply_s, None),
               with_reference=True),
        _Share("Communication", "communication time", "s", _communication, None, exposed, True),
        _Share("Computation", "time of the local multiplications", "s", _computation, None, "mean over ranks", True),
        _Share(f"Speed-up over {reference}", f"speed-up over {reference}", "×",
               lambda p: (p.speed_up, p.speed_up_reason), 1.0),
        _Share("Exposed share of the time", "exposed share of the time", "%",
               lambda p: (p.exposed_ratio, p.exposed_ratio_reason), with_reference=True),
        _Share(f"Time over that of {ceiling}", f"time over that of {ceiling}", "×",
               lambda p: (p.over_compute, p.over_compute_reason), 1.0),
    ]  # fmt: skip


def curve_figures(group: CannonGroup) -> list[Figure]:
    """Return the panels of a group, or none for fewer than two orders."""
    if len(group.n) < 2:
        return []
    figures: list[Figure | None] = [_critical_figure(group), _distribution_figure(group)]
    shares = _shares(variant_name(group.reference), variant_name(group.ceiling))
    competing = [variant.variant for variant in group.variants
                 if variant.variant not in (group.reference, group.ceiling)]  # fmt: skip
    for share in shares:
        for family, names in _families(competing, MOST_SERIES - share.with_reference):
            shown = [group.reference, *names] if share.with_reference else names
            series = [_curve(variant_name(name), group, name, share.of) for name in shown]
            # All numbers of a family stand once, under its first panel.
            table = _family_numbers(group, shown, shares) if share is shares[0] else None
            y = Axis(share.y_title, share.unit, least=1.3)
            title = f"{share.title}, {family}"
            figures.append(_over_n(title, share.caption, y, series, table=table, level=share.level) if names else None)
    return [figure for figure in figures if figure]


def _curve(label: str, group: CannonGroup, variant: str, of: _Of) -> Series:
    values = [(point.n, of(point)[0]) for point in points(group, variant)]
    return Series(label, [Point(n, value.value, value.interval) for n, value in values if value])


def _over_n(
    title: str,
    caption: str,
    y: Axis,
    series: Sequence[Series],
    bands: Sequence[Band] = (),
    table: Table | None = None,
    level: float | None = None,
    x_title: str = _ORDER,
) -> Plot | None:
    """Return a panel over n or ranks, or None without points."""
    shown = [curve for curve in series if curve.points]
    ticks = sorted({point.x for curve in shown for point in curve.points})
    x = Axis(x_title, "", ticks=ticks)
    return Plot(title, caption, x, y, shown, bands, level, table) if shown else None


def _critical_figure(group: CannonGroup) -> Plot | None:
    """Return computation and communication of the reference, and where communication becomes the smaller part."""
    name, parts = group.reference, (_computation, _communication)
    series = [
        _curve(words, group, name, of) for words, of in zip(("multiplying", "everything else"), parts, strict=True)
    ]
    bands, notes = [], []
    for key, words in (("half", "1/2 exposed"), ("tenth", "1/10")):
        critical = group.critical_n[key]
        if critical.n is None:
            notes.append(f"{words}: {fmt.MISSING} {critical.reason}")
            continue
        bands.append(Band(critical.n, critical.n, words))
        bands += [Band(*critical.interval)] if critical.interval else []
        shown = fmt.with_kind(fmt.quantity_interval(critical.n, "", critical.interval), critical.interval_kind)
        notes.append(f"{words} at n = {fmt.quantity(critical.n, '', critical.interval)}, {shown}")
    rows: list[list[Cell]] = [
        [str(point.n), *(Quantity.of(of(point)[0]) for of in parts)] for point in points(group, name)
    ]
    table = numbers(["n", "Multiplying", "Everything else"], rows)
    title = f"Compute and communication of {variant_name(name)}"
    return _over_n(title, "; ".join(notes), Axis("time, mean over ranks", least=1.3), series, bands, table)


def _distribution_figure(group: CannonGroup) -> Plot | None:
    """Return the cost of distributing inputs and collecting the product, next to the multiplication."""
    moved = [variant.variant for variant in group.variants
             if any({"distribute", "gather"} & point.parts_s.keys() for point in variant.points)]  # fmt: skip
    if not moved:
        return None
    name = group.reference if group.reference in moved else moved[0]
    series = [
        Series(words, [Point(p.n, p.parts_s[part]) for p in points(group, name) if p.parts_s.get(part)])
        for words, part in (("multiplying", "dgemm"), ("inputs to the ranks", "distribute"), ("product back", "gather"))
    ]
    rows = [
        [str(p.n), *(fmt.time(p.parts_s.get(part)) for part in ("distribute", "gather", "dgemm")),
         fmt.percent(p.moved_ratio)]
        for p in points(group, name)
    ]  # fmt: skip
    table = numbers(["n", "Inputs to the ranks", "Product back", "Multiplying", "Both over multiplying"], rows)
    caption = f"{fmt.plural(group.ranks, 'rank')}, mean over ranks, of {variant_name(name)}"
    y = Axis("time, mean over ranks", least=1.3)
    return _over_n("Distributing and gathering next to the multiplication", caption, y, series, table=table)


def _family_numbers(group: CannonGroup, names: Sequence[str], shares: Sequence[_Share]) -> Table:
    """Return every value of these variants with its interval, or why it is missing."""
    rows: list[list[Cell]] = [
        [variant_name(name), str(point.n), *(_quantity(*share.of(point), share.unit) for share in shares)]
        for name in names
        for point in points(group, name)
    ]
    return numbers(["Variant", "n", *(share.title for share in shares)], rows)


def _quantity(value: Value | None, reason: str | None, unit: str) -> Quantity:
    return Quantity.of(value, unit, reason)


# ---- Over the number of ranks

_SCALING_HEAD = ["Style", "Ranks", "n", "Time", "Speed-up", "Efficiency"]


def scaling_figures(scalings: Sequence[CannonScaling]) -> list[Figure]:
    """Return two panels for each n (strong) or block (weak): time, and efficiency if ranks have their own cores."""
    figures: list[Figure | None] = []
    for (title, where), curves in grouped(scalings, lambda curve: (_title(curve), _where(curve, scalings))).items():
        for start in range(0, len(curves), MOST_SERIES):
            some = curves[start : start + MOST_SERIES]
            over = [point.ranks for curve in some for point in curve.points if point.oversubscribed]
            bands = [Band(min(over), min(over), "oversubscribed from here")] if over else []
            times = [_ranks_curve(curve, lambda point: point.multiply_s) for curve in some]
            shares = [_ranks_curve(curve, lambda point: point.efficiency) for curve in some]
            y = Axis("time of one multiplication", least=1.3)
            figures.append(_over_n(title, where, y, times, bands, _scaling_table(some), x_title="ranks"))
            shares = [curve for curve in shares if len(curve.points) > 1]
            y = Axis("efficiency of a rank", "%", least=1.3)
            figures.append(_over_n(f"{title}: efficiency", where, y, shares, level=1.0, x_title="ranks"))
    return [figure for figure in figures if figure]


def _ranks_curve(scaling: CannonScaling, of: Callable[[ScalingPoint], Value | None]) -> Series:
    values = [(point.ranks, of(point)) for point in scaling.points]
    return Series(variant_name(scaling.variant), [Point(x, v.value, v.interval) for x, v in values if v])


def scaling_note(scalings: Sequence[CannonScaling]) -> str:
    """Return for which numbers of ranks nothing is claimed."""
    over = sorted({point.ranks for curve in scalings for point in curve.points if point.oversubscribed})
    return f"No efficiency for {listed([str(count) for count in over])} ranks: they share cores." if over else ""


def _title(scaling: CannonScaling) -> str:
    if scaling.kind == "strong":
        return f"Strong scaling, n = {scaling.n}"
    return f"Weak scaling, blocks of {scaling.block}"


def _where(scaling: CannonScaling, scalings: Sequence[CannonScaling]) -> str:
    """Return how a curve differs from others of the same title: MPI, environment, placement, varying parameters."""
    about = ("mpi", "environment", "placement")
    words = [str(getattr(scaling, name)) for name in about if len({getattr(c, name) for c in scalings}) > 1]
    names = [name for name in scaling.parameters if len({c.parameters.get(name) for c in scalings}) > 1]
    return ", ".join(words + [f"{name}={scaling.parameters[name]}" for name in names])


def _scaling_table(curves: Sequence[CannonScaling]) -> Table:
    rows: list[list[Cell]] = [
        [
            variant_name(curve.variant),
            f"{p.ranks}, oversubscribed" if p.oversubscribed else str(p.ranks),
            str(p.n),
            Quantity.of(p.multiply_s),
            _quantity(p.speed_up, p.reason, "×"),
            _quantity(p.efficiency, p.reason, "%"),
        ]
        for curve in curves
        for p in curve.points
    ]
    return numbers(_SCALING_HEAD, rows)


def scaling_lines(scalings: Sequence[CannonScaling]) -> list[str]:
    """Return a line for each curve."""
    lines = [f"Cannon's algorithm over the number of ranks. {scaling_note(scalings)}".rstrip()] if scalings else []
    for curve in scalings:
        each = [f"{p.ranks}: {Quantity.of(p.multiply_s).text}{_claimed(p, curve.base_ranks)}" for p in curve.points]
        lines.append(f"  {_title(curve)}, {curve.variant}: {', '.join(each)}")
    return lines


def scaling_answer(scalings: Sequence[CannonScaling]) -> list[str]:
    """Return the range of the styles' efficiencies on most ranks with a core each, at the largest n; or []."""
    known = [
        (point.ranks, point.n, point.efficiency, curve)
        for curve in scalings
        for point in curve.points
        if curve.kind == "strong" and curve.variant not in YARDSTICKS
        if point.efficiency and point.ranks > curve.base_ranks and not point.oversubscribed
    ]
    if not known:
        return []
    most = max((ranks, n) for ranks, n, *_ in known)
    shown = sorted((entry for entry in known if entry[:2] == most), key=lambda entry: entry[2].value)
    ends = dict.fromkeys(f"{_share_words(share)} ({curve.variant})" for *_, share, curve in (shown[0], shown[-1]))
    return [f"{_title(shown[0][3])}, {most[0]} ranks: efficiency {' to '.join(ends)}."]


def _claimed(point: ScalingPoint, base_ranks: int) -> str:
    """Return the efficiency with its interval and reference, or why there is none."""
    if point.oversubscribed:
        return " (oversubscribed)"
    if point.efficiency is None:
        return f" ({point.reason})"
    return "" if point.ranks == base_ranks else f" (efficiency {_share_words(point.efficiency)})"


def _share_words(share: Value) -> str:
    ends = share.interval
    shown = f"[{fmt.percent(ends[0])}, {fmt.percent(ends[1])}]" if ends else share.interval_kind
    return f"{fmt.percent(share.value)} {shown}"


# ---- Critical n, kernels, computation and clock

_CRITICAL_HEAD = ["Style", "Half exposed at n", "Against the reference", "A tenth exposed at n"]
_CRITICAL_HEAD += ["Against the reference"]


def critical_table(group: CannonGroup) -> Table:
    """Return from which n on less than half and a tenth of each style's time is exposed, and the moves."""
    rows = []
    for variant in group.variants:
        known = [variant.critical_n[key] for key, _ in _SHARES if key in variant.critical_n]
        words = [words for critical in known for words in (_n(critical), _moved(critical))]
        rows += [[variant_name(variant.variant), *words]] if known else []
    return Table("", _CRITICAL_HEAD, rows, "Where communication becomes the smaller part")


def critical_lines(group: CannonGroup) -> list[str]:
    """Return the critical n of the reference, then one line for each share with every other style's move."""
    lines = []
    for key, words in _SHARES:
        if (sentence := _exposes(group, key, words)) is not None:
            lines.append(f"  {sentence}")
        moves = [(v.variant, v.critical_n[key]) for v in group.variants if key in v.critical_n]
        known = [(name, critical) for name, critical in moves if critical.move and critical.move.word != "undecided"]
        if known:
            each = "; ".join(f"{name}: {_n(critical)}, {_moved(critical)}" for name, critical in known)
            lines.append(f"  The same n of the others: {each}.")
        undecided = [name for name, critical in moves if critical.move and critical.move.word == "undecided"]
        if group.critical_n[key].n is not None and undecided:
            lines.append(f"  Undecided against {group.reference}: {', '.join(undecided)}.")
    return lines


def _exposes(group: CannonGroup, key: str, words: str) -> str | None:
    own = group.critical_n[key]
    if own.n is None:
        return None
    shown = fmt.with_kind(fmt.quantity_interval(own.n, "", own.interval), own.interval_kind)
    return f"{group.reference} exposes less than {words} of its time from n = {own.n:.0f} on ({shown})."


def _n(critical: CriticalN) -> str:
    if critical.n is None:
        return f"{fmt.MISSING} {critical.reason}"
    return f"n = {Quantity(critical.n, '', critical.interval).words}"


def _moved(critical: CriticalN) -> str:
    """Return `stays`, or `moves higher by 1.4 [1.2, 1.6]`."""
    move = critical.move
    if move is None:
        return "the reference"
    moves = move.word in ("higher", "lower")
    if move.over is None:
        return f"moves {move.word}" if moves else f"undecided: {move.reason}"
    ratio = Quantity.of(move.over, "×").words
    return f"moves {move.word} by {ratio}" if moves else f"{move.word}: {ratio}"


def kernels_table(kernels: CannonKernels) -> Table:
    """Return computation time over compiler options at one n."""
    rows: list[list[Cell]] = [
        [kernel.kernel, Quantity.of(kernel.dgemm_s), _quantity(kernel.over_base, kernel.over_base_reason, "×")]
        for kernel in kernels.kernels
    ]
    return Table("", ["Kernel", "Computation", "Time over the base"], rows, _kernels_title(kernels))


def _kernels_title(kernels: CannonKernels) -> str:
    """Return `Computation over compiler options, n = 512`."""
    return f"Computation over compiler options, n = {kernels.n}, of {kernels.variant}, over {kernels.base}"


def kernel_lines(kernels: CannonKernels) -> list[str]:
    """Return computation time by compiler options in one line."""
    each = [f"{kernel.kernel} {Quantity.of(kernel.dgemm_s).words}" for kernel in kernels.kernels]
    return [f"{_kernels_title(kernels)}: {', '.join(each)}."]


def computation_table(group: CannonGroup) -> Table:
    """Return how computation varies between repetitions, and how that follows the clock."""
    head = ["Style", "n", "Spread of computation", "Spread of the clock", "Correlation", "Interval"]
    rows = []
    for computation in group.computation:
        ends = computation.interval
        spread = computation.clock_spread_ratio
        rows.append([
            variant_name(computation.variant),
            str(computation.n),
            fmt.percent(computation.spread_ratio, 2),
            f"{fmt.MISSING} {computation.reason}" if spread is None else fmt.percent(spread, 2),
            fmt.MISSING if computation.correlation is None else f"{computation.correlation:.2f}",
            f"[{ends[0]:.2f}, {ends[1]:.2f}], t 95 %" if ends else computation.reason or "",
        ])  # fmt: skip
    return Table("", head, rows, "Computation and the clock")


def clock_lines(group: CannonGroup) -> list[str]:
    """Return in one line how much computation varies, and what the clock explains of it."""
    if not group.computation:
        return []
    largest = max(computation.n for computation in group.computation)
    ordered = sorted((c for c in group.computation if c.n == largest), key=lambda c: c.spread_ratio)
    least, most = ordered[0], ordered[-1]
    ends = [
        f"{fmt.percent(clock.spread_ratio)} ({clock.variant})"
        for clock in ([least] if least is most else [least, most])
    ]
    varies = f"Computation at n = {largest} varies by {' to '.join(ends)} between repetitions"
    return [f"  {varies}; {_clock_words([c for c in group.computation if c.n == largest])}."]


def _clock_words(computations: Sequence[CannonComputation]) -> str:
    known = [computation for computation in computations if computation.interval is not None]
    if not known:
        return f"clock not compared: {computations[0].reason}"
    following = [computation for computation in known if computation.follows]
    if not following:
        return f"no style follows the clock ({len(known)} examined)"
    strongest = min(following, key=lambda computation: computation.correlation or 0.0)
    ends = strongest.interval or (0.0, 0.0)
    words = f"it follows the clock's frequency in {len(following)} of {len(known)} styles, most in {strongest.variant}"
    return f"{words} (correlation {strongest.correlation:.2f} [{ends[0]:.2f}, {ends[1]:.2f}])"


# ---- Parts of the time and timelines

_MOST_RANKS = 36  # rows of a picture
_MOST_INTERVALS = 6000  # of all timelines of a page, which is smaller than 1 MB


def shown_orders(group: CannonGroup) -> list[int]:
    """Return the largest order and one in the middle."""
    orders = sorted(group.n)
    return list(dict.fromkeys([orders[-1], orders[(len(orders) - 1) // 2]]))


def part_figure(group: CannonGroup, n: int) -> Rows:
    """Return where the time of each style goes at one n."""
    shown = [(v.variant, point) for v in group.variants for point in points(group, v.variant) if point.n == n]
    rows = []
    for variant, point in shown:
        whole, at, marks = Quantity.of(point.multiply_s), 0.0, []
        for part, (_, style) in PARTS.items():
            if part in point.parts_s:
                marks.append(Mark("bar", style.removeprefix("bar "), (at, at + point.parts_s[part])))
                at += point.parts_s[part]
        marks += [Mark("line", "plain", whole.interval)] if whole.interval else []
        marks += [Mark("tick", "", (whole.value or 0.0,))]
        notes = [(point.speed_up, "×", "speed-up {}"), (point.over_compute, "×", "{} the ceiling"),
                 (point.exposed_ratio, "%", "{} exposed")]  # fmt: skip
        note = ", ".join(words.format(Quantity.of(value, unit).text) for value, unit, words in notes if value)
        rows.append(Row(variant_name(variant), marks, whole.text, note, words=whole.words))
    axis = Axis("time, mean over ranks", log=False, ends=(0.0,))
    return Rows(f"Time by part, n = {n}", "", axis, rows, _parts_table(group, shown))


def _parts_table(group: CannonGroup, shown: Sequence[tuple[str, CannonPoint]]) -> Table:
    head = ["Variant", "Time", "Speed-up", "Over the ceiling", "Of cores alone", "Exposed"]
    head += [f"Hides of what {variant_name(group.reference)} exposes", "Rate", *PARTS]
    rows: list[list[Cell]] = [
        [
            variant_name(variant),
            Quantity.of(point.multiply_s),
            _quantity(point.speed_up, point.speed_up_reason, "×"),
            _quantity(point.over_compute, point.over_compute_reason, "×"),
            _quantity(point.of_cores, point.of_cores_reason, "%"),
            _quantity(point.exposed_ratio, point.exposed_ratio_reason, "%"),
            f"{fmt.MISSING} {point.hidden_ratio_reason}" if point.hidden_ratio is None
            else fmt.percent(point.hidden_ratio, 0),
            fmt.quantity(point.rate_flops_per_s.value / 1e9, "Gflop/s"),
            *(fmt.time(point.parts_s.get(part)) for part in PARTS),
        ]
        for variant, point in shown
    ]  # fmt: skip
    return numbers(head, rows)


def timelines(group: CannonGroup) -> tuple[list[CannonTimeline], list[CannonTimeline]]:
    """Return the timelines of the reference, the best and the best across nodes for the shown orders, and the others
    of the largest order.
    """
    by_key = {(timeline.variant, timeline.n): timeline for timeline in group.timelines}
    chosen = []
    for n in shown_orders(group):
        bests = (next((best.variant for best in some if best.n == n), None)
                 for some in (group.best, group.best_across_nodes))  # fmt: skip
        names = dict.fromkeys([group.reference, *bests])
        chosen += [by_key[name, n] for name in names if name and (name, n) in by_key]
    largest = shown_orders(group)[0]
    return chosen, [t for t in group.timelines if t.n == largest and all(t is not known for known in chosen)]


def timeline_figure(timeline: CannonTimeline, with_table: bool = True) -> Rows:
    """Return a row for each rank of one repetition. A tick marks when the rank came that this one waited for."""
    ranks = sorted({interval.rank for interval in timeline.intervals})
    caption = f"launch {timeline.launch}, repetition {timeline.repetition + 1}, {fmt.time(timeline.multiply_s)}"
    if timeline.clock_hz is not None:
        caption += f", the slowest rank at {fmt.quantity(timeline.clock_hz / 1e9, 'GHz')}"
    if not timeline.one_clock:
        caption += "; clocks not synchronised"
    too_many = f"{len(ranks)} ranks: use slowpath trace"
    why = timeline.reason or (too_many if len(ranks) > _MOST_RANKS else "")
    table = [[f"rank {rank}", *(fmt.time(_spent(timeline, rank, part)) for part in PARTS)] for rank in ranks]
    return Rows(
        f"{variant_name(timeline.variant)}, n = {timeline.n}",
        f"{caption}; {fmt.MISSING} {why}" if why else caption,
        Axis("time since the first rank began", log=False, ends=(0.0,)),
        [] if why else [_rank_row(timeline, rank) for rank in ranks],
        numbers(["Rank", *PARTS], table) if with_table else None,
        narrow=True,
        height=18,
    )


def _spent(timeline: CannonTimeline, rank: int, part: str) -> float:
    return float(sum(i.end_s - i.begin_s for i in timeline.intervals if (i.rank, i.part) == (rank, part)))


def _rank_row(timeline: CannonTimeline, rank: int) -> Row:
    marks = [
        Mark("bar", PARTS[i.part][1].removeprefix("bar "), (i.begin_s, i.end_s))
        for i in timeline.intervals
        if i.rank == rank and i.part in PARTS
    ]
    waits = [wait for wait in timeline.waits if wait.rank == rank]
    marks += [Mark("tick", "plain", [wait.until_s for wait in waits])] if waits else []
    longest = sorted(waits, key=lambda wait: wait.begin_s - wait.until_s)[:3]
    words = "; ".join(f"waited {fmt.time(w.until_s - w.begin_s)} for rank {w.last} in step {w.step}" for w in longest)
    return Row(f"rank {rank}", marks, words=words or "no long wait")


# ---- The section

_TIMELINES_LEAD = "A tick marks when the rank came that this one waited for."


def cannon_section(results: Results) -> Section | None:
    """Return the section, or None in a run without cells of the experiment cannon."""
    if results.cannon is None:
        return None
    over_ranks, answering = scaling_figures(results.cannon.scaling), _answering(results.cannon.groups)
    first: list[Block] = [*over_ranks[:1]]
    folded: list[Block] = []
    if over_ranks:
        note = Text(scaling_note(results.cannon.scaling), "sub")
        folded.append(Fold("Over the number of ranks", [note, Group("panels", over_ranks[1:])]))
    folded += [kernels_table(kernels) for kernels in results.cannon.kernels]
    room = _MOST_INTERVALS
    for group in results.cannon.groups:
        occurring = {part for variant in group.variants for point in variant.points for part in point.parts_s}
        key = [(style, f"{part}: {words}") for part, (words, style) in PARTS.items() if part in occurring]
        advice = group.advice or f"{fmt.MISSING} no advice: {group.advice_reason}"
        answer: list[Block] = [Heading(group.label), Text(advice, "advice"), _best_table(group)]
        curves = curve_figures(group)
        if group is answering:
            first = [*answer, *(first or curves[:1])]
        rest: list[Block] = [Facts(_facts(group))] if group is answering else [*answer[1:], Facts(_facts(group))]
        rest += [table for table in (critical_table(group), computation_table(group)) if table.rows]
        if left := [curve for curve in curves if curve not in first]:
            rest += [Heading("Over the order of the matrices"), Group("panels", left)]
        parts = [part_figure(group, n) for n in shown_orders(group)]
        rest += [Rows(f.title, f.caption, f.x, f.rows, f.table, key) for f in parts]
        added, room = _timeline_blocks(group, key, room)
        folded.append(Fold(f"Curves, parts and timelines: {group.label}", [*rest, *added]))
    return Section("cannon", "Cannon's algorithm", "Cannon", [*first, *folded])


def _answering(groups: Sequence[CannonGroup]) -> CannonGroup:
    """Return the first group that has an advice; the first of all where none has."""
    return next((group for group in groups if group.advice), groups[0])


def _timeline_blocks(group: CannonGroup, key: Sequence[tuple[str, str]], room: int) -> tuple[list[Block], int]:
    """Return as many timelines as the page has room for, the chosen ones first, and the room that is left."""
    chosen, others = timelines(group)
    shown: list[list[Rows]] = [[], []]
    left_out = 0
    for place, some in enumerate((chosen, others)):
        for timeline in some:
            if len(timeline.intervals) <= room:
                room -= len(timeline.intervals)
                figure = timeline_figure(timeline, with_table=place == 0)
                shown[place].append(figure)
            else:
                left_out += 1
    if not chosen and not others:
        return [], room
    blocks: list[Block] = [Heading("Timelines"), Text(_TIMELINES_LEAD, "sub")]
    blocks += [Rows(f.title, f.caption, f.x, f.rows, f.table, key if f is shown[0][0] else (), narrow=True, height=18)
               for f in shown[0]]  # fmt: skip
    blocks += [Fold(f"Timelines of the other {len(shown[1])} styles", shown[1])] if shown[1] else []
    return [*blocks, *([Text(f"{left_out} more: slowpath trace", "sub")] if left_out else [])], room


def _facts(group: CannonGroup) -> list[tuple[str, str]]:
    grid, blas, why = group.grid, group.blas, group.setup_reason or "not recorded"
    grid_words = f"{grid.rows} × {grid.columns}, {fmt.plural(grid.steps, 'step')}" if grid else f"{fmt.MISSING} {why}"
    own = "one for each rank"
    facts = [("Ranks", str(group.ranks)), ("Grid", grid_words)]
    facts.append(("BLAS", _blas(blas) if blas else f"{fmt.MISSING} {why}"))
    facts.append(("Cores", own if group.ranks_have_cores else f"shared: {group.ranks_have_cores_reason}"))
    facts += [("Repetitions", _disturbed(group)), ("Clock", _clock(group))]
    last = ((variant.variant, point) for variant in group.variants for point in variant.points[-1:])
    return facts + [(variant_name(name), point.remark) for name, point in last if point.remark]


def _blas(blas: CannonBlas) -> str:
    threads = blas.threads and fmt.plural(blas.threads, "thread")
    known = [blas.name, blas.core and f"for {blas.core}", threads, blas.compiled_for]
    return ", ".join(str(word) for word in known if word)


def _clock(group: CannonGroup) -> str:
    clock = group.clock
    if clock is None:
        return f"{fmt.MISSING} {group.clock_reason}"
    lowest, median, highest = (
        fmt.quantity(hz / 1e9, "GHz") for hz in (clock.lowest_hz, clock.median_hz, clock.highest_hz)
    )
    how = "by a loop of counted additions" if clock.source == "counted loop" else f"as {clock.source} reports"
    return f"{median} after a repetition, from {lowest} to {highest}, {how}"


def _disturbed(group: CannonGroup) -> str:
    """Return how many repetitions were disturbed. They are counted, never dropped."""
    repetitions = group.repetitions
    if repetitions is None:
        return f"{fmt.MISSING} not reported"
    return f"{repetitions.all - repetitions.clean} of {repetitions.all} disturbed"


def _best_table(group: CannonGroup) -> Table:
    across: Mapping[int, CannonBest] = {best.n: best for best in group.best_across_nodes}
    rows = [[str(best.n), *_winner(best), *_winner(across.get(best.n))] for best in group.best]
    head = ["n", "Best", "Tied with it", "Best across nodes", "Tied with it"]
    return Table("The best variant for each n", head, rows, wide=True)


def _winner(best: CannonBest | None) -> tuple[str, str]:
    if best is None:
        return f"{fmt.MISSING} not compared", ""
    if best.variant is None:
        return f"{fmt.MISSING} {best.reason}", ""
    return variant_name(best.variant), ", ".join(variant_name(name) for name in best.same) or "none"


# ---- Lines for a terminal

_TEXT_HEAD = ("variant", "time", "speed-up", "over ceiling", "of its cores", "exposed")
_SOURCE_WORDS = {"root": "through rank 0", "file": "through files"}


def cannon_lines(results: Results) -> list[str]:
    """Return lines, not wrapped, [] in a run without cells of the experiment cannon."""
    cannon = results.cannon
    if cannon is None:
        return []
    lines = [line for group in cannon.groups for line in _group_lines(group)]
    lines += [line for kernels in cannon.kernels for line in kernel_lines(kernels)]
    return lines + scaling_lines(cannon.scaling) + distribution_lines(results)


def cannon_answers(results: Results) -> list[str]:
    """Return which style to take, from which n on the reference exposes little, and how the best style scales."""
    if results.cannon is None:
        return []
    groups = results.cannon.groups
    group = _answering(groups)
    where = f" On {fmt.plural(group.ranks, 'rank')}:" if len({each.ranks for each in groups}) > 1 else ""
    style = group.advice or f"No advice: {group.advice_reason}."
    exposed = [sentence for key, words in _SHARES if (sentence := _exposes(group, key, words))]  # smaller shares later
    return [f"{where} {style}".strip(), *exposed[-1:], *scaling_answer(results.cannon.scaling)]


def cannon_table(results: Results) -> list[str]:
    """Return the best style for each n of the answering group, and its time next to that of the reference."""
    if results.cannon is None:
        return []
    group = _answering(results.cannon.groups)
    rows: list[tuple[str, ...]] = [("n", "fastest", "time", f"{group.reference}", "speed-up")]
    for best in group.best[-8:]:
        of = {name: next((point for point in points(group, name) if point.n == best.n), None)
              for name in (best.variant or "", group.reference)}  # fmt: skip
        fastest, reference = of.values() if len(of) > 1 else (of[group.reference],) * 2
        times = [_quantity(point.multiply_s if point else None, "", "s").text for point in (fastest, reference)]
        gain = _quantity(fastest.speed_up if fastest else None, "", "×").text
        rows.append((str(best.n), best.variant or f"none: {best.reason}", *times, gain))
    return fmt.aligned(rows, len(rows[0])) if group.best else []


def distribution_lines(results: Results) -> list[str]:
    """Return a line for each n with the cost of inputs from rank 0 or a file."""
    return [
        f"Inputs and product {_SOURCE_WORDS.get(moved.source, moved.source)}: {_distributed(moved)}"
        for moved in (results.cannon.distribution if results.cannon else [])
    ]


def _distributed(moved: CannonDistribution) -> str:
    share = f"{fmt.percent(moved.moved_ratio)} of the multiplication, " if moved.moved_ratio is not None else ""
    over = _quantity(moved.over_in_place, moved.over_in_place_reason, "×")
    where = f"{moved.variant}, n = {moved.n}, {fmt.plural(moved.ranks, 'rank')}"
    return f"{share}{over.text} the time ({over.note}); {where}."


def _group_lines(group: CannonGroup) -> list[str]:
    largest, ranks = max(group.n), fmt.plural(group.ranks, "rank")
    lines = [f"Cannon's algorithm, {group.label}{'' if group.label.endswith(ranks) else f', {ranks}'}:"]
    lines.append("  " + (group.advice or f"No advice: {group.advice_reason}"))
    lines += critical_lines(group) + clock_lines(group)
    table: list[tuple[str, ...]] = [_TEXT_HEAD]
    for variant in group.variants:
        for point in points(group, variant.variant):
            if point.n == largest:
                values = ((point.multiply_s, "s"), (point.speed_up, "×"), (point.over_compute, "×"),
                          (point.of_cores, "%"), (point.exposed_ratio, "%"))  # fmt: skip
                table.append((variant.variant, *(_quantity(value, "", unit).text for value, unit in values)))
    lines.append(f"  At n = {largest}, speed-up over {group.reference}, ceiling {group.ceiling}:")
    return lines + [f"    {line}" for line in fmt.aligned(table, len(_TEXT_HEAD))]
