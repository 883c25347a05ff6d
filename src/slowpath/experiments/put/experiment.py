# SPDX-License-Identifier: Apache-2.0
"""The experiment `put`: bursts of one-sided operations."""

from __future__ import annotations

from functools import partial

from slowpath.core.put_results import PutResults
from slowpath.experiments.experiment import Concluded, Experiment, Pattern, SideEffect, Study
from slowpath.experiments.measured.recorded import recorded_bytes
from slowpath.experiments.metric import Metric
from slowpath.experiments.put.cost import put_seconds
from slowpath.experiments.put.metrics import SYNCHRONISATION, burst
from slowpath.experiments.put.parameters import ROLES
from slowpath.experiments.put.table import EXPERIMENT, build_put

_METRICS = (
    Metric(
        "time_per_put_s",
        "s",
        "lower",
        "one put and its share of the synchronisation",
        bandwidth=True,
        message_rate=True,
    ),
    Metric("put_call_s", "s", "lower", "one put of a burst, without the synchronisation"),
    Metric("synchronisation_s", "s", "lower", "the synchronisation that ends a burst"),
)
_COUNTED = (
    Metric("instructions_per_put", "instructions", "lower", "instructions inside the calls of one put"),
    Metric(
        "instructions_per_synchronisation",
        "instructions",
        "lower",
        "instructions inside the calls of the synchronisation",
    ),
)

# no_locks promises that no lock is taken, so that it has only the synchronisations that take none.
_HARMED = SideEffect(
    axes=("window", "window_info", "synchronise"),
    parameters={"operation": ["get", "accumulate"]},
    metric="time_per_put_s",
    safe_values=("no_locks",),
)
_PARTS = 3  # whole bursts, puts alone, synchronisation alone


def _study(found: Concluded) -> PutResults | None:
    return build_put(found.cells, found.contrasts)


PUT = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("burst", burst, _METRICS),),
    counted=_COUNTED,
    roles=ROLES,
    seconds=put_seconds,
    recorded_bytes=partial(recorded_bytes, parts=_PARTS),
    synchronisation=SYNCHRONISATION,
    study=Study("put", _study, lambda found, cells: []),
    views=("put",),
    brief={"samples": "40", "time_limit_s": "0.004", "warmup_s": "0.001", "instructions": "0", "puts": "200"},
    side_effects=(_HARMED,),
)
