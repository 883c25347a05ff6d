# SPDX-License-Identifier: Apache-2.0
"""Results of the two studies for the report's tests: puts under two MPIs, and Cannon's algorithm on 2 x 2 ranks."""

from __future__ import annotations

import random

from msgspec.structs import replace

from slowpath.core.cell_results import (
    CellResult,
    Distribution,
    FunctionShare,
    InstructionCounts,
    InstructionRegion,
    InstructionTotal,
    MetricEstimate,
    PerCall,
    RepetitionCounts,
)
from slowpath.core.results import ContrastResult, Results, Verdict
from slowpath.core.study_results import (
    CannonBest,
    CannonBlas,
    CannonGrid,
    CannonGroup,
    CannonPoint,
    CannonResults,
    CannonTimeline,
    CannonVariant,
    CriticalN,
    GroupRepetitions,
    TimelineInterval,
    Value,
)
from slowpath.experiments.cannon.entry import waits, with_hidden
from slowpath.experiments.put import build_put
from support import checkup, scattered
from support import results as model

MPIS = ("mpich", "openmpi")
INSIDE = {"mpich": 650, "openmpi": 250}  # instructions in the call of the libraries
LAYERS = {"complex": (60, 4.0e-9), "shmem_p": (15, 2.5e-9), "empty_call": (2, 2.4e-9), "empty_call_5": (2, 2.4e-9),
          "store": (None, 0.3e-9)}  # fmt: skip
LOOP = 20.0


def _counts(value: int, most: int | None = None) -> PerCall:
    count = Distribution(median=float(value), min=value, max=most or value, mean=float(value), counts={str(value): 16})
    return PerCall(stepped=count, retired=count)


def _region(inside: int | None, shares: list[FunctionShare], most: int | None = None) -> InstructionRegion:
    return InstructionRegion(
        method="trap flag",
        launches=8,
        calls=16,
        loop_per_put=LOOP,
        shares=shares,
        per_call=_counts(inside, most) if inside else PerCall(stepped=None, retired=None),
        total=InstructionTotal(stepped=41.0, retired=41.0),
        reason=None if inside else "no call leaves the program: its instructions are in loop_per_put",
    )


def _put(
    rng: random.Random,
    cells: list[CellResult],
    mpi: str,
    inside: int | None,
    seconds: float,
    shares: list[FunctionShare] | None = None,
    most: int | None = None,
    group: str = "designs",
    **given: str,
) -> CellResult:
    usual = {"pattern": "burst", "design": "mpi", "call": "library", "checks": "on", "operation": "put",
             "window": "allocate", "message_bytes": "8", "puts": "1000", "instructions": "16"}  # fmt: skip
    words = ", ".join(f"{name} {value}" for name, value in given.items()) or "design mpi"
    instructions = InstructionCounts(put=_region(inside, shares or [], most), synchronisation=_region(41, []))
    made = replace(
        scattered.cell(len(cells), group, f"{mpi}, {words}", usual | given),
        experiment="put",
        mpi=mpi,
        instructions=instructions,
        instructions_reason=None,
    )
    for name, value in (("time_per_put_s", seconds), ("synchronisation_s", 3e-8)):
        made = scattered.measure(rng, made, name, value)
        metric = made.metrics[name]
        phases = {phase: _with_rate(estimate) for phase, estimate in metric.phases.items()}
        made = replace(made, metrics={**made.metrics, name: replace(metric, phases=phases)})
    cells.append(made)
    return made


def _with_rate(estimate: MetricEstimate) -> MetricEstimate:
    low, high = estimate.interval or (estimate.value, estimate.value)
    return replace(estimate, message_rate_per_s=1 / estimate.value, message_rate_interval=(1 / high, 1 / low))


