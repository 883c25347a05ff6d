# SPDX-License-Identifier: Apache-2.0
"""What the cells outside of their references share, and what they cost by it. Pure.

Deviating times are explained by the smallest condition over what their cells are: calls, parameters, lengths. A time
that does not deviate speaks against a condition only where it would have shown the cost: 5 us more are invisible in a
message of 1 ms.
"""

from __future__ import annotations

import hashlib
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowpath.analyse.reference import (
    LEAST_FIRST_S,
    MEAN,
    MEDIAN,
    SURE_LAUNCHES,
    THIS_KIND,
    Item,
    Judged,
    defaults_of,
    last_answer,
)
from slowpath.core.engine_description import recorded
from slowpath.core.results import Finding, Leg, Legs, Results
from slowpath.core.units import format_bytes, format_ratio, format_time, listed, whole_number
from slowpath.slowpaths.sp078_deviations import SLOW_PATH as DEVIATIONS
from slowpath.stats.distribution import TURNS

Interval = tuple[float, float]
Mask = NDArray[np.bool_]
_EACH = ("per byte", "per block", "per request")
# Pieces in which libraries and systems move bytes: a begun one costs as much as a whole one.
_PIECES = {f"per {format_bytes(piece)} begun": piece for piece in (4096, 8192, 16384, 32768, 65536)}
# Each with what it has to be ahead of the others by, as a spread of logarithms: what agrees as well is said simply.
FORMS = {"constant": 0.0, **dict.fromkeys(_EACH, 0.05), **dict.fromkeys(_PIECES, 0.1), "in proportion": 0.15}

