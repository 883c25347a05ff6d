# SPDX-License-Identifier: Apache-2.0
"""What a survey measures with all ranks, in the order of its worth: what comes last is left out first. Pure.

Cells of the experiments coll and first_use, short ones. Which collective is held against which other calls says
slowpath.mpi.guidelines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.diagnose.campaign_text import EnvironmentTable
from slowpath.mpi.collective_paths import PathVariable
from slowpath.mpi.guidelines import GUIDELINES

WORK = "collective_work_s"
BRIEF = {"samples": "24", "time_limit_s": "0.006", "warmup_s": "0.001"}
LENGTHS = ("8", "8192", "262144")
# What programs call most, first.
HELD = (
    "allreduce",
    "bcast",
    "allgather",
    "alltoall",
    "reduce",
    "reduce_scatter_block",
    "gather",
    "scatter",
    "scan",
    "exscan",
    "allgatherv",
    "alltoallv",
    "gatherv",
    "scatterv",
    "reduce_scatter",
)
_PER_RANK = frozenset({"gather", "scatter", "allgather", "alltoall", "allgatherv", "alltoallv", "gatherv", "scatterv"})


DEFAULT, EVERY = ("default",), ("*",)


@dataclass(frozen=True)
class Pair:
    """A contrast along one axis: b, each of several, is held against a."""

    name: str
    question: str
    axis: str
    a: str
    b: tuple[str, ...]
    phase: str = "steady"
    metric: str = WORK
    explains: bool = False


@dataclass(frozen=True)
class Part:
    """A group of cells. rules: that look at it.  counted: its calls are counted, and no time of it is used.

    environments: of the survey; EVERY: all of it, whose launches it shares.
    own_environments: of this group alone, next to the others.
    everywhere: measured in each placement, and not in the first alone.  most_ranks: with more it is left out, since
    it would take too long.  least_ranks: with fewer there is nothing to see.
    """

    name: str
    rules: tuple[str, ...]
    parameters: Mapping[str, str | Sequence[str]]
    pairs: tuple[Pair, ...] = ()
    environments: tuple[str, ...] = DEFAULT
    experiment: str = "coll"
    counted: bool = False
    everywhere: bool = False
    most_ranks: int | None = None
    least_ranks: int = 2
    own_environments: tuple[EnvironmentTable, ...] = ()
    effort: Mapping[str, str] = field(default_factory=lambda: BRIEF)

    @property
    def needs(self) -> str:
        """What the engine has to know: an experiment and a pattern of it."""
        pattern = self.parameters.get("pattern", "calls")
        return f"{self.experiment} {pattern if isinstance(pattern, str) else pattern[0]}"

    @property
    def grows_with_ranks(self) -> bool:
        """Whether each rank has a block for each other one."""
        named = self.parameters.get("collective", ())
        return bool(_PER_RANK & set([named] if isinstance(named, str) else named))


def held_against(collective: str) -> Part | None:
    """The collective against what the library's other calls make of it; None: nothing is known that makes it."""
    ways = list(dict.fromkeys(g.mockup for g in GUIDELINES if g.collective == collective and g.mockup is not None))
    if not ways:
        return None
    lengths = {} if collective == "barrier" else {"message_bytes": list(LENGTHS)}
    pairs = tuple(
        Pair(
            f"{collective} <= {way.replace('+', ' and ')}",
            f"Is the library's {collective} slower than {way}?",
            "way",
            way,
            ("library",),
        )
        for way in ways
    )
    return Part(
        f"{collective} by other calls",
        ("SP036",),
        {"collective": collective, **lengths, "way": ["library", *ways]},
        pairs,
    )


SHAPES = (
    Part(
        "lengths of collectives",
        ("SP037",),
        {"collective": ["bcast", "allreduce", "alltoall", "allgather"], "message_bytes": "8..1MiB*4"},
        everywhere=True,
    ),
    Part(
        "operations",
        ("SP042",),
        {"collective": ["allreduce", "reduce"], "message_bytes": ["8", "65536"], "op": ["sum", "user", "user_ordered"]},
        (
            Pair("user operation", "Is an operation of the user's slower than MPI_SUM?", "op", "sum", ("user",)),
            Pair("ordered operation", "What does it cost that it does not commute?", "op", "user", ("user_ordered",)),
        ),
    ),
    Part(
        "collectives under threads",
        ("SP042",),
        {"collective": ["bcast", "allreduce", "barrier"], "message_bytes": "8"},
        (
            Pair(
                "collectives under threads",
                "What does MPI_THREAD_MULTIPLE cost a collective?",
                "environment",
                "default",
                ("threads",),
            ),
        ),
        environments=EVERY,
    ),
    Part(
        "shapes of elements",
        ("SP038",),
        {"collective": ["bcast", "allgather"], "message_bytes": ["8192", "262144"], "shape": ["elements", "one_type"]},
        (
            Pair(
                "one big element",
                "Is one big element slower than many small ones?",
                "shape",
                "elements",
                ("one_type",),
            ),
        ),
    ),
    Part(
        "arrivals",
        ("SP045",),
        {
            "collective": ["bcast", "allreduce", "alltoall"],
            "message_bytes": ["8", "65536"],
            "arrival": ["together", "one_late"],
            "arrival_ratio": "2",
        },
        (
            Pair(
                "a late rank",
                "Does it take longer from its last rank's entry on where one came late?",
                "arrival",
                "together",
                ("one_late",),
            ),
        ),
    ),
)
# Enough numbers on either side of a change, and collectives that have no such path among them.
_CALLS = {
    "pattern": "counted",
    "collective": ["bcast", "allreduce", "barrier", "reduce", "alltoall"],
    "message_bytes": "8",
    "calls": "24",
}
_COMMUNICATORS = {"pattern": "communicators", "collective": "bcast", "message_bytes": "8"}
_FEW = {"samples": "6", "time_limit_s": "0.0005", "warmup_s": "0"}
_BEHIND = 40  # communicators behind the one at which a path is foretold to close
_USUAL_COMMUNICATORS = 300


