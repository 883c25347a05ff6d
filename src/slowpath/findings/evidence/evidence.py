# SPDX-License-Identifier: Apache-2.0
"""What a rule may look at: facts out of results.json as plain structs, and `Evidence`, which supplies them.

Nothing is judged and nothing is computed here: findings/gather computes the facts. Times are seconds. Every difference
names its slow side first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.stats.laws.found import FittedLaw

WITHOUT_USER = "without your settings"  # the environment that lacks all of the user's own
LAW_RATIO = 1.1  # least of a law: of many, some fit noise, to 1.08 in 4 of 60 clean runs (docs/results/plants.md)
CLEAR_RATIO = 1.25  # from here on a difference is called a slow path also where no law or rule says more about it
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Place:
    """Where a slow path was seen; None: not known, as in imported logs. words: the same and more, for people."""

    words: str
    mpi: str | None = None
    environment: str | None = None
    placement: str | None = None


@dataclass(frozen=True)
class Ratio:
    """interval: None with fewer than 3 launches.  beyond: its lower end lies above 1 and the minimum effect."""

    value: float
    interval: Interval | None
    beyond: bool

    @property
    def least(self) -> float:
        """Lower end of the interval; the value itself where there is none."""
        return self.interval[0] if self.interval else self.value


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two measurements of one metric, slow over fast."""

    slow: CellResult
    fast: CellResult
    metric: str
    slow_s: float
    fast_s: float
    ratio: Ratio

    @property
    def excess_s(self) -> float:
        return self.slow_s - self.fast_s


@dataclass(frozen=True, kw_only=True)
class Slowdown(Difference):
    """A decided contrast beyond the minimum effect. slow_value, fast_value: what the axis is set to.

    affects_default: whether users who change nothing are on the slow side; None: neither side is theirs.
    suspect: what is doubtful about its values.
    """

    contrast: str
    axis: str
    slow_value: str
    fast_value: str
    slow_phase: str
    fast_phase: str
    affects_default: bool | None
    suspect: tuple[str, ...] = ()


Payer = Literal["pages", "allocation", "message", "constant", "unknown"]


@dataclass(frozen=True, kw_only=True)
class FirstUse(Difference):
    """A first message that takes longer. slow: where it loses most.  fast: what it is compared with, the same cell
    where fast_phase is "steady".  by: what the excess follows.  cells: all points.
    """

    by: Payer
    fast_phase: str
    law: FittedLaw | None
    cells: tuple[CellResult, ...]
    contrasts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Growth(Difference):
    """Along one number the time follows another law than a constant: the slowest point against the least number."""

    phase: str
    slow_value: float
    fast_value: float
    law: FittedLaw
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class LateFastPath(Difference):
    """Messages from a fresh buffer that are slow before the `opens`-th use. agree: cells of `of` that show the same."""

    opens: float
    before: int  # the last slow message, counted from 1
    law: FittedLaw
    agree: int
    of: int


@dataclass(frozen=True, kw_only=True)
class ProtocolSwitch(Difference):
    """A jump along message lengths: the times are those of both sides' lines at the first length behind it.

    law: of the whole line; its first bracket is the switch.  rising: the side behind it is the slow one.
    """

    law: FittedLaw
    rising: bool
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class ExposedMessage(Difference):
    """A message that a computation as long as itself does not hide: both at once against the longer one alone.

    share: of the message that stays exposed.
    """

    share: float
    share_interval: Interval
    share_interval_kind: str


@dataclass(frozen=True, kw_only=True)
class SlowPeer(Difference):
    """One rank against the median of the other ranks, launch by launch. fast: of the nearest to that median."""

    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class SlowPut(Difference):
    """A put (slow) against a message of the same length in the same launches (fast)."""