MOST_GROUPS = 10
_BEAM = 12
_MOST_CONDITIONS = 3
_PRICE = 1.0  # of a condition, in times that it has to explain
_APART = 3.0  # times another: two costs, and not one
_AS_WELL = 0.1  # spreads of logarithms of two forms that agree as well
_LEAST_SHARE = 0.1  # of the deviating times, that a condition has to hold for
_FEW = 0.2  # of a group's cells that know the slow rank
_EMPTY = 0.3  # of the least in healthy runs: what a rank takes that makes no call
GRANULES = (64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
_SUM = "time_per_put_s"  # of calls that are timed apart: it holds one synchronisation for many puts
_FEWEST_OF_PART = 2  # cells that a part of a union explains
_MOST_RIVALS = 2  # conditions that a sentence names besides its own
_WIDENED = 4  # of the best conditions, that are tried with more values
# What the experiment does, and a program says in no argument of a call.
_MEASURED_SO = frozenset(
    ("posted", "idle_s", "order", "other_bytes", "live_buffers", "queue", "open_receive", "progress", "overalloc_bytes")
)
_LENGTHS = ("message_bytes", "buffer_bytes", "live_buffers", "blocks", "queue", "window_bytes", "offset_bytes")

_BY_SYSTEM = ("MPI_File", "MPI_Init", "MPI_Session", "MPI_Finalize")
_EAGER_BYTES = 65536  # beyond, a send is taken to wait for its receive
# Who made the requests that a cell starts, and cells of one call that have so many of them at once.
_MAKERS = {"startall": "MPI_Send_init", "persistent": "MPI_Send_init"}
_OF_MANY = frozenset(("startall", "waitall", "waitsome", "testall", "testsome"))
_REQUESTS = 8.0


@cache
def not_traits() -> frozenset[str]:
    """Parameters that say how often and how long a cell is measured, which is no condition."""
    return frozenset({"puts"}).union(p.name for e in recorded().experiments for p in e.parameters if p.role == "effort")


@cache
def calls_of_row(name: str) -> frozenset[str]:
    """The calls of a cell of pattern `call`, its own and what it holds besides."""
    held = (call for pattern, calls in _words().held.items() if re.fullmatch(pattern, name) for call in calls)
    made = re.sub("^type_(?=hvector|hindexed|indexed_block|struct|subarray|resized)", "type_create_", name)
    return frozenset((mpi_name(made.removesuffix("_any_tag")), *held))


def mpi_name(word: str) -> str:
    """`MPI_Comm_dup` of `comm_dup`."""
    return "MPI_" + word[0].upper() + word[1:]


def calls_of(item: Item) -> frozenset[str]:
    """The MPI calls whose time an item holds, as far as they are known."""
    traits, metric = item.traits, item.metric
    experiment, pattern = traits["experiment"], traits.get("pattern", "")
    if experiment == "p2p":
        return _of_messages(traits, metric, pattern)
    if experiment == "put" and traits.get("design", "mpi") == "mpi":
        operation = (mpi_name(traits.get("operation", "put")),)
        synchronisation = _words().completed_by.get(traits.get("synchronise", ""), ())
        parts = {"put_call_s": operation, "synchronisation_s": synchronisation}
        return frozenset(parts.get(metric, (*operation, *synchronisation)))
    if experiment == "coll":
        collective = traits.get("collective", "")
        started = {"nonblocking": (f"MPI_I{collective}", "MPI_Wait"), "persistent": ("MPI_Start", "MPI_Wait")}
        return frozenset(started.get(traits.get("start", ""), (mpi_name(collective),)))
    if experiment == "first_use":
        if "call" in traits and pattern == "call":
            return calls_of_row(traits["call"])
        named = {
            "init": {"init_s": "MPI_Init", "first_duplicate_s": "MPI_Comm_dup", "first_split_s": "MPI_Comm_split_type"},
            "communicator": {"communicator_s": _words().made_by.get(traits.get("made_by", "duplicate"), "")},
            "collective": {"collective_first_s": mpi_name(traits.get("collective", "allreduce"))},
        }.get(pattern, {})
        return frozenset(filter(None, (named.get(metric, ""),)))
    return frozenset()


def _of_messages(traits: Mapping[str, str], metric: str, pattern: str) -> frozenset[str]:
    if pattern == "windowed":
        requests = {"persistent": ("MPI_Startall", "MPI_Waitall"), "partitioned": ("MPI_Start", "MPI_Pready")}
        return frozenset(requests.get(traits.get("requests", ""), ("MPI_Isend", "MPI_Irecv", "MPI_Waitall")))
    if pattern == "overlap":
        return frozenset() if metric == "compute_s" else frozenset(("MPI_Isend", "MPI_Irecv", "MPI_Waitall"))
    if pattern == "polling":
        return frozenset((mpi_name(traits.get("poll", "iprobe")),))
    completion = traits.get("completion", "blocking") if pattern == "one_way" else "blocking"
    call = mpi_name(completion)
    sends: tuple[str, ...] = ("MPI_Isend", call)
    receives: tuple[str, ...] = ("MPI_Irecv", call)
    if completion == "blocking" or "probe" in completion:
        probes = () if completion == "blocking" else (call,)
        sends, receives = ("MPI_Send",), (*probes, "MPI_Mrecv" if "mprobe" in completion else "MPI_Recv")
    if traits.get("posted", "together") == "before" and pattern == "one_way":
        receives = ("MPI_Irecv", "MPI_Wait")
    elif traits.get("posted", "together") == "after" and pattern == "one_way":
        receives = ("MPI_Probe", "MPI_Recv")
    if traits.get("pack", "none") == "mpi_pack":
        sends, receives = ("MPI_Pack", *sends), ("MPI_Unpack", *receives)
    is_eager = (whole_number(traits.get("message_bytes", "")) or 0) < _EAGER_BYTES
    return frozenset(sends) if metric == "send_s" and is_eager else frozenset((*sends, *receives))


_RECEIVES = re.compile(r"recv|probe|unpack", re.IGNORECASE)
_ENDS = re.compile(r"wait|test|free|_Win_(?!allocate|create)|Win_free", re.IGNORECASE)


def place_of(call: str) -> int:
    """In a list, what starts comes before what receives, and both before what completes."""
    return 2 if _ENDS.search(call) else 1 if _RECEIVES.search(call) else 0


# Conditions.


@dataclass(frozen=True, order=True)
class Condition:
    """What a cell has to be. relation: `calls`, `is`, `from` (and more), `up to`, `multiple of`.

    value: of `calls` and `is` any one of some, joined by `|`.  beyond: of a limit, the nearest value that is not slow.
    """

    name: str
    relation: str
    value: str
    beyond: str = ""

    def __or__(self, other: Condition) -> Condition:
        """Either of two of one parameter."""
        values = sorted({*self.any_of, *other.any_of}, key=lambda value: (place_of(value), value))
        return replace(self, value="|".join(values))

    @property
    def any_of(self) -> tuple[str, ...]:
        """Its values."""
        return tuple(self.value.split("|"))

    @property
    def words(self) -> str:
        """For a sentence, behind its subject."""
        if self.relation == "calls":
            return listed(self.any_of, "or")
        known = _words().values.get(self.name, {})
        if self.relation == "is" and known.keys() >= set(self.any_of):
            return listed([known[value] for value in self.any_of], "or")
        usual = _words().things.get(self.name, f"with {self.name.replace('_', ' ')} {{}}")
        phrase = _words().things.get(f"{self.name} {self.relation}", usual)
        readable = listed([_readable(self.name, value) for value in self.any_of], "or")
        words = phrase.format(f"{_RELATIONS.get(self.relation, '')}{readable}")
        words = re.sub(r"\b1 (\w{3,})s\b", r"1 \1", words)
        return f"{words} (not {_readable(self.name, self.beyond)})" if self.beyond else words


_RELATIONS = {"from": "at least ", "up to": "at most ", "multiple of": "a multiple of "}


class Words(msgspec.Struct, frozen=True):
    """deviations.toml. things: phrase by name.  values: phrase by name and value.  Others: calls of a time."""

    polled: str
    things: dict[str, str]
    values: dict[str, dict[str, str]]
    completed_by: dict[str, tuple[str, ...]]
    made_by: dict[str, str]
    held: dict[str, tuple[str, ...]]


@cache
def _words() -> Words:
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=Words)


def _readable(name: str, value: str) -> str:
    if name.endswith("_bytes") and (number := whole_number(value)) is not None:
        return format_bytes(number)
    if name.endswith("_s"):
        return format_time(float(value))
    return mpi_name(value) if name in ("collective", "call", "made_by", "operation", "poll") else value


