# SPDX-License-Identifier: Apache-2.0
"""Curves of Cannon's algorithm over n and over ranks: times, speed-up, exposed share, efficiency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cannon_results import CannonGroup, CannonPoint, CannonScaling, ScalingPoint, Value
from slowpath.core.units import listed
from slowpath.experiments.cannon.runs import YARDSTICKS
from slowpath.report import format as fmt
from slowpath.report.cannon.words import families, points, variant_name
from slowpath.report.figure import Figure, FigureTable
from slowpath.report.svg import over_n
from slowpath.report.svg.over_n import RANKS, OrderAxes, OrderMark, OrderSeries

FEWEST_ORDERS = 2
Get = Callable[[CannonPoint], float | None]


@dataclass(frozen=True, slots=True)
class _Share:
    """A kind of panel.

    Args: level: line to compare with. of: value at a point, and why there is none.
    """

    title: str
    axes: OrderAxes
    level: float | None
    of: Callable[[CannonPoint], tuple[Value | None, str | None]]
    where: str = ""
    with_reference: bool = False


def _speed_up(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.speed_up, point.speed_up_reason


def _exposed(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.exposed_ratio, point.exposed_ratio_reason


def _whole(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.multiply_s, None


def _communication(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.exposed or _bare(point.exposed_s, point), "it has no samples"


def _computation(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.parts.get("dgemm") or _bare(point.parts_s.get("dgemm"), point), "it has no samples"


def _bare(value_s: float | None, point: CannonPoint) -> Value | None:
    """Return a time from results that were written before times had intervals."""
    if value_s is None or value_s <= 0:
        return None
    launches = point.multiply_s.launches
    kind = "these results are older; rebuild them with: slowpath report RUN"
    return Value(value=value_s, interval=None, interval_kind=kind, level=None, launches=launches)


def _over_compute(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.over_compute, point.over_compute_reason


def curve_figures(group: CannonGroup) -> list[Figure]:
    """Return the panels of a group, or none for fewer than FEWEST_ORDERS orders."""
    if len(group.n) < FEWEST_ORDERS:
        return []
    made = [_critical(group), _distribution(group)]
    # The reference stands in each panel of absolute times and of exposed shares, for comparison.
    for share in _shares(variant_name(group.reference), variant_name(group.ceiling)):
        most = over_n.MOST - share.with_reference
        made += [_family(group, names, family, share) for family, names in families(_competing(group), most) if names]
    return [figure for figure in made if figure]


def _shares(reference: str, ceiling: str) -> list[_Share]:
    """Return the kinds of panels, absolute times first."""
    return [
        _Share("Time of a multiplication", OrderAxes("time of one multiplication", "s"), None, _whole,
               with_reference=True),
        _Share("Communication", OrderAxes("time that is not multiplying", "s"), None, _communication,
               "exposed: the whole less the local multiplications, mean over ranks", True),
        _Share("Computation", OrderAxes("time of the local multiplications", "s"), None, _computation,
               "mean over ranks", True),
        _Share(f"Speed-up over {reference}", OrderAxes(f"speed-up over {reference}", "×"), 1.0, _speed_up,
               "above 1, it is faster"),
        _Share("Exposed share of the time", OrderAxes("exposed share of the time", "%"), None, _exposed,
               with_reference=True),
        _Share(f"Time over that of {ceiling}", OrderAxes(f"time over that of {ceiling}", "×"), 1.0, _over_compute),
    ]  # fmt: skip


def _competing(group: CannonGroup) -> list[str]:
    return [variant.variant for variant in group.variants if variant.variant not in (group.reference, group.ceiling)]


def _seconds(group: CannonGroup, variant: str, get: Get) -> tuple[tuple[int, float, None], ...]:
    found = [(point.n, get(point)) for point in points(group, variant)]
    return tuple((n, value, None) for n, value in found if value is not None)


def _with_interval(
    group: CannonGroup, variant: str, of: Callable[[CannonPoint], tuple[Value | None, str | None]]
) -> tuple[tuple[int, float, tuple[float, float] | None], ...]:
    found = [(point.n, of(point)[0]) for point in points(group, variant)]
    return tuple((n, value.value, value.interval) for n, value in found if value is not None)


def _part(name: str) -> Get:
    return lambda point: point.parts_s.get(name)


def _critical(group: CannonGroup) -> Figure | None:
    """Return computation and communication of the reference, and where communication becomes the smaller part."""
    name = group.reference
    series = [
        OrderSeries("multiplying", _with_interval(group, name, _computation)),
        OrderSeries("everything else", _with_interval(group, name, _communication)),
    ]
    marks, notes = [], []
    for key, words in (("half", "1/2 exposed"), ("tenth", "1/10")):
        critical = group.critical_n[key]
        if critical.n is None:
            notes.append(f"{words}: {fmt.MISSING} {critical.reason}")
            continue
        ends = critical.interval
        marks.append(OrderMark(words, critical.n, ends))
        shown = fmt.with_kind(fmt.quantity_interval(critical.n, "", ends), critical.interval_kind)
        notes.append(f"{words} at n = {fmt.quantity(critical.n, '', ends)}, {shown}")
    title = f"Compute and communication of {variant_name(name)}"
    picture = over_n.chart(series, OrderAxes("time, mean over ranks", "s"), title, marks)
    parts = (_computation, _communication)
    rows = [[str(point.n), *(words for of in parts for words in value_words(of(point)[0], "s", None))]
            for point in points(group, name)]  # fmt: skip
    table = FigureTable(["n", "Multiplying", "Interval", "Everything else", "Interval"], rows)
    return _panel(title, "; ".join(notes), table, picture)


def _panel(title: str, where: str, table: FigureTable, picture: Markup | None) -> Figure | None:
    return Figure(title, where, table, picture=picture) if picture else None


def _distribution(group: CannonGroup) -> Figure | None:
    """Return the cost of distributing inputs and collecting the product, next to the multiplication."""
    name = next((variant.variant for variant in group.variants if any(
        "distribute" in p.parts_s or "gather" in p.parts_s for p in variant.points)), None)  # fmt: skip
    if name is None:
        return None
    own = [
        variant for variant in (group.reference, name) if any("distribute" in p.parts_s for p in points(group, variant))
    ]
    name = own[0] if own else name
    series = [
        OrderSeries(words, _seconds(group, name, _part(part)))
        for words, part in (("multiplying", "dgemm"), ("inputs to the ranks", "distribute"), ("product back", "gather"))
    ]
    title = "Distributing and gathering next to the multiplication"
    rows = []
    for point in points(group, name):
        parts = point.parts_s
        rows.append(
            [
                str(point.n),
                *(fmt.time(parts.get(part)) for part in ("distribute", "gather", "dgemm")),
                fmt.percent(point.moved_ratio),
            ]
        )
    table = FigureTable(["n", "Inputs to the ranks", "Product back", "Multiplying", "Both over multiplying"], rows)
    where = f"{fmt.plural(group.ranks, 'rank')}, mean over ranks, of {variant_name(name)}"
    return _panel(
        title,
        where,
        table,
        over_n.chart([curve for curve in series if curve.points], OrderAxes("time, mean over ranks", "s"), title),
    )


def _family(group: CannonGroup, names: Sequence[str], family: str, share: _Share) -> Figure | None:
    shown = [group.reference, *names] if share.with_reference else list(names)
    series = []
    for name in shown:
        found = [(point.n, share.of(point)[0]) for point in points(group, name)]
        series.append(OrderSeries(variant_name(name), tuple((n, v.value, v.interval) for n, v in found if v)))
    title, drawn = f"{share.title}, {family}", [curve for curve in series if curve.points]
    # All numbers of a family stand once, under its first panel.
    table = _numbers(group, shown) if share.of is _whole else FigureTable([], [])
    return _panel(title, share.where, table, over_n.chart(drawn, share.axes, title, (), share.level))


def _numbers(group: CannonGroup, names: Sequence[str]) -> FigureTable:
    """Return every value of these variants with its interval, or why it is missing."""
    shares = _shares(variant_name(group.reference), variant_name(group.ceiling))
    head = ["Variant", "n", *(words for share in shares for words in (share.title, "Interval"))]
    rows = [
        [
            variant_name(name),
            str(point.n),
            *(
                words
                for share in shares
                for words in value_words(share.of(point)[0], share.axes.unit, share.of(point)[1])
            ),
        ]
        for name in names
        for point in points(group, name)
    ]
    return FigureTable(head, rows)


def value_words(value: Value | None, unit: str, reason: str | None) -> tuple[str, str]:
    """Return a value and its interval as text, or that it is missing and why."""
    if value is None:
        return fmt.MISSING, reason or "no reason was recorded"
    ends = value.interval
    if unit == "%":
        shown = f"[{fmt.percent(ends[0], 2)}, {fmt.percent(ends[1], 2)}]" if ends else None
        return fmt.percent(value.value, 2), fmt.with_kind(shown, value.interval_kind)
    if unit == "×":
        shown = fmt.ratio_interval(value.value, ends)
        return fmt.ratio(value.value, ends), fmt.with_kind(shown, value.interval_kind)
    shown = fmt.quantity_interval(value.value, unit, ends)
    return fmt.quantity(value.value, unit, ends), fmt.with_kind(shown, value.interval_kind)


HEAD = ["Style", "Ranks", "n", "Time", "Interval", "Speed-up", "Interval", "Efficiency", "Interval"]


def scaling_figures(found: Sequence[CannonScaling]) -> list[Figure]:
    """Return two panels for each n (strong) or block (weak): time, and efficiency if ranks have their own cores."""
    panels: dict[tuple[str, str], list[CannonScaling]] = {}
    for curve in found:
        panels.setdefault((_title(curve), _where(curve, found)), []).append(curve)
    made = []
    for (title, where), curves in panels.items():
        for start in range(0, len(curves), over_n.MOST):
            some = curves[start : start + over_n.MOST]
            made += [_times(some, title, where), _efficiency(some, title, where)]
    return [figure for figure in made if figure]


def scaling_note(found: Sequence[CannonScaling]) -> str:
    """Return what was compared, and for which numbers of ranks nothing is claimed."""
    if not found:
        return ""
    over = sorted({point.ranks for curve in found for point in curve.points if point.oversubscribed})
    words = "Each style with several numbers of ranks, round by round. Efficiency is the rate of a rank over that with "
    words += f"{fmt.plural(found[0].base_ranks, 'rank')}. Weak: a rank's block of the matrices keeps its size."
    if over:
        counts = listed([str(count) for count in over])
        words += f" Oversubscribed with {counts} ranks that share cores: times are shown without efficiency."
    return words


def _title(scaling: CannonScaling) -> str:
    return (
        f"Strong scaling, n = {scaling.n}" if scaling.kind == "strong" else f"Weak scaling, blocks of {scaling.block}"
    )


def _where(scaling: CannonScaling, found: Sequence[CannonScaling]) -> str:
    """Return how a curve differs from others of the same title: MPI, environment, placement, varying parameters."""
    about = ("mpi", "environment", "placement")
    words = [str(getattr(scaling, name)) for name in about if len({getattr(c, name) for c in found}) > 1]
    names = [name for name in scaling.parameters if len({c.parameters.get(name) for c in found}) > 1]
    return ", ".join(words + [f"{name}={scaling.parameters[name]}" for name in names])


def _times(curves: Sequence[CannonScaling], title: str, where: str) -> Figure | None:
    series = [
        OrderSeries(_name(curve), tuple((p.ranks, p.multiply_s.value, p.multiply_s.interval) for p in curve.points))
        for curve in curves
    ]
    over = [point.ranks for curve in curves for point in curve.points if point.oversubscribed]
    marks = [OrderMark("oversubscribed from here", min(over), None)] if over else []
    picture = over_n.chart(series, OrderAxes("time of one multiplication", "s", RANKS), title, marks)
    return Figure(title, where, _table(curves), picture=picture) if picture else None


def _efficiency(curves: Sequence[CannonScaling], title: str, where: str) -> Figure | None:
    series = []
    for curve in curves:
        known = [(p.ranks, p.efficiency) for p in curve.points if p.efficiency]
        if len(known) > 1:
            series.append(OrderSeries(_name(curve), tuple((ranks, v.value, v.interval) for ranks, v in known)))
    name = f"{title}: efficiency"
    picture = over_n.chart(series, OrderAxes("efficiency of a rank", "%", RANKS), name, (), 1.0)
    return Figure(name, where, FigureTable([], []), picture=picture) if picture else None


def _name(scaling: CannonScaling) -> str:
    return variant_name(scaling.variant)


def _table(curves: Sequence[CannonScaling]) -> FigureTable:
    rows = [
        [
            _name(curve),
            f"{p.ranks}, oversubscribed" if p.oversubscribed else str(p.ranks),
            str(p.n),
            *value_words(p.multiply_s, "s", None),
            *value_words(p.speed_up, "×", p.reason),
            *value_words(p.efficiency, "%", p.reason),
        ]
        for curve in curves
        for p in curve.points
    ]
    return FigureTable(list(HEAD), rows)


def scaling_lines(found: Sequence[CannonScaling]) -> list[str]:
    """Return a line for each curve."""
    lines = [f"Cannon's algorithm over the number of ranks. {scaling_note(found)}"] if found else []
    for curve in found:
        each = [
            f"{p.ranks}: {value_words(p.multiply_s, 's', '')[0]}{_claimed(p, curve.base_ranks)}" for p in curve.points
        ]
        lines.append(f"  {_title(curve)}, {curve.variant}: {', '.join(each)}")
    return lines


def scaling_answer(found: Sequence[CannonScaling]) -> list[str]:
    """Return the range of the styles' efficiencies on most ranks with a core each, at the largest n; or []."""
    known = [
        (point.ranks, point.n, point.efficiency, curve)
        for curve in found
        for point in curve.points
        if curve.kind == "strong" and curve.variant not in YARDSTICKS
        if point.efficiency and point.ranks > curve.base_ranks and not point.oversubscribed
    ]
    if not known:
        return []
    ranks, n = max((ranks, n) for ranks, n, *_ in known)
    shown = sorted((one for one in known if one[:2] == (ranks, n)), key=lambda one: one[2].value)
    ends = dict.fromkeys(f"{_share_words(share)} ({curve.variant})" for *_, share, curve in (shown[0], shown[-1]))
    return [f"{_title(shown[0][3])}, {ranks} ranks: efficiency {' to '.join(ends)}."]


def _claimed(point: ScalingPoint, base_ranks: int) -> str:
    """Return the efficiency with its interval and reference, or why there is none."""
    if point.oversubscribed:
        return " (oversubscribed)"
    if point.efficiency is None:
        return f" ({point.reason})"
    if point.ranks == base_ranks:
        return ""
    return f" (efficiency {_share_words(point.efficiency)})"


def _share_words(share: Value) -> str:
    ends = share.interval
    shown = f"[{fmt.percent(ends[0])}, {fmt.percent(ends[1])}]" if ends else share.interval_kind
    return f"{fmt.percent(share.value)} {shown}"