@dataclass(frozen=True, kw_only=True)
class UnexpectedReceive(Difference):
    """A late receive (slow) against one that was posted before, with what the calls themselves differ by taken off.

    calls_s: that difference, late minus early, at the shortest message of `shortest_bytes`.  law: of the excess over
    lengths; None: too few of them.  cells: all points.
    """

    calls_s: float
    shortest_bytes: int
    law: FittedLaw | None
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class Screened(Difference):
    """One of several parameters that were varied at once: times are means over all runs at either of its levels.

    parameter: of the cells.  side: sender or receiver, where it is that side's alone; None: it has no sides.
    slow_value, fast_value: its levels.  slow, fast: cells at these levels that differ least in other things.  factors:
    varied at once, this one among them.  cells: all runs.
    """

    parameter: str
    side: str | None
    slow_value: str
    fast_value: str
    factors: int
    cells: tuple[CellResult, ...]


@dataclass(frozen=True)
class SlowPlaces:
    """One cell whose messages are slow at equal distances. slow_s, fast_s: a slow message, another one; ratio: of
    these.

    launches, messages: in which it was seen, and of the shortest of them.  between_s: from one to the next.  p: chance.
    """

    cell: CellResult
    slow_s: float
    fast_s: float
    ratio: Ratio
    launches: int
    messages: int
    between_s: float
    p: float


@dataclass(frozen=True, kw_only=True)
class Periodic(Difference):
    """`count` of every `every` messages are slow. slow_s, fast_s, ratio: the mean message with these and without.

    seen: the cells that show it, first `slow`, which is `fast` too.  lacking: cells of the same place that were asked
    and don't.  counted: in what; "either": at one length, or at lengths that take alike, messages and time can't be
    distinguished.
    """

    every: int
    count: int
    counted: Literal["messages", "either"]
    seen: tuple[SlowPlaces, ...]
    lacking: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class Lengthening(Difference):
    """Each of `messages` takes longer than the one before, by per_message_s; `cells` agree on it."""

    per_message_s: float
    interval: Interval
    messages: int
    p: float
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class LaunchLottery(Difference):
    """slow_launches of `launches` are slow, in `cells` of `asked`. work_ratio: fixed work, slow launches over others.

    order_p: chance of so few changes between the two kinds in the order of time.
    """

    slow_launches: int
    launches: int
    work_ratio: float
    order_p: float
    cells: tuple[CellResult, ...]
    asked: int


@dataclass(frozen=True)
class Processors:
    """Where ranks may run. shared: a node has fewer processors than ranks. movable: one may run on several."""

    words: str
    shared: bool
    movable: bool


@dataclass(frozen=True)
class SharedPlacement:
    """A placement that was to give each rank a core, and ranks share one. metric, fastest_s: of its fastest message."""

    name: str
    ranks: str
    metric: str
    fastest: CellResult
    fastest_s: float
    cells: tuple[CellResult, ...]


@dataclass(frozen=True)
class ControlVariable:
    """A setting of the library (MPI_T) with a length in bytes. about: first line of its description."""

    name: str
    value: float
    about: str


@dataclass(frozen=True)
class Variation:
    """Both sides of a difference as they are and with something changed, seconds, of the same launches in one order."""

    slow_s: Sequence[float]
    slow_varied_s: Sequence[float]
    fast_s: Sequence[float]
    fast_varied_s: Sequence[float]

    @property
    def times_s(self) -> tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]:
        """As `stats.removed` takes them."""
        return self.slow_s, self.slow_varied_s, self.fast_s, self.fast_varied_s