def put_results() -> Results:
    """Two libraries; layers and limits in the launches of each; another window."""
    rng = random.Random(7)
    cells: list[CellResult] = []
    contrasts: list[ContrastResult] = []
    for mpi in MPIS:
        shares = [FunctionShare(library="libmpi.so", function=f"part_{i}", per_call=(INSIDE[mpi] - 45) / 10 + i)
                  for i in reversed(range(10))]  # fmt: skip
        most = INSIDE[mpi] + 270 if mpi == "mpich" else None
        own = _put(rng, cells, mpi, INSIDE[mpi], INSIDE[mpi] * 6e-11, shares, most)
        by_design = {name: _put(rng, cells, mpi, count, seconds, design=name)
                     for name, (count, seconds) in LAYERS.items()}  # fmt: skip
        _put(rng, cells, mpi, None, 2e-9, design="complex", call="inlined", checks="off")
        _put(rng, cells, mpi, INSIDE[mpi] + 100, 1e-6, group="window", window="create")
        for a, b in ((by_design["empty_call"], by_design["complex"]), (own, by_design["empty_call"])):
            sides = [(cell_.cell, "steady", cell_.parameters["design"]) for cell_ in (a, b)]
            contrasts.append(
                scattered.contrast(cells, len(contrasts), "empty", "How far?", "design", *sides, "time_per_put_s")
            )
    mpis = [model.an_mpi(mpi, name=mpi, version=None, library=None, standard=None) for mpi in MPIS]
    return model.results(
        cells,
        contrasts,
        run=replace(checkup.run(), title="What MPI_Put costs", mpis=mpis, mpi=mpis[0]),
        put=build_put(cells, contrasts),
        verdict=Verdict(headline="Puts were measured", lines=[], state="clear", answer="Puts were measured"),
    )


VARIANTS = ("compute_only", "sendrecv_replace", "isend_wait", "put_fence", "shared_direct", "a_new_style")
ORDERS = (256, 512, 1024)
EXPOSED = {"compute_only": 0.0, "sendrecv_replace": 1.0, "isend_wait": 0.6, "put_fence": 0.4, "shared_direct": 0.02,
           "a_new_style": 0.9}  # fmt: skip
ADVICE = "Take shared_direct from n = 256 on: it is 1.90 [1.80, 2.00] times as fast as sendrecv_replace."


def _value(value: float) -> Value:
    kind = "signed-rank 95 %"
    return Value(value=value, interval=(value * 0.97, value * 1.03), interval_kind=kind, level=0.95, launches=8)


def _dgemm_s(n: int) -> float:
    return 2 * n**3 / 4 / 60e9


def _exposed_s(variant: str, n: int) -> float:
    return EXPOSED[variant] * 3e-9 * n**2


def _point(variant: str, n: int, cell: int) -> CannonPoint:
    dgemm_s, exposed_s = _dgemm_s(n), _exposed_s(variant, n)
    whole = dgemm_s + exposed_s
    parts = {"dgemm": dgemm_s, "generate": 1e-5, "distribute": 2e-9 * n**2, "gather": 1e-9 * n**2}
    parts |= {"synchronise" if variant in ("put_fence", "shared_direct") else "wait": exposed_s} if exposed_s else {}
    ceiling, reference = variant == "compute_only", variant == "sendrecv_replace"
    return CannonPoint(
        n=n,
        cell=cell,
        multiply_s=_value(whole),
        exposed_s=exposed_s,
        exposed=_value(exposed_s) if exposed_s else None,
        parts_s=parts,
        parts={"dgemm": _value(dgemm_s)},
        rate_flops_per_s=_value(2 * n**3 / whole),
        over_compute=None if ceiling else _value(whole / dgemm_s),
        over_compute_reason="it is the ceiling" if ceiling else None,
        speed_up=None if reference else _value((dgemm_s + _exposed_s("sendrecv_replace", n)) / whole),
        speed_up_reason="it is the reference" if reference else None,
        exposed_ratio=None if ceiling else _value(exposed_s / whole),
        exposed_ratio_reason="nothing is exposed" if ceiling else None,
        of_cores=_value(0.98 * dgemm_s / whole),
        of_cores_reason=None,
    )


