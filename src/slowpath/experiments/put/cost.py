# SPDX-License-Identifier: Apache-2.0
"""The experiment `put`: which parameters can't go together, and what a cell costs.

The rules are the engine's own (engine/studies/put/refusals.cpp), so that a campaign that the engine would refuse is
refused before anything is launched. Which design has which `call` and `checks` is known to the engine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from slowpath.core.errors import UsageError

Parameters = Mapping[str, str]

LAYERS_WITH_DATATYPES = ("mpi", "complex", "simple", "ladder")
FIRST_RUNG_WITH_DATATYPES = 7  # datatype decode (engine/studies/layers/ladder.cpp)
MOST_WITH_INT_BYTES = (2**31 - 1) * 8  # a count of elements of 8 bytes
_ATOMIC = ("fetch_and_op", "compare_and_swap")
_ACTIVE = ("fence", "pscw")


@dataclass(frozen=True)
class Rule:
    """broken: whether a cell breaks it.  because: what is wrong and what to do."""

    broken: Callable[[Parameters], bool]
    because: str


MPI_RULES = (
    Rule(
        lambda p: p["call"] != "library" or p["checks"] != "on" or p["rung"] != "0",
        "call, checks and rung are for the layers; design=mpi is the library as it is, leave them out",
    ),
    Rule(
        lambda p: p["operation"] == "rput" and p["synchronise"] in _ACTIVE,
        "operation=rput needs a passive target (MPI-4.1 section 12.3.5); "
        "take synchronise=flush_all, flush_local or lock",
    ),
    Rule(
        lambda p: p["operation"] == "accumulate" and p["datatype"] == "contiguous",
        "datatype=contiguous is a struct of int and float, and MPI_Accumulate takes one basic type only "
        "(MPI-4.1 section 12.3.4); take another datatype",
    ),
    Rule(
        lambda p: p["operation"] in _ATOMIC and p["datatype"] != "predefined",
        "operation=fetch_and_op and compare_and_swap take predefined datatypes only; take datatype=predefined",
    ),
    Rule(
        lambda p: p["operation"] in _ATOMIC and p["message_bytes"] != "8",
        "operation=fetch_and_op and compare_and_swap move one element; take message_bytes=8",
    ),
    Rule(
        lambda p: p["window_info"] == "no_locks" and p["synchronise"] not in _ACTIVE,
        "window_info=no_locks promises that no lock is taken; take synchronise=fence or pscw",
    ),
)

OTHER_RULES = (
    Rule(lambda p: p["operation"] != "put", "only design=mpi has other operations than put"),
    Rule(
        lambda p: p["window"] in ("create", "dynamic"),
        "only design=mpi has kinds of windows; the others use memory that both ranks reach, leave window out",
    ),
    Rule(
        lambda p: p["synchronise"] != "flush_all",
        "only design=mpi has ways to synchronise; leave synchronise out",
    ),
    Rule(lambda p: p["window_info"] != "default", "only design=mpi has info keys; leave window_info out"),
    Rule(
        lambda p: p["datatype"] == "large_count",
        "datatype=large_count is MPI_Put_c, which only design=mpi has; take another datatype",
    ),
    Rule(lambda p: p["rung"] != "0" and p["design"] != "ladder", "rung is for design=ladder; leave it out"),
    Rule(
        lambda p: p["datatype"] != "predefined" and p["design"] not in LAYERS_WITH_DATATYPES,
        "only design=mpi, complex, simple and ladder know datatypes; take datatype=predefined",
    ),
    Rule(
        lambda p: (
            p["datatype"] != "predefined" and p["design"] == "ladder" and int(p["rung"]) < FIRST_RUNG_WITH_DATATYPES
        ),
        f"the ladder knows datatypes from rung {FIRST_RUNG_WITH_DATATYPES} on; take datatype=predefined",
    ),
)


def check_put(parameters: Parameters, ranks: int) -> None:
    """Refuses what the engine would refuse.  Raises: UsageError."""
    message = int(parameters["message_bytes"])
    if message % 8:
        raise UsageError(f"message_bytes {message} is no multiple of 8, the payload of one element of every datatype")
    if message > MOST_WITH_INT_BYTES and parameters["datatype"] != "large_count":
        raise UsageError(f"message_bytes {message} needs a count over INT_MAX; take datatype=large_count")
    for rule in MPI_RULES if parameters["design"] == "mpi" else OTHER_RULES:
        if rule.broken(parameters):
            raise UsageError(f"design={parameters['design']}: {rule.because}")


@dataclass(frozen=True)
class PutCost:
    """Assumed speeds of a slow machine, as in `plan.cost.CostModel`."""

    cell_s: float = 0.005  # the window, agreement, gathering, comparing
    layer_s: float = 5e-9  # one put by a layer or a limit
    put_s: float = 60e-9  # one put of a library
    datatype_s: float = 300e-9  # added by blocks and gaps
    separate_memory_s: float = 1.5e-6  # added by windows over memory that only the target has: create, dynamic
    synchronisation_s: float = 5e-6
    bytes_per_s: float = 4e9
    counted_instruction_s: float = 30e-6
    fewest_samples: int = 8
    shortest_sample_s: float = 10e-6


def put_seconds(parameters: Parameters, cost: PutCost | None = None) -> float:
    """Seconds that one cell takes in one launch."""
    cost = cost or PutCost()
    one_s = _one_put_s(parameters, cost)
    burst_s = int(parameters["puts"]) * one_s + cost.synchronisation_s
    sample_s = max(burst_s, cost.shortest_sample_s)
    sampled_s = int(parameters["samples"]) * sample_s
    part_s = max(cost.fewest_samples * sample_s, min(float(parameters["time_limit_s"]), sampled_s))
    warmup_s = max(4 * burst_s, float(parameters["warmup_s"]))
    counted_s = int(parameters["instructions"]) * _instructions(parameters) * cost.counted_instruction_s
    return cost.cell_s + warmup_s + 2 * part_s + counted_s  # whole bursts, then split ones


def _one_put_s(parameters: Parameters, cost: PutCost) -> float:
    moved_s = int(parameters["message_bytes"]) / cost.bytes_per_s
    if parameters["design"] != "mpi":
        return cost.layer_s + moved_s
    separate = parameters["window"] in ("create", "dynamic")
    typed = parameters["datatype"] in ("vector", "indexed")
    return cost.put_s + moved_s + separate * cost.separate_memory_s + typed * cost.datatype_s


def _instructions(parameters: Parameters) -> int:
    """Of one put, roughly."""
    if parameters["design"] != "mpi":
        return 100
    if parameters["datatype"] in ("vector", "indexed"):
        return 4000
    return 1300 if parameters["window"] in ("create", "dynamic") else 700
