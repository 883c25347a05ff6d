# SPDX-License-Identifier: Apache-2.0
"""results.json as a machine with one known slow path would give it: times with the noise of launches, by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

import support.results
from slowpath.core import cell_results, results
from slowpath.core.cell_results import CellResult, MetricEstimate, MetricResult
from slowpath.core.result import Result
from slowpath.stats.contrast import judge, paired

KIB, MIB, GIB = 2**10, 2**20, 2**30
LAUNCHES = 8
MINIMUM_EFFECT = 0.03
Times = Mapping[str, Mapping[str, float]]  # metric -> phase -> seconds


class Planted:
    """Collects cells and contrasts.  launch_values have `noise` of their own and a drift that all cells share."""

    def __init__(self, seed: int = 1, noise: float = 0.01) -> None:
        self._random = np.random.default_rng(seed)
        self._drift = np.exp(self._random.normal(0, 0.05, LAUNCHES))
        self._noise = noise
        self.cells: list[dict[str, Any]] = []
        self.contrasts: list[dict[str, Any]] = []
        self.environments: list[dict[str, Any]] = [_environment("default")]
        self.placements: list[dict[str, Any]] = [placement("bound", "0", "1")]
        self.machine: dict[str, Any] = {}
        self.mpi: dict[str, Any] = {"mpi": "mpich", "unavailable": None, "name": "mpich", "version": "5.0.2"}

    def environment(self, name: str, setting: str | None = None, **variables: str) -> str:
        self.environments.append(_environment(name) | {"setting": setting, "variables": variables})
        return name

    def cell(self, times: Times, *, experiment: str = "p2p", environment: str = "default", **more: Any) -> int:
        """Number of the new cell.  more: what of its entry is not a parameter stands in `also`, the rest are those."""
        also = more.pop("also", {})
        number = len(self.cells)
        parameters = {name: str(value) for name, value in more.items()}
        label = ", ".join([*(f"{k}={v}" for k, v in parameters.items()), environment])
        entry = {"cell": number, "key": f"key{number}", "group": "planted", "label": label, "experiment": experiment}
        entry |= {"parameters": parameters, "mpi": "mpich", "environment": environment, "placement": "bound", "copy": 1}
        entry |= {"status": "ok", "reason": None, "allocations": None, "witness": None, "instructions": None}
        self.cells.append(entry | {"metrics": {m: self._metric(phases) for m, phases in times.items()}} | also)
        return number

    def _metric(self, phases: Mapping[str, float]) -> dict[str, Any]:
        return {"unit": "s", "better": "lower", "phases": {p: self.estimate(value) for p, value in phases.items()}}

    def estimate(self, value: float) -> dict[str, Any]:
        """An ESTIMATE with what rules and laws read of it."""
        values = value * self._drift * np.exp(self._random.normal(0, self._noise, LAUNCHES))
        return {
            "value": float(np.median(values)),
            "interval": [float(values.min()), float(values.max())],
            "interval_kind": "signed-rank 95 %",
            "launch_values": values.tolist(),
            "launches": LAUNCHES,
            "samples": 40 * LAUNCHES,
            "within_ratio": 0.02,
        }

    def contrast(
        self, axis: str, metric: str, a: tuple[int, str], b: tuple[int, str], phase: str = "steady", **more: Any
    ) -> None:
        """b against a: (cell, value of the axis)."""
        phases = more.pop("phases", (phase, phase))
        sides = [
            {"cell": cell, "phase": p, "label": self.cells[cell]["label"], "value": value}
            for (cell, value), p in zip((a, b), phases, strict=True)
        ]
        times = [self.cells[s["cell"]]["metrics"][metric]["phases"][s["phase"]] for s in sides]
        estimate = paired(times[0]["launch_values"], times[1]["launch_values"], MINIMUM_EFFECT)
        verdict = judge(estimate, estimate.p)
        entry = {"id": f"c{len(self.contrasts)}", "group": axis, "question": f"{axis}?", "axis": axis, "where": ""}
        entry |= {"a": sides[0], "b": sides[1], "metric": metric, "control": False, "explains": False, "usual": None}
        entry |= {
            "a_value_s": times[0]["value"],
            "b_value_s": times[1]["value"],
            "ratio": estimate.ratio,
            "suspect": [],
        }
        entry |= {"interval": list(estimate.interval or ()), "verdict": verdict.word, "minimum_effect": MINIMUM_EFFECT}
        self.contrasts.append(entry | more)

    def results(self) -> results.Results:
        """As the model has it: a name that it does not know is an error."""
        run = _whole(results.RunResult, _RUN, mpi=self.mpi, mpis=[self.mpi], placements=self.placements)
        run["environments"], run["machine"] = self.environments, self.machine
        whole = _whole(results.Results, _RESULTS, run=run, cells=[_cell(cell) for cell in self.cells])
        whole["contrasts"] = [_whole(results.ContrastResult, _CONTRAST, **contrast) for contrast in self.contrasts]
        return msgspec.convert(whole, results.Results)


def _whole(kind: type[Result], neutral: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    """What the model asks for and no rule reads, with what was given."""
    known = set(kind.__struct_encode_fields__)
    assert known >= neutral.keys() | given.keys(), f"{kind.__name__} has no {(neutral.keys() | given.keys()) - known}"
    return {**neutral, **given}


def _cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    made = _whole(CellResult, _CELL, **cell)
    made["metrics"] = {name: _whole_metric(metric) for name, metric in cell["metrics"].items()}
    if made["allocations"] is not None:
        made["allocations"] = _whole(cell_results.Allocations, _ALLOCATIONS, **made["allocations"])
    return made


def _whole_metric(metric: Mapping[str, Any]) -> dict[str, Any]:
    made = _whole(MetricResult, _METRIC, **metric)
    made["phases"] = {
        name: _whole(MetricEstimate, _ESTIMATE, **estimate) for name, estimate in metric["phases"].items()
    }
    return made


_CELL = msgspec.to_builtins(support.results.a_cell())
_METRIC = msgspec.to_builtins(support.results.a_metric())
_ESTIMATE = msgspec.to_builtins(support.results.an_estimate())
_CONTRAST = msgspec.to_builtins(support.results.a_contrast())
_RUN = msgspec.to_builtins(support.results.a_run())
_RESULTS = msgspec.to_builtins(support.results.results())
_ALLOCATIONS: Mapping[str, Any] = {"count": 1, "reused_address": 0, "huge_ratio": None, "mpi_memory_kinds": []}


def _environment(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "mpi": None,
        "setting": None,
        "variables": {},
        "unset": [],
        "witness": False,
        "unavailable": None,
    }


def placement(name: str, *cpus: str) -> dict[str, Any]:
    """A placement as the ranks observed it: the allowed processors of each."""
    ranks = [{"rank": r, "host": "n1", "cpus_allowed": text, "cpu": 0} for r, text in enumerate(cpus)]
    return {"name": name, "bind": "core", "observed": ranks, "differs": []}


def witness(phase: str, system_s: float, faults: float = 0.0, calls: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A cell's witness: all of it on the receiver's side."""
    receive: dict[str, Any] = {"minor_faults_per_op": faults, "major_faults_per_op": 0.0, "operations": 40}
    receive |= {"system_time_s_per_op": system_s, "involuntary_switches": 0}
    if calls is not None:
        receive["calls"] = calls
    return {phase: {"send": None, "receive": receive}}


def granule_cost_s(length: int, costs: Sequence[tuple[int, float]]) -> float:
    """Pages of the largest size that divides the length (rounded up to 4 KiB), each at its cost. costs: descending."""
    whole = -(-length // 4096) * 4096
    for size, cost_s in costs:
        if whole % size == 0:
            return whole // size * cost_s
    raise AssertionError("4 KiB divides every length")