def numbered(ranks: int, variables: Sequence[PathVariable]) -> tuple[Part, Part]:
    """Calls of a communicator and communicators one after the other, each also with the library's own variables moved.

    Args: variables: of the library, that open and close such paths.
    """
    opens = [one for one in variables if one.kind == "opens"]
    closes = [one for one in variables if one.kind == "closes"]
    earlier = [_moved(one, at) for one in opens for at in (1, one.default + 4)]
    less = [_moved(one, one.default // 2) for one in closes]
    held = max([one.default // (_KIB_PER_COMMUNICATOR + _KIB_PER_RANK * ranks) for one in closes], default=0)
    calls = held + _BEHIND if held else _USUAL_COMMUNICATORS
    return (
        Part("calls of a communicator", ("SP040",), _CALLS, own_environments=tuple(earlier)),
        Part(
            "communicators",
            ("SP041",),
            {**_COMMUNICATORS, "calls": str(calls)},
            effort=_FEW,
            own_environments=tuple(less),
            most_ranks=MOST_RANKS_OF_MANY,
        ),
    )


def _moved(variable: PathVariable, value: int) -> EnvironmentTable:
    return EnvironmentTable(f"{variable.name}={value}", {variable.name: str(value)})


# MPICH, src/mpid/ch4/shm/posix/release_gather: 32 KiB and a page, and 32 KiB for each rank.
_KIB_PER_COMMUNICATOR, _KIB_PER_RANK = 36, 32
MOST_RANKS_OF_MANY = 16


def counted(ranks: int) -> Part:
    """Messages, bytes and rounds inside collectives over 2 ranks to as many as there are; nothing of it is timed."""
    members = sorted({*(one for one in _MEMBERS if one <= ranks), ranks})
    grid = {
        "pattern": "messages",
        "collective": ["barrier", "scan", "exscan", "bcast", "reduce", "allreduce"],
        "message_bytes": "8",
        "members": [str(one) for one in members],
    }
    under = (
        EnvironmentTable("by sockets", witness=True, setting="messages_by_sockets"),
        EnvironmentTable("logarithmic", witness=True, setting="logarithmic_by_sockets"),
    )
    return Part(
        "rounds over ranks",
        ("SP039",),
        grid,
        environments=(),
        own_environments=under,
        counted=True,
        least_ranks=3,
        effort={},
    )


_MEMBERS = (2, 3, 4, 5, 6, 7, 8, 12, 16)
# What can happen only once in a process has one sample a launch.
FIRST_USE = (
    Part(
        "windows by length",
        ("SP044",),
        {
            "pattern": ["window", "shared_window"],
            "window_bytes": ["1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB"],
            "memory": ["library", "program"],
            "uses": "2",
        },
        experiment="first_use",
        effort={},
    ),
    *(
        Part(
            f"peers, {order}",
            ("SP043",),
            {"pattern": "peer", "order": order},
            environments=(),
            own_environments=(EnvironmentTable(f"peers {order}", {"SLOWPATH_FIRST_PEERS": order}),),
            experiment="first_use",
            effort={},
            least_ranks=4,
        )
        for order in ("ascending", "xor")
    ),
)


def parts(ranks: int = 2, variables: Sequence[PathVariable] = (), all_ranks: int | None = None) -> list[Part]:
    """All of them, the most valuable first.

    Args: ranks: of what is timed.  variables: as of `numbered`.  all_ranks: of what is counted; None: as many.
    """
    held = [part for one in HELD if (part := held_against(one)) is not None]
    calls, communicators = numbered(ranks, variables)
    rounds = counted(all_ranks or ranks)
    first = [*held[:2], calls, rounds, *held[2:4], communicators, *FIRST_USE]
    every = [*first, *SHAPES[:3], *held[4:], *SHAPES[3:]]
    return [one for one in every if one.least_ranks <= (all_ranks or ranks if one.counted else ranks)]


MANY = 64  # with so many there is every group


def with_all_ranks() -> dict[str, tuple[str, ...]]:
    """Rule -> names of the groups that can show it."""
    every = parts(MANY)
    return {rule: tuple(one.name for one in every if rule in one.rules) for one in every for rule in one.rules}
