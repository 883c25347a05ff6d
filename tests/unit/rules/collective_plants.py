# SPDX-License-Identifier: Apache-2.0
"""Collectives with one slow path each, planted and clean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from planted_results import KIB, LAUNCHES, Planted, placement, witness

from slowpath.core.cell_results import MessageCounts
from slowpath.mpi import algorithms
from slowpath.mpi.algorithms import Schedule, graph_of, recognise
from slowpath.mpi.own_settings import KEEP_FREED

WORK = "collective_work_s"
CALLS, COMMUNICATORS = 64, 760
BEFORE_S, SETUP_S, AFTER_S, SPENT_S = 1.1e-6, (45e-6, 5e-6, 5e-6, 5e-6), 0.3e-6, 4.6e-6
THRESHOLD, LIMIT = "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD", "MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE"
EACH_KIB = 100.0  # shared memory of a communicator of two ranks


def numbered(run: Planted, times_s: Sequence[float], seed: int, **parameters: Any) -> int:
    """A cell with one value a number and launch, 3 % of noise, and in each launch five that something disturbed."""
    random = np.random.default_rng((seed, len(run.cells)))
    rows = np.array(times_s) * np.exp(random.normal(0, 0.03, (LAUNCHES, len(times_s))))
    for row in rows:
        row[random.integers(0, len(times_s), 5)] += random.exponential(1e-5, 5)
    phase = "first" if parameters["pattern"] == "counted" else "steady"
    number = run.cell({WORK: {phase: float(np.median(rows))}}, experiment="coll", calls=len(times_s), **parameters)
    uses = {"repetitions": list(range(1, len(times_s) + 1)), "launches": list(range(LAUNCHES))}
    run.cells[number]["metrics"][WORK]["by_repetition"] = {**uses, "launch_values": rows.tolist()}
    return number


def opens(run: Planted, slow: bool, at: int = 5, scale: float = 1.0, flat: bool = False, **parameters: Any) -> int:
    """A fresh communicator's calls; clean ones are as fast from the second on."""
    front = [BEFORE_S] * (at - 1) + list(SETUP_S) if slow and not flat else [1.4 * AFTER_S]
    times_s = [scale * one for one in (front + [AFTER_S] * CALLS)[:CALLS]]
    return numbered(run, times_s, at, pattern="counted", **parameters)


def opening(run: Planted, slow: bool) -> None:
    """Three collectives of three lengths, one that has no such path, and the variable that sets the call."""
    for environment, at in (("default", 5), ("at 9", 9), ("never", 1000)):
        if environment != "default":
            value = {"at 9": "9", "never": "1000000"}[environment]
            run.environment(environment, **{THRESHOLD: value})
        for length, scale in ((8, 1.0), (4 * KIB, 2.0), (64 * KIB, 20.0)):
            for name in ("bcast", "reduce", "allreduce"):
                more = {"collective": name, "message_bytes": length, "environment": environment}
                if at > CALLS and slow:
                    numbered(run, [scale * BEFORE_S] * CALLS, at, pattern="counted", **more)
                else:
                    opens(run, slow, at, scale, **more)
        opens(run, slow, at, flat=True, collective="alltoall", message_bytes=8, environment=environment)