class Evidence(Protocol):
    """What a run offers to rules. Lists are in the order of the results."""

    @property
    def cells(self) -> Mapping[int, CellResult]:
        """By number."""

    @property
    def imported(self) -> bool:
        """Whether it is made of logs, which do not say how they were launched."""

    def slowdowns(self, *axes: str, phase: str) -> list[Slowdown]:
        """Decided contrasts on one of these axes with both sides in this phase."""

    def screened(self, *parameters: str) -> list[Screened]:
        """What these parameters do where many were varied at once, where that is decided and clear."""

    def facts(self, kind: type[Fact]) -> Sequence[Fact]:
        """Of a kind that has a file of its own, as those of collectives: gather/facts.py lists them."""

    def first_uses(self) -> Sequence[FirstUse]:
        """Slow first messages, each cell in at most one of them; those with a law come first."""

    def growths(self, covariate: str, laws: Sequence[str], *, phase: str = "steady") -> Sequence[Growth]:
        """Lines over one number that follow another of these laws (by name) than "constant"."""

    def late_fast_paths(self) -> Sequence[LateFastPath]:
        """Buffers whose first n - 1 messages are slow, n above 3."""

    def protocol_switches(self) -> Sequence[ProtocolSwitch]:
        """The clearest switch of each line of message lengths."""

    def exposed_messages(self) -> Sequence[ExposedMessage]:
        """Messages that hide less than half of themselves behind a computation without MPI_Test."""

    def slow_peers(self) -> Sequence[SlowPeer]:
        """Ranks to which messages take clearly longer than to all others."""

    def slow_puts(self) -> Sequence[SlowPut]:
        """Of each kind of window the put that loses most against a message."""

    def unexpected_receives(self) -> Sequence[UnexpectedReceive]:
        """Late receives that take longer than early ones by more than their calls differ."""

    def periods(self) -> Sequence[Periodic]:
        """Of each place and period in messages the cell that loses most by it."""

    def lengthenings(self) -> Sequence[Lengthening]:
        """Of each place the messages that take longer the more were sent, by the same for each in unlike cells."""

    def launch_lotteries(self) -> Sequence[LaunchLottery]:
        """Launches of two kinds that neither the machine's own speed nor a phase of it makes."""

    def shared_placements(self) -> Sequence[SharedPlacement]:
        """Placements of one core a rank in which ranks share one."""

    def difference_law(self, group: Sequence[Slowdown]) -> FittedLaw | None:
        """Law of slow minus fast over message lengths; None with fewer than 3 comparable contrasts."""

    def over_lengths(self, one: Slowdown) -> list[Slowdown]:
        """The same two sides at every length of message that was measured, decided or not."""

    def page_law(self, group: Sequence[Slowdown]) -> FittedLaw | None:
        """Law of both sides' times over the pages that a message touches; None: these were not observed."""

    def law_over(self, covariate: str, one: Slowdown, laws: Sequence[str]) -> FittedLaw | None:
        """Which of these laws the line through the slow cell follows; None: it lies on no such line."""

    def variation(
        self,
        cells: tuple[CellResult, CellResult],
        changes: tuple[Mapping[str, str], Mapping[str, str]],
        metric: str,
        phases: tuple[str, str],
    ) -> Variation | None:
        """Slow and fast cell as they are and with parameters changed, all four in the launches of one run, this one or
        one that was made for it; None: there is none.
        """

    def setting(self, cell: CellResult) -> str | None:
        """Library-neutral name of its environment's state, as "network_path"; None: none was asked for."""

    def variables(self, cell: CellResult) -> Mapping[str, str]:
        """Variables that its environment sets."""

    def stated(self, cell: CellResult) -> Mapping[str, str]:
        """Of an imported log: what its importer stated of the launch, as nodes, transport, bind."""

    def as_found(self, cell: CellResult) -> bool:
        """Whether its environment is the library's own: nothing set and nothing unset."""

    def is_default(self, cell: CellResult) -> bool:
        """Whether its environment is that of users who change nothing, with what they had exported before."""

    def over_network(self, cell: CellResult) -> bool:
        """Whether its messages take the network's path, or go from one node to another."""

    def processors(self, cell: CellResult) -> Processors | None:
        """Where its ranks may run; None: not recorded."""

    def place(self, cells: Sequence[CellResult], words: Sequence[str] = ()) -> Place:
        """Where cells are that share their MPI; a name that they do not share is None."""

    def control_variables(self, place: Place, low: float, high: float) -> list[ControlVariable] | None:
        """Those whose value lies in [low, high] under this library and environment; None: none were recorded."""

    def ucx_protocols(self, place: Place, low: float, high: float) -> list[str]:
        """Rows of UCX's table of protocols that begin in (low, high], in words."""
