# SPDX-License-Identifier: Apache-2.0
"""What a survey measures with all ranks, in the order of its worth: what comes last is left out first. Pure.

Cells of the experiments coll and first_use, short ones. Which collective is held against which other calls says
slowpath.mpi.guidelines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.campaign import EVERY, EnvironmentTable, Values, scalars
from slowpath.mpi.guidelines import COMPARED, GUIDELINES

WORK = "collective_work_s"
BRIEF = {"samples": "24", "time_limit_s": "0.006", "warmup_s": "0.001"}
LENGTHS = ("8", "8192", "262144")
_PER_RANK = frozenset({"gather", "scatter", "allgather", "alltoall", "allgatherv", "alltoallv", "gatherv", "scatterv"})


DEFAULT, EVERY_ENVIRONMENT = ("default",), (EVERY,)


@dataclass(frozen=True)
class RankPair:
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
    """A group of cells. counted: its calls are counted, and no time of it is used.

    environments: of the survey; EVERY_ENVIRONMENT: all of it, whose launches it shares.
    own_environments: of this group alone, next to the others.
    everywhere: measured in each placement, and not in the first alone.  most_ranks: with more it is left out, since
    it would take too long.  least_ranks: with fewer there is nothing to see.
    crowded: of all ranks where they share cores, and else left out.
    is_early: it goes before most others.
    """

    name: str
    parameters: Mapping[str, Values]
    pairs: tuple[RankPair, ...] = ()
    environments: tuple[str, ...] = DEFAULT
    experiment: str = "coll"
    counted: bool = False
    everywhere: bool = False
    most_ranks: int | None = None
    least_ranks: int = 2
    crowded: bool = False
    is_early: bool = False
    own_environments: tuple[EnvironmentTable, ...] = ()
    effort: Mapping[str, str] = field(default_factory=lambda: BRIEF)

    @property
    def needs(self) -> str:
        """What the engine has to know: an experiment and a pattern of it."""
        return f"{self.experiment} {scalars(self.parameters.get('pattern', 'calls'))[0]}"

    @property
    def grows_with_ranks(self) -> bool:
        """Whether each rank has a block for each other one."""
        return bool(_PER_RANK & set(scalars(self.parameters.get("collective", ()))))


def held_against(collective: str) -> Part | None:
    """The collective against what the library's other calls make of it; None: nothing is known that makes it."""
    ways = list(dict.fromkeys(g.mockup for g in GUIDELINES if g.collective == collective and g.mockup is not None))
    if not ways:
        return None
    lengths = {} if collective == "barrier" else {"message_bytes": list(LENGTHS)}
    pairs = tuple(
        RankPair(
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
        {"collective": collective, **lengths, "way": ["library", *ways]},
        pairs,
    )


def counted(ranks: int) -> Part:
    """Messages, bytes and rounds inside collectives over 4 ranks to as many as there are; nothing of it is timed."""
    members = sorted({*(one for one in _MEMBERS if one <= ranks), ranks})
    grid = {
        "pattern": "messages",
        "collective": ["barrier", "scan", "exscan", "bcast"],
        "message_bytes": "8",
        "members": [str(member) for member in members],
    }
    under = (
        EnvironmentTable("by sockets", witness=True, setting="messages_by_sockets"),
        EnvironmentTable("logarithmic", witness=True, setting="logarithmic_by_sockets"),
    )
    return Part(
        "rounds over ranks",
        grid,
        environments=(),
        own_environments=under,
        counted=True,
        least_ranks=3,
        effort={},
    )


_MEMBERS = (4, 5, 6, 7, 8, 12, 16)
# What can happen only once in a process has one sample a launch.
FIRST_USE = (
    Part(
        "windows by length",
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


def parts(
    ranks: int = 2,
    all_ranks: int | None = None,
    shipped: Sequence[Part] = (),
) -> list[Part]:
    """All of them, the most valuable first.

    Args: ranks: of what is timed.  all_ranks: of what is counted; None: as many.  shipped: of campaigns/coll.toml.
    """
    held = [part for one in COMPARED if (part := held_against(one)) is not None]
    early = [one for one in shipped if one.is_early]
    later = [one for one in shipped if not one.is_early]
    every = [*held[:2], *early, counted(all_ranks or ranks), *held[2:4], *FIRST_USE, *later, *held[4:]]
    of_all = all_ranks or ranks
    return [one for one in every if one.least_ranks <= (of_all if one.counted or one.crowded else ranks)]