def closes(run: Planted, slow: bool, limit_kib: int, **parameters: Any) -> int:
    room = int(limit_kib // EACH_KIB) if slow else COMMUNICATORS
    times_s = ([AFTER_S] * room + [SPENT_S] * COMMUNICATORS)[:COMMUNICATORS]
    return numbered(run, times_s, limit_kib, pattern="communicators", **parameters)


def closing(run: Planted, slow: bool) -> None:
    """One collective that takes memory of each communicator, one that does not, and the limit's variable."""
    for environment, limit_kib in (("default", 65536), ("half", 32768), ("double", 131072)):
        if environment != "default":
            run.environment(environment, **{LIMIT: str(limit_kib)})
        closes(run, slow, limit_kib, collective="allreduce", message_bytes=8, environment=environment)
        closes(run, False, limit_kib, collective="alltoall", message_bytes=8, environment=environment)


SOCKETS, LOGARITHMIC = "messages_by_sockets", "logarithmic_by_sockets"
RANKS = (2, 3, 4, 5, 6, 7, 8, 12, 16)
Schedules = Callable[[int], Schedule]


def counted(run: Planted, collective: str, schedule: Schedules, ranks: Sequence[int] = RANKS, **more: Any) -> None:
    """Cells whose messages are those of a schedule, as analyse.messages gives them."""
    for number in ranks:
        graph = graph_of(schedule(number), number)
        known = recognise(collective, graph, 8 if graph.messages else None)
        found = MessageCounts(
            ranks=number,
            sent=list(graph.sent),
            received=list(graph.received),
            sent_bytes=None,
            chain=graph.chain,
            rounds=graph.rounds,
            settled=True,
            to_self=0,
            acknowledgements=0,
            header_bytes=22,
            calls=4 * number,
            launches=2,
            of_calls=4 * number,
            algorithms=list(known.names),
            growths=list(known.growths),
            exact=bool(known.names),
            text=f"{len(graph.messages)} messages",
        )
        run.cell(
            {},
            experiment="coll",
            pattern="messages",
            collective=collective,
            message_bytes=8,
            members=number,
            also={"messages": msgspec.to_builtins(found), "witnessed": True},
            **more,
        )


def prefix_chain(ranks: int) -> Schedule:
    return algorithms.down(ranks, algorithms.before)


def tree(ranks: int) -> Schedule:
    return algorithms.down(ranks, algorithms.lowest_bit_cleared)


def linear(run: Planted, slow: bool) -> None:
    """A scan from rank to rank, or by doubling; one collective that is a tree; the first with a forced algorithm."""
    run.mpi |= {"mpi": "mpich", "name": "openmpi", "version": "5.0.11"}
    for environment, state in (("by sockets", SOCKETS), ("logarithmic", LOGARITHMIC)):
        run.environment(environment, state)
        is_chain = slow and state == SOCKETS
        counted(run, "scan", prefix_chain if is_chain else algorithms.prefix_doubling, environment=environment)
        counted(run, "bcast", tree, environment=environment)


def call(run: Planted, steady_s: float, environment: str = "default", faults: float = 0.0, **parameters: Any) -> int:
    """A cell of later calls. faults: page faults of a call, on the last rank."""
    also = {"witness": witness("steady", 0.0, faults)}
    more = {"pattern": "calls", **parameters, "also": also}
    return run.cell({WORK: {"steady": steady_s}}, experiment="coll", environment=environment, **more)


def size_cliff(run: Planted, slow: bool) -> None:
    """A reduction that takes memory from the system from 128 KiB on, and one that does not."""
    kept = run.environment("kept", GLIBC_TUNABLES=KEEP_FREED)
    for environment in ("default", kept):
        for length in (16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB):
            faults = length / 4096 if slow and environment == "default" and length >= 128 * KIB else 0.0
            line_s = 1e-6 + length * 2e-10
            call(run, line_s + faults * 1e-6, environment, faults, collective="reduce", message_bytes=length)
            call(run, line_s, environment, collective="bcast", message_bytes=length)


def count_cliff(run: Planted, slow: bool) -> None:
    """One element of a long type is slow, unless another algorithm is forced; where nothing is reduced it is not."""
    forced = run.environment("forced", "allreduce_algorithm_without_splitting", OMPI_MCA_coll_tuned_allreduce="2")
    for environment, factor in (("default", 2.5 if slow else 1.0), (forced, 1.0)):
        for name, worse in (("allreduce", factor), ("alltoall", 1.0)):
            more = {"collective": name, "op": "user", "message_bytes": 64 * KIB, "environment": environment}
            many = call(run, 2e-5, shape="elements", **more)
            one = call(run, 2e-5 * worse, shape="one_type", **more)
            run.contrast("shape", WORK, (many, "elements"), (one, "one_type"))


def path(run: Planted, slow: bool) -> None:
    """MPI_THREAD_MULTIPLE closes what a variable closes, too; a collective without that path is the same."""
    level = run.environment("threads", SLOWPATH_THREAD_LEVEL="multiple")
    never = run.environment("never", "collectives_never_open", **{THRESHOLD: "1000000"})
    for name, open_s in (("allreduce", AFTER_S if slow else BEFORE_S), ("alltoall", BEFORE_S)):
        usual = call(run, open_s, collective=name, message_bytes=8)
        threads = call(run, BEFORE_S, level, collective=name, message_bytes=8)
        call(run, BEFORE_S, never, collective=name, message_bytes=8)
        run.contrast("environment", WORK, (usual, "default"), (threads, "threads"), usual="a")


def arrival(run: Planted, slow: bool) -> None:
    for length in (8, 64 * KIB):
        more = {"collective": "bcast", "message_bytes": length}
        together = call(run, 1e-5, arrival="together", **more)
        late = call(run, 1e-5 * (1.6 if slow else 0.9), arrival="one_late", arrival_ratio=10, **more)
        run.contrast("arrival", WORK, (together, "together"), (late, "one_late"))


def crowded(run: Planted, slow: bool) -> None:
    """Two ranks on one core; the setting makes ranks that wait yield."""
    run.placements[0] = placement("bound", "0", "0")
    yields = run.environment("yields", "yield_when_idle", OMPI_MCA_mpi_yield_when_idle="1")
    usual = call(run, 4e-3 if slow else 2e-6, collective="barrier", message_bytes=0)
    better = call(run, 2e-6, yields, collective="barrier", message_bytes=0)
    run.contrast("environment", WORK, (better, "yields"), (usual, "default"), usual="b")


def last_root(run: Planted, slow: bool) -> None:
    for length in (8, 64 * KIB):
        more = {"collective": "bcast", "message_bytes": length}
        first = call(run, 1e-5, root="first", **more)
        last = call(run, 1e-5 * (1.6 if slow else 1.0), root="last", **more)
        run.contrast("root", WORK, (first, "first"), (last, "last"))
        run.cell({"half_round_trip_latency_s": {"steady": 1e-6}}, pattern="ping_pong", message_bytes=length)


PLANTS = {
    "SP037": size_cliff,
    "SP038": count_cliff,
    "SP039": linear,
    "SP040": opening,
    "SP041": closing,
    "SP042": path,
    "SP045": arrival,
    "SP046": crowded,
    "SP069": last_root,
}
