# SPDX-License-Identifier: Apache-2.0
"""The experiment `coll`: collectives, and what the library's other calls make of them."""

from __future__ import annotations

from slowpath.experiments.coll.cost import coll_across_s, coll_recorded_bytes, coll_seconds
from slowpath.experiments.coll.late import LateStarts
from slowpath.experiments.coll.metrics import (
    LOOP_MEAN,
    LOOP_SLOWEST,
    OWN,
    SPAN,
    WORK,
    by_communicator,
    call_by_call,
    in_loop,
    overlap,
)
from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.metric import AROUND_COMPUTING, Metric

EXPERIMENT = "coll"

_METRICS = (
    Metric(WORK, "s", "lower", "T_work of one collective: from the last rank's entry to the last rank's exit"),
    Metric(SPAN, "s", "lower", "T_span of one collective: from the first rank's entry to the last rank's exit"),
    Metric(OWN, "s", "lower", "T_own of the slowest rank: the longest time from its entry to its exit"),
)
_LOOP = (
    Metric(LOOP_MEAN, "s", "lower", "one of calls in a loop, mean over ranks, as OSU prints it and IMB as t_avg"),
    Metric(LOOP_SLOWEST, "s", "lower", "one of calls in a loop on the slowest rank, as IMB prints it as t_max"),
)
_OVERLAP = (
    _METRICS[-1],
    *AROUND_COMPUTING,
)

COLL = Experiment(
    name=EXPERIMENT,
    patterns=(
        Pattern("calls", call_by_call, _METRICS),
        Pattern("counted", call_by_call, _METRICS),
        Pattern("communicators", by_communicator, _METRICS),
        Pattern("messages", lambda parameters, blocks, launch: {}, ()),
        Pattern("overlap", overlap, _OVERLAP),
        Pattern("after_barrier", in_loop, _LOOP),
        Pattern("back_to_back", in_loop, _LOOP),
    ),
    roles={
        "pattern": "setting",
        "collective": "setting",
        "way": "setting",
        "start": "setting",
        "message_bytes": "covariate",
        "datatype": "setting",
        "shape": "setting",
        "op": "setting",
        "in_place": "setting",
        "destinations": "setting",
        "communicator": "setting",
        "members": "covariate",
        "duplicates": "covariate",
        "root": "setting",
        "arrival": "setting",
        "arrival_ratio": "covariate",
        "calls": "covariate",
        "samples": "effort",
        "time_limit_s": "effort",
        "warmup_s": "effort",
        "validate": "effort",
    },
    seconds=coll_seconds,
    across_s=coll_across_s,
    recorded_bytes=coll_recorded_bytes,
    observer=LateStarts,
    views=("coll", "scaling"),
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
)
