# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm over n: compute and communication with critical n, speed-up, exposed share, ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.cannon_results import CannonGroup, CannonPoint, Value
from slowpath.report import format as fmt
from slowpath.report.cannon.words import families, points, variant_name
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import over_n
from slowpath.report.svg.over_n import Axes, Mark, Series

FEWEST_ORDERS = 2
Get = Callable[[CannonPoint], float | None]


@dataclass(frozen=True, slots=True)
class _Share:
    """One kind of panel. level: upright line to compare with.  of: the value at a point, and why there is none."""

    title: str
    axes: Axes
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
    return point.exposed or _bare(
        point.exposed_s, point
    ), "it multiplies and communicates in one call, or has no samples"


def _computation(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.parts.get("dgemm") or _bare(
        point.parts_s.get("dgemm"), point
    ), "it multiplies and communicates in one call, or has no samples"


def _bare(value_s: float | None, point: CannonPoint) -> Value | None:
    """A time of results that were written before it had an interval."""
    if value_s is None or value_s <= 0:
        return None
    launches = point.multiply_s.launches
    kind = "these results are older: build them anew with slowpath report RUN"
    return Value(value=value_s, interval=None, interval_kind=kind, level=None, launches=launches)


def _over_compute(point: CannonPoint) -> tuple[Value | None, str | None]:
    return point.over_compute, point.over_compute_reason


def curve_figures(group: CannonGroup) -> list[Figure]:
    """Every panel of a group; a group of fewer than FEWEST_ORDERS orders has none."""
    if len(group.n) < FEWEST_ORDERS:
        return []
    made = [_critical(group), _distribution(group)]
    # The reference stands in each panel of absolute times and of exposed shares, for comparison.
    for share in _shares(variant_name(group.reference), variant_name(group.ceiling)):
        most = over_n.MOST - share.with_reference
        made += [_family(group, names, family, share) for family, names in families(_competing(group), most) if names]
    return [figure for figure in made if figure]


def _shares(reference: str, ceiling: str) -> list[_Share]:
    """Every kind of panel, absolute times first."""
    return [
        _Share("Time of a multiplication", Axes("time of one multiplication", "s"), None, _whole, with_reference=True),
        _Share("Communication", Axes("time that is not multiplying", "s"), None, _communication,
               "exposed: the whole less the local multiplications, mean over ranks", True),
        _Share("Computation", Axes("time of the local multiplications", "s"), None, _computation,
               "mean over ranks", True),
        _Share(f"Speed-up over {reference}", Axes(f"speed-up over {reference}", "×"), 1.0, _speed_up,
               "above 1, it is faster"),
        _Share("Exposed share of the time", Axes("exposed share of the time", "%"), None, _exposed,
               with_reference=True),
        _Share(f"Time over that of {ceiling}", Axes(f"time over that of {ceiling}", "×"), 1.0, _over_compute),
    ]  # fmt: skip


def _competing(group: CannonGroup) -> list[str]:
    return [one.variant for one in group.variants if one.variant not in (group.reference, group.ceiling)]


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
    """Compute and communication of the reference, and where communication becomes the smaller part."""
    name = group.reference
    series = [
        Series("multiplying", _with_interval(group, name, _computation)),
        Series("everything else", _with_interval(group, name, _communication)),
    ]
    marks, notes = [], []
    for key, words in (("half", "1/2 exposed"), ("tenth", "1/10")):
        one = group.critical_n[key]
        if one.n is None:
            notes.append(f"{words}: {fmt.MISSING} {one.reason}")
            continue
        ends = one.interval
        marks.append(Mark(words, one.n, ends))
        shown = fmt.with_kind(fmt.quantity_interval(one.n, "", ends), one.interval_kind)
        notes.append(f"{words} at n = {fmt.quantity(one.n, '', ends)}, {shown}")
    title = f"Compute and communication of {variant_name(name)}"
    picture = over_n.chart(series, Axes("time, mean over ranks", "s"), title, marks)
    parts = (_computation, _communication)
    rows = [[str(point.n), *(words for of in parts for words in value_words(of(point)[0], "s", None))]
            for point in points(group, name)]  # fmt: skip
    table = Table(["n", "Multiplying", "Interval", "Everything else", "Interval"], rows)
    return _panel(title, "; ".join(notes), table, picture)


def _panel(title: str, where: str, table: Table, picture: Markup | None) -> Figure | None:
    return Figure(title, where, table, picture=picture) if picture else None


def _distribution(group: CannonGroup) -> Figure | None:
    """What it costs to bring inputs from one place and the product back, next to the multiplication itself."""
    name = next((one.variant for one in group.variants if any(
        "distribute" in p.parts_s or "gather" in p.parts_s for p in one.points)), None)  # fmt: skip
    if name is None:
        return None
    own = [one for one in (group.reference, name) if any("distribute" in p.parts_s for p in points(group, one))]
    name = own[0] if own else name
    series = [
        Series(words, _seconds(group, name, _part(part)))
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
    table = Table(["n", "Inputs to the ranks", "Product back", "Multiplying", "Both over multiplying"], rows)
    where = f"{fmt.plural(group.ranks, 'rank')}, mean over ranks, of {variant_name(name)}"
    return _panel(
        title,
        where,
        table,
        over_n.chart([one for one in series if one.points], Axes("time, mean over ranks", "s"), title),
    )


def _family(group: CannonGroup, names: Sequence[str], family: str, share: _Share) -> Figure | None:
    shown = [group.reference, *names] if share.with_reference else list(names)
    series = []
    for name in shown:
        found = [(point.n, share.of(point)[0]) for point in points(group, name)]
        series.append(Series(variant_name(name), tuple((n, v.value, v.interval) for n, v in found if v)))
    title, drawn = f"{share.title}, {family}", [one for one in series if one.points]
    # All numbers of a family stand once, under its first panel.
    table = _numbers(group, shown) if share.of is _whole else Table([], [])
    return _panel(title, share.where, table, over_n.chart(drawn, share.axes, title, (), share.level))


def _numbers(group: CannonGroup, names: Sequence[str]) -> Table:
    """Every value of these variants with its interval, or why it is missing."""
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
    return Table(head, rows)


def value_words(value: Value | None, unit: str, reason: str | None) -> tuple[str, str]:
    """A VALUE and its interval in words; or that it is missing, and why."""
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