@dataclass(frozen=True)
class Cost:
    """What the deviating cells cost more: so much each time, each byte or each block, seconds; or so many times what
    they take in healthy runs.
    """

    form: str
    coefficient_s: float
    interval: Interval

    def at(self, judged: Judged) -> float:
        """Seconds that a time should be longer."""
        return self.coefficient_s * _units(judged, self.form)

    def words(self, times: int = 1) -> str:
        """`7.10 us [6.80 us, 7.40 us] longer`, so many times it."""
        value, *ends = (times * number for number in (self.coefficient_s, *self.interval))
        if self.form == "per byte":
            low, high = (1e9 * end for end in ends)
            return f"{1e9 * value:.3g} ns [{low:.3g}, {high:.3g}] longer for each byte"
        each = f" for each {self.form.removeprefix('per ')}" if self.form.startswith("per") else ""
        return f"{format_time(value)} [{', '.join(format_time(max(end, 0.0)) for end in ends)}] longer{each}"


@dataclass(frozen=True)
class Shared:
    """A group of deviating times and what they share.

    slow: items that deviate and fulfil it.  among: cells that fulfil it and would show the cost.  others: deviating
    cells that are not in it.  as_slow: of these, of other calls, that cost about as much.  total: all cells.  rivals:
    conditions that no cell refutes.  calls: that stand together in all of these cells.
    """

    conditions: tuple[Condition, ...]
    slow: tuple[Judged, ...]
    among: int
    others: int
    total: int
    cost: Cost
    rivals: tuple[Condition, ...] = ()
    calls: tuple[str, ...] = ()
    as_slow: int = 0

    @property
    def is_law(self) -> bool:
        """Whether most cells that fulfil it show the cost, and most that show it fulfil it: else something slows down
        calls of all kinds, such as processors that hand over late.
        """
        return 2 * len(self.cells) >= self.among and len(self.cells) >= self.as_slow

    @property
    def is_of_this_kind(self) -> bool:
        """Whether healthy runs on this kind of machine say so."""
        return all(time.reference.source == THIS_KIND for time in self.slow)

    @property
    def may_be_machine(self) -> bool:
        """Whether other kinds of machine alone say so, of few cells or of what the system decides: a receive that is
        posted early there and late here takes 30 times as long.
        """
        items = [time.item for time in self.slow]
        by_system = any(call.startswith(_BY_SYSTEM) for item in items for call in calls_of(item))
        decided = by_system or any(item.phase == "first" or item.traits.get("pattern") == "init" for item in items)
        return not self.is_of_this_kind and (not self.is_of_many or decided)

    @property
    def is_noise(self) -> bool:
        """Whether it is one first use against other kinds of machine: a healthy machine shows one now and then."""
        are_first = {time.item.phase for time in self.slow} == {"first"}
        return len(self.cells) == 1 and not self.is_of_this_kind and are_first

    @property
    def is_of_many(self) -> bool:
        """Whether more cells show it than chance makes slow together, and most such cells do."""
        return len(self.cells) >= MANY and self.is_law

    @property
    def low_ratio(self) -> float:
        """Median over its cells: the low end of the interval over the most that healthy runs showed."""
        return statistics.median(time.item.interval[0] / time.reference.high for time in self.slow)

    @property
    def cells(self) -> frozenset[int]:
        """Their numbers."""
        return frozenset(time.item.cell for time in self.slow)

    @property
    def ratio(self) -> float:
        """Median over its cells."""
        return statistics.median(time.ratio for time in self.slow)

    @property
    def clearness(self) -> float:
        """How far its clearest time lies outside: low end over limit."""
        return max(time.item.interval[0] / time.limit for time in self.slow)

    @property
    def subject(self) -> str:
        """The condition in words, calls first, then lengths."""
        ordered = sorted(self.conditions, key=lambda condition: condition.name != "message_bytes")
        rest = [part.words for part in ordered if part.relation != "calls" and part.name != "experiment"]
        if all(time.item.metric == "call_idle_s" for time in self.slow) and not any("pause" in words for words in rest):
            rest.append("after a pause without MPI")
        if self.calls and all(re.fullmatch(_words().polled, call) for call in self.calls):
            rest.append("called until it succeeds")
        rest += [] if (rank := slow_rank(self.slow)) is None else [f"on rank {rank} alone"]
        return " ".join([listed(self.calls[:_MOST_CALLS], "or") if self.calls else _subject(self.slow), *rest])

    @property
    def text(self) -> str:
        """One sentence with number, unit and condition."""
        return self.compared_with("in healthy runs" + " of other machines" * (not self.is_of_this_kind))

    def compared_with(self, baseline: str) -> str:
        """The sentence, where the references are others than healthy runs, as `in A`."""
        cells = len(self.cells)
        among, rest = max(self.among, cells), max(self.total - max(self.among, cells), self.others)
        such = f"{cells} of {among} such cells" if cells < among else f"all {among} such cells"
        counted = f"in {'the only such cell' if among == 1 else such}, and in {self.others or 'none'} of {rest} others."
        period, times = self.period, (self.period or 1) if self.are_stalls else 1
        subject = f"One in {period} operations of {self.subject}" if period else self.subject
        takes = "takes" if subject.startswith(("One in", "MPI_")) else "take"
        if self.cost.form == "in proportion":
            ratios = (1 + times * number for number in (self.cost.coefficient_s, *self.cost.interval))
            value, low, high = map(format_ratio, ratios)
            most = format_time(max(time.extra_s for time in self.slow))
            longer = f"{value}x [{low}, {high}] as long as {baseline}, up to {most} more"
        else:
            ratio = "" if self.are_stalls else f" ({format_ratio(self.ratio)}x)"  # of a mean
            longer = f"{self.cost.words(times)} than {baseline}{ratio}"
        when = ", regularly" if period else ", on average" * self.are_stalls
        others = f" Its condition may also be: {'; '.join(c.words for c in self.rivals)}." if self.rivals else ""
        return f"{subject} {takes} {longer}{when}: {counted}{others}"

    @property
    def are_stalls(self) -> bool:
        """Whether most of its times are means, over calls of which few are slow."""
        return 2 * sum(time.item.kind == MEAN for time in self.slow) > len(self.slow)

    @property
    def period(self) -> int | None:
        """Of how many operations one is slow, as most of the cells say whose samples would show it."""
        kind = MEAN if self.are_stalls else MEDIAN
        periods = Counter(time.period for time in self.slow if time.item.series and time.item.kind == kind)
        (period, agreeing) = next(iter(periods.most_common(1)), (None, 0))
        return period if 2 * agreeing > periods.total() else None