def _timeline(variant: str, n: int, cell: int) -> CannonTimeline:
    """Two steps; rank 3 computes longer in the first one, so that its neighbours 1 and 2 wait for it."""
    step_s, wait_s = _dgemm_s(n) / 2, _exposed_s(variant, n)
    part = "synchronise" if variant in ("put_fence", "shared_direct") else "wait"
    rank_intervals = []
    for rank in range(4):
        late = wait_s * 0.8 if rank == 3 else 0.0
        ends = (step_s + late, step_s + wait_s, 2 * step_s + wait_s)
        rank_intervals += [
            ("generate", 0, rank, -1e-4, -0.5e-4),
            ("total", 0, rank, 0.0, ends[2]),
            ("dgemm", 0, rank, 0.0, ends[0]),
        ]
        rank_intervals += [(part, 0, rank, ends[0], ends[1])] if wait_s else []
        rank_intervals.append(("dgemm", 1, rank, ends[1], ends[2]))
    intervals = [TimelineInterval(rank=rank, part=name, step=step, begin_s=begin, end_s=end)
                 for name, step, rank, begin, end in rank_intervals]  # fmt: skip
    return CannonTimeline(
        variant=variant,
        n=n,
        cell=cell,
        launch=0,
        repetition=4,
        multiply_s=2 * step_s + wait_s,
        one_clock=True,
        intervals=intervals,
        waits=tuple(waits(intervals, (2, 2))),
        reason=None,
    )


def _cannon_group(numbers: dict[tuple[str, int], int]) -> CannonGroup:
    best = [CannonBest(n=n, variant="shared_direct", same=["put_fence"], reason=None) for n in ORDERS]
    across = [CannonBest(n=n, variant=None, same=[], reason="1 launch is too few") for n in ORDERS]
    half = CriticalN(
        share=0.5, n=360.0, interval=(340.0, 380.0), interval_kind="t 95 %", level=0.95, launches=8, reason=None
    )
    tenth = replace(half, share=0.1, n=None, interval=None, reason="it is still 20 % at n = 1024")
    variants = [
        CannonVariant(variant=v, across_nodes=None, points=[_point(v, n, numbers[v, n]) for n in ORDERS], missing=[])
        for v in VARIANTS
    ]
    return CannonGroup(
        label="4 ranks",
        parameters={"pattern": "multiply"},
        mpi="mpich",
        environment="default",
        placement="bound",
        copy=1,
        ranks=4,
        grid=CannonGrid(rows=2, columns=2, steps=2),
        blas=CannonBlas(name="OpenBLAS 0.3", core="Zen", threads=1, file="lib.so", compiled_for="-O3"),
        setup_reason=None,
        ranks_have_cores=True,
        ranks_have_cores_reason=None,
        repetitions=GroupRepetitions(all=1440, clean=1296),
        n=list(ORDERS),
        reference="sendrecv_replace",
        ceiling="compute_only",
        variants=with_hidden(variants, "sendrecv_replace", None),
        critical_n={"half": half, "tenth": tenth},
        best=best,
        best_across_nodes=across,
        advice=ADVICE,
        advice_reason=None,
        timelines=[_timeline(v, n, numbers[v, n]) for n in (512, 1024) for v in VARIANTS],
    )


def cannon_results() -> Results:
    """Six variants at three orders, one of them of a style that this report does not know."""
    rng = random.Random(9)
    cells: list[CellResult] = []
    counts = RepetitionCounts(all=80, clean=72, switched=8, loaded=0, launches_of_clean=8, launches=8)
    for n in ORDERS:
        for variant in VARIANTS:
            parameters = {"pattern": "multiply", "variant": variant, "n": str(n)}
            made = scattered.cell(len(cells), "variants", f"{variant}, n {n}", parameters)
            made = replace(made, experiment="cannon", mpi="mpich", repetitions=counts, repetitions_reason=None)
            cells.append(scattered.measure(rng, made, "multiply_s", _dgemm_s(n) + _exposed_s(variant, n)))
    numbers = {(cell.parameters["variant"], int(cell.parameters["n"])): cell.cell for cell in cells}
    return model.results(
        cells,
        run=replace(checkup.run(), title="Cannon"),
        cannon=CannonResults(groups=[_cannon_group(numbers)], distribution=[]),
        verdict=Verdict(headline="Cannon was measured", lines=[], state="clear", answer="Cannon was measured"),
    )