def slow_rank(slow: Sequence[Judged]) -> int | None:
    """The only rank that is slow in nearly all cells whose call several ranks make; None: no cell says so.

    In a collective the others may wait for the slow one: there it need be in half of the cells.
    """
    ranks = [
        (time.item.traits["experiment"] == "coll", rank) for time in slow if (rank := _slow_rank(time)) is not None
    ]
    if not ranks:
        return None
    (most, count), *_ = Counter(rank for _, rank in ranks).most_common(1)
    against = sum(rank != most and not (rank < 0 and may_wait) for may_wait, rank in ranks)
    is_clear = count >= len(ranks) / 2 and against <= _FEW * len(ranks)
    return most if most >= 0 and is_clear else None


def _slow_rank(judged: Judged) -> int | None:
    """-1: several are slow.  None: one rank alone makes the call, and the others' times are empty."""
    of_ranks = judged.item.by_rank_s
    if sum(time_s > _EMPTY * judged.reference.low for time_s in of_ranks) < 2:
        return None
    between_s = judged.item.value - judged.extra_s / 2  # a tool that times calls slows down every rank
    slow = [rank for rank, time_s in enumerate(of_ranks) if time_s > between_s]
    return slow[0] if len(slow) == 1 and of_ranks[slow[0]] > judged.limit else -1


def _subject(slow: Sequence[Judged]) -> str:
    if common := frozenset[str].intersection(*(calls_of(time.item) for time in slow)):
        return listed(sorted(common, key=lambda call: (place_of(call), call))[:_MOST_CALLS], "or")
    experiments = {time.item.traits["experiment"] for time in slow}
    words = {"p2p": "Messages", "put": "One-sided calls", "coll": "Collectives", "first_use": "Calls"}
    return words.get(next(iter(experiments)), "Calls") if len(experiments) == 1 else "Calls"


def _units(judged: Judged, form: str) -> float:
    item = judged.item
    if form == "in proportion":
        return judged.reference.median
    if form == "per byte" or form in _PIECES:
        return float(-(-item.length // _PIECES.get(form, 1)))
    if form == "per request":
        return _REQUESTS if item.traits.get("call") in _OF_MANY else 1.0
    if form == "per block":
        blocks = whole_number(item.traits.get("blocks", "")) or 0
        return float(blocks if item.traits.get("datatype", "contiguous") != "contiguous" else 0)
    return 1.0


def _cost(slow: Sequence[Judged], form: str) -> Cost:
    """Median over cells, of the ends as well: many cells do not make the healthy runs agree better."""
    units = [_units(time, form) for time in slow]
    each = [time.extra_s / count for time, count in zip(slow, units, strict=True)]
    lows = [time.extra_ends_s[0] / count for time, count in zip(slow, units, strict=True)]
    highs = [time.extra_ends_s[1] / count for time, count in zip(slow, units, strict=True)]
    return Cost(form, statistics.median(each), (statistics.median(lows), statistics.median(highs)))


MOST_FINDINGS = 4
_MOST_CALLS = 4  # in a sentence
MANY = 8  # cells that no chance makes slow together
FEW, BY_FAR = 3, 3.0  # cells that no chance makes slow by far together: times what healthy runs showed at most


def findings_outside(results: Results, panel: Sequence[Judged], is_sure: Callable[[Shared], bool]) -> list[Finding]:
    """A finding for each group of times of a panel that lie outside, the clearest first.

    Args: results: of the run whose cells it is.  is_sure: whether a group is a fault, and not a suspicion.
    """
    numbers = {cell.cell for cell in results.cells}
    mpi = results.run.mpi.mpi if len(results.run.mpis) > 1 else None
    groups = [group for group in shared(panel) if any(time.item.launches >= SURE_LAUNCHES for time in group.slow)]
    groups = sorted(groups[:MOST_FINDINGS], key=lambda group: group.clearness, reverse=True)
    return [_finding(group, mpi, numbers, is_sure(group)) for group in groups]


def with_outside(findings: Sequence[Finding], outside: Sequence[Finding]) -> list[Finding]:
    """What lies outside, then findings of rules. What no rule is sure of in the same cells is folded into it."""
    kept, fresh = [], list(outside)
    for finding in findings:
        if finding.rule == DEVIATIONS.code:
            continue
        cells = set(finding.slow_cells)
        target = next(
            (n for n, finding in enumerate(fresh) if 2 * len(cells & set(finding.slow_cells)) > len(cells)), None
        )
        if target is None or finding.status == "proven" or finding.lead is not None:
            kept.append(finding)
            continue
        wider = fresh[target]
        merged = [*wider.merged, finding.id, *finding.merged]
        fresh[target] = msgspec.structs.replace(wider, merged=merged)
    return [*fresh, *kept]


def _finding(group: Shared, mpi: str | None, survey_cells: Collection[int], is_sure: bool) -> Finding:
    worst = max(group.slow, key=lambda time: time.item.interval[0] / time.reference.high)
    about = group.subject
    cells = [number for number in dict.fromkeys(time.item.cell for time in group.slow) if number in survey_cells]
    high = statistics.median(time.item.interval[1] / time.reference.low for time in group.slow)
    seen = Leg(state="shown", text="outside of healthy runs", evidence=[group.text])
    missing = Leg(state="missing", text="cause not known", evidence=[])
    untried = Leg(state="missing", text="no trial can remove it", evidence=[], untried=True)
    return Finding(
        id=f"{DEVIATIONS.code}:{hashlib.sha256(f'{mpi} {about}'.encode()).hexdigest()[:8]}",
        rule=DEVIATIONS.code,
        title=DEVIATIONS.title,
        text=group.text,
        about=about,
        where=about,
        mpi=mpi,
        environment=worst.item.traits["environment"],
        placement=worst.item.traits["placement"],
        status="observed",
        affects_default=True,
        ratio=group.ratio,
        interval=(group.low_ratio, high),
        excess_s=statistics.median(time.extra_s for time in group.slow),
        metric=worst.item.metric,
        phase=worst.item.phase,
        law=None,
        legs=Legs(observed=seen, explained=missing, proven=untried),
        missing=[f"explained: {missing.text}"],
        cause=None,
        contrasts=[],
        cells=cells,
        slow_cells=cells,
        fast_cells=[],
        merged=[],
        doubts=[],
        remedies=[],
        next=[],
        kind="fault",
        needs_cause=group.may_be_machine or not is_sure,
    )


# The search.
_AFTER_PAUSE = Condition("after_call", "is", "off")
_MEASURED_AS = ("experiment", "pattern", "collective")


class _Table:
    """All times as arrays, shape (times,). slow: which deviate. holds: condition -> which fulfil it."""

    def __init__(self, judged: Sequence[Judged]) -> None:
        self.judged = judged
        self.slow = np.array([time.side == "slower" for time in judged])
        self.is_mean = np.array([time.item.kind == MEAN for time in judged])
        self.series = np.array([time.item.series for time in judged])
        self.extra_s = np.array([time.extra_s for time in judged])
        self.mean_extra_s, self.period = (
            np.array([(t.item.mean_s - t.reference.median, t.period or 1) for t in judged]).reshape(-1, 2).T
        )
        self.least_extra_s = np.array([time.extra_ends_s[0] for time in judged])
        self.most_extra_s = np.array([time.most_extra_s for time in judged])
        self.clearness = np.array([time.item.interval[0] / time.limit for time in judged])
        self.is_first = np.array([time.item.phase == "first" for time in judged])
        traits = [time.item.traits for time in judged]  # before single calls the ranks meet without MPI
        self.follows_pause = np.array([t.get("pattern") == "call" and t.get("after_call") != "on" for t in traits])
        self.is_idle = np.array([time.item.metric == "call_idle_s" for time in judged])
        self.units = {form: np.array([_units(time, form) for time in judged]) for form in FORMS}
        # Lengths within a factor of two tell no law: a cost of 64 and of 72 B is as good as of one length.
        every = np.stack([np.round(np.log2(np.maximum(self.units[form], 1e-9))) for form in _EACH])
        self.length = np.unique(every, axis=1, return_inverse=True)[1].reshape(-1)  # which of them
        self.holds = _conditions(judged) if self.slow.any() else dict[Condition, Mask]()

    def where(self, condition: Condition) -> Mask:
        """Which times fulfil it."""
        any_of: Mask = np.logical_or.reduce([self.holds[replace(condition, value=value)] for value in condition.any_of])
        return any_of

    def costs(self, hits: Mask) -> list[tuple[str, float]]:
        """The forms whose coefficients agree best over some deviating times, and the coefficients, seconds per unit.

        The best one first, and others that agree about as well. Times of one length are no law by the byte or piece,
        times of one count of blocks none by the block: any cost fits them.
        """
        lengths = self.length[hits]
        known: list[tuple[float, str, float]] = []
        for form, ahead in FORMS.items():
            units = self.units[form][hits]
            least = 4 if form in _PIECES else 2 if form in _EACH else 1  # twice as much costs by chance what it costs
            if units.min() <= 0 or units.max() < least * units.min():
                continue
            each = self.extra_s[hits] / units
            # A length that was measured in many ways counts once: a law is about lengths.
            by_length = np.array([statistics.median(each[lengths == length].tolist()) for length in np.unique(lengths)])
            centre = statistics.median(by_length.tolist())
            off = np.abs(np.log(np.maximum(by_length, 1e-15) / centre))
            if form in _PIECES and off.max() > 2 * _AS_WELL:
                continue  # steps are claimed only where each length agrees
            known.append((float(off.mean()) + ahead, form, statistics.median(each.tolist())))
        known.sort()
        return [(form, coefficient_s) for spread, form, coefficient_s in known if spread <= known[0][0] + _AS_WELL]

    def against(self, where: Mask, hits: Mask, form: str, coefficient_s: float) -> Mask:
        """Times that fulfil a condition and would show the cost of some, but do not. First uses speak against their own
        alone, and to a cost of stalls series that hold them.
        """
        cost_s = coefficient_s * self.units[form]
        unlike: Mask = ~self.slow & (self.most_extra_s < 0.5 * cost_s) & (cost_s > LEAST_FIRST_S * self.is_first)
        if self.is_mean[hits].all():
            is_long = self.series >= TURNS * np.median(self.period[hits])
            unlike &= is_long & (self.mean_extra_s < 0.5 * cost_s)
        return where & (unlike & ~self.is_first if (where & ~self.is_first).any() else unlike)

    def alike(self, form: str, coefficient_s: float) -> Mask:
        """Times that are longer by about a cost."""
        cost_s = coefficient_s * self.units[form]
        return np.logical_and(self.extra_s < _APART * cost_s, _APART * self.extra_s > cost_s)

    def loss(self, where: Mask, left: Mask) -> tuple[float, Mask, Mask, tuple[str, float]]:
        """Deviating times that a condition leaves out, plus times that fulfil it and would show the cost but do not.

        Returns: it, the latter times, those that cost about as much, and the cost: of forms that agree about as well
        the one that leaves least.
        """
        answers = []
        for hits in (where & left & ~self.is_mean, where & left & self.is_mean):  # stalls are no cost of every call
            for form, coefficient_s in self.costs(hits) if hits.any() else ():
                against = self.against(where, hits, form, coefficient_s)
                explained = hits & self.alike(form, coefficient_s)
                loss = float(left.sum() - explained.sum() + against.sum())
                answers.append((loss, against, explained, (form, coefficient_s)))
        return min(answers, key=lambda answer: answer[0])


def _conditions(judged: Sequence[Judged]) -> dict[Condition, Mask]:
    holds: dict[Condition, Mask] = {}
    varied: dict[tuple[str, frozenset[str]], set[str]] = defaultdict(set)
    for time in judged:
        varied[time.item.traits["experiment"], calls_of(time.item)].update(time.item.traits)
    for index, time in enumerate(judged):
        for condition in _of_one(time.item, varied[time.item.traits["experiment"], calls_of(time.item)]):
            holds.setdefault(condition, np.zeros(len(judged), dtype=bool))[index] = True
    for name in _LENGTHS:
        numbers = np.array([whole_number(time.item.traits.get(name, "")) or -1 for time in judged])
        known = numbers[numbers > 0]
        for limit in np.unique(known):
            holds[Condition(name, "from", str(limit))] = numbers >= limit
            holds[Condition(name, "up to", str(limit))] = (numbers > 0) & (numbers <= limit)
        for granule in GRANULES if name.endswith("_bytes") else ():
            holds[Condition(name, "multiple of", str(granule))] = (numbers > 0) & (numbers % granule == 0)
    rests_s = np.array([float(time.item.traits.get("idle_s", "0")) for time in judged])
    for least_s in np.unique(rests_s[rests_s > 0])[::-1]:  # of pauses that say the same the longest
        holds[Condition("idle_s", "from", str(least_s))] = rests_s >= least_s
    return {c: where for c, where in holds.items() if where.any() and (c.relation == "calls" or not where.all())}


def _of_one(item: Item, varied: Set[str]) -> Iterator[Condition]:
    """Args: varied: parameters that some cell of the same calls states; what others have by default is a trait, too."""
    yield from (Condition("call", "calls", call) for call in calls_of(item))
    if maker := _MAKERS.get(item.traits.get("call", item.traits.get("requests", ""))):
        yield Condition("request", "is", maker)
    usual = defaults_of(item.traits["experiment"])
    for name in sorted(varied - not_traits() - ({"call"} if item.traits["experiment"] == "first_use" else set())):
        value = item.traits.get(name, usual.get(name, ""))
        if value == "steady":
            continue  # a first use shows what it costs itself, and often nothing else
        if name in item.traits or value in _words().values.get(name, ()):
            yield Condition(name, "is", value)


@last_answer
def shared(judged: Sequence[Judged]) -> list[Shared]:
    """Groups of deviating times, those of many cells first, then the clearest."""
    table, groups = _Table([time for time in judged if time.item.metric != _SUM]), list[Shared]()
    left = table.slow.copy()
    while left.any() and len(groups) < MOST_GROUPS:
        best = _best(table, left)
        if best is None:
            break
        group, covered = best
        left = left & ~covered
        groups.append(group)
    known = (replace(group, others=len(_cells(table, table.slow) - group.cells)) for group in groups)
    said = [group for group in known if not group.is_noise]
    return sorted(said, key=lambda group: (group.is_of_many, group.clearness), reverse=True)


@dataclass(frozen=True)
class _Candidate:
    """Conditions that hold together. loss: with the price of each condition."""

    loss: float
    conditions: tuple[Condition, ...]
    where: Mask
    against: Mask
    explained: Mask
    cost: tuple[str, float]
    clearness: float


def _best(table: _Table, left: Mask) -> tuple[Shared, Mask] | None:
    """The best condition for the deviating times that are left, of at most _MOST_CONDITIONS parts.

    None: all times fulfil the same conditions, or too few of those that are left do.
    """
    fewest = max(1, _LEAST_SHARE * left.sum())
    useful = {c: where for c, where in table.holds.items() if (where & left).sum() >= fewest}
    singles = sorted((_candidate(table, left, (c,), where) for c, where in useful.items()), key=_rank)
    first = {(single.conditions[0].name, single.conditions[0].relation): single for single in reversed(singles)}
    singles += [_widened(table, left, single, useful) for single in first.values()]
    singles.sort(key=_rank)
    # Most costs are of a call, also those that show under a condition alone, against which its other times speak.
    beam = singles[:_BEAM] + [s for s in singles[_BEAM:] if s.conditions[0].relation == "calls"][:_BEAM]
    if not beam:
        return None
    kept = list(beam)
    for _ in range(_MOST_CONDITIONS - 1):
        wider: dict[bytes, _Candidate] = {}
        for narrow in beam:
            for condition, more in useful.items():
                where = narrow.where & more
                hits = (where & left).sum()
                unlike = narrow.against | (narrow.where & left & ~narrow.explained)
                if hits < fewest or not (unlike & ~more).any():
                    continue
                candidate = _candidate(table, left, (*narrow.conditions, condition), where)
                known = wider.get(name := where.tobytes())
                if candidate.loss < narrow.loss and (known is None or candidate.loss < known.loss):
                    wider[name] = candidate
        beam = sorted(wider.values(), key=_rank)[:_BEAM]
        kept += beam
    kept.sort(key=_rank)
    kept = sorted([*(_widened(table, left, narrow, useful) for narrow in kept[:_WIDENED]), *kept], key=_rank)
    best = kept[0]
    deviations = [table.judged[int(n)] for n in np.flatnonzero(best.explained)]
    alike = list(_not_refuted(table, left, best))
    calls = [c for c in (*best.conditions, *alike) if c.relation == "calls"]
    held = np.logical_or.reduce([np.zeros_like(left), *map(table.where, calls)])
    rivals = {(c.name, c.relation): c for c in reversed(alike) if c.relation != "calls"}  # of each the first
    group = Shared(
        conditions=tuple(_tightened(table, condition, best) for condition in best.conditions),
        slow=tuple(deviations),
        among=len(_cells(table, best.where & (best.explained | best.against))),
        others=0,
        total=len({time.item.cell for time in table.judged}),
        cost=_cost(deviations, best.cost[0]),
        rivals=tuple(reversed(rivals.values()))[:_MOST_RIVALS],
        calls=tuple(call for c in calls for call in c.any_of),
        as_slow=len(_cells(table, table.slow & table.alike(*best.cost) & ~held) - _cells(table, best.explained)),
    )
    return group, best.explained


def _widened(table: _Table, left: Mask, narrow: _Candidate, useful: Collection[Condition]) -> _Candidate:
    """With more calls, or more values of its parameters, as long as each explains more times of about its cost."""
    best, before = narrow, None
    while best is not before:
        wider = [best]
        values = [c for c in best.conditions if c.relation in ("calls", "is") and len(c.any_of) < _MOST_CALLS]
        for own in values:
            rest = [table.where(condition) for condition in best.conditions if condition != own]
            for more in useful:
                is_other = (more.name, more.relation) == (own.name, own.relation) and more.value not in own.any_of
                where = np.logical_and.reduce([table.holds[more], *rest])
                fresh = where & left & ~best.explained & table.alike(*best.cost)
                if is_other and len(_cells(table, fresh)) >= _FEWEST_OF_PART:
                    either = tuple(own | more if condition == own else condition for condition in best.conditions)
                    wider.append(_candidate(table, left, either, best.where | where))
        best, before = min(wider, key=_rank), best
    return best


def _tightened(table: _Table, condition: Condition, best: _Candidate) -> Condition:
    """A limit as the cells have it: the shortest length that shows it, or the longest, and the next that does not."""
    if condition.relation not in ("from", "up to") or condition.name not in _LENGTHS:
        return condition
    sign = 1 if condition.relation == "from" else -1
    numbers = sign * np.array([whole_number(time.item.traits.get(condition.name, "")) or 0 for time in table.judged])
    limit = int(numbers[best.explained].min())
    rest = [table.where(c) for c in best.conditions if c != condition]
    nearer = np.logical_and.reduce([numbers < limit, numbers != 0, *rest])
    beyond = max((int(n) for n in numbers[table.against(nearer, best.explained, *best.cost)]), default=None)
    expected_s = best.cost[1] * table.units[best.cost[0]]
    showing = nearer & (table.least_extra_s > 0.5 * expected_s) & (table.extra_s < _APART * expected_s)
    limit = min((int(n) for n in numbers[showing] if beyond is None or n > beyond), default=limit)
    tight = replace(condition, value=str(sign * limit), beyond="" if beyond is None else str(sign * beyond))
    # What one length alone shows is said of that one.
    return replace(tight, relation="is") if int(numbers[best.explained].max()) == limit else tight


def _not_refuted(table: _Table, left: Mask, best: _Candidate) -> Iterator[Condition]:
    """What may hold in place of a condition, or besides: for all times that are explained, while no other time that
    shows the cost lacks it, and none that would show the cost has it.
    """
    cost_s, are_stalls = best.cost[1] * table.units[best.cost[0]], table.is_mean[best.explained].all()
    least_s = table.mean_extra_s if are_stalls else table.least_extra_s
    shows = best.where & (least_s > 0.5 * cost_s) & (least_s < _APART * cost_s)
    paused = {} if table.is_idle[best.explained].all() else {_AFTER_PAUSE: table.follows_pause}
    known = (table.holds | paused).items()
    holds = {c: where for c, where in known if where[best.explained].all() and c.name not in _MEASURED_AS}
    for other in sorted(holds, key=lambda other: (_reluctance(other), other)):
        rests = [[c for c in best.conditions if c != own] for own in best.conditions if _may_replace(other, own)]
        divides = (best.where & ~holds[other]).any() or other == _AFTER_PAUSE  # else all such cells have it
        is_other = other.name not in (*_LENGTHS, *(own.name for own in best.conditions))
        rests += [[*best.conditions]] if other.relation == "is" and divides and is_other else []
        for rest in rests:
            where = np.logical_and.reduce([holds[other], *map(table.where, rest)])
            # One in n may always be a call that is not timed: others that are slow with it say as much as those within.
            is_elsewhere = other.relation == "calls" and are_stalls and (where & left & ~best.explained).any()
            against = table.against(where, best.explained, *best.cost) & ~best.where
            if is_elsewhere or not (against | (shows & ~where)).any():
                yield other
                break


def _may_replace(other: Condition, own: Condition) -> bool:
    """A call replaces a single call, and the rest another parameter, or a length in another relation."""
    if "calls" in (other.relation, own.relation):
        return other.relation == own.relation and other != own and len(own.any_of) == 1
    if other.name in _LENGTHS:  # one length stands for longer or shorter ones
        return other.relation != "is" and (other.name, other.relation) != (own.name, own.relation)
    return other.name != own.name


def _cells(table: _Table, where: Mask) -> set[int]:
    return {table.judged[int(n)].item.cell for n in np.flatnonzero(where)}


def _candidate(table: _Table, left: Mask, conditions: tuple[Condition, ...], where: Mask) -> _Candidate:
    loss, against, explained, cost = table.loss(where, left)
    price = sum(_PRICE * len(condition.any_of) + _reluctance(condition) for condition in conditions)
    clearness = float(table.clearness[explained].max(initial=0.0))
    return _Candidate(round(loss + price, 9), conditions, where, against, explained, cost, clearness)


def _rank(candidate: _Candidate) -> tuple[float, int, int, float, tuple[Condition, ...]]:
    explained = int(candidate.explained.sum())  # of equal ones the wider
    return candidate.loss, -explained, len(candidate.conditions), -candidate.clearness, candidate.conditions


def _reluctance(condition: Condition) -> float:
    """Among conditions that explain as much, first a call, then a kind, then a length, then what was done around it."""
    if condition.relation == "calls":
        return 0.0
    is_wide = condition.name in (*_LENGTHS, "experiment", "pattern")
    name = 0.9 if condition.name in _MEASURED_SO else 0.6 if is_wide else 0.4
    if condition.relation == "multiple of":  # the largest that fits claims least
        return name + 0.1 - 1e-3 * GRANULES.index(int(condition.value))
    # The longest that was measured stands for longer ones, and the shortest for shorter ones.
    # No cost is of one length alone, where others or other parameters may explain as much.
    return name + {"from": 0.0, "up to": 0.05}.get(condition.relation, 0.5 if condition.name in _LENGTHS else 0.1)
