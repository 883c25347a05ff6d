# SPDX-License-Identifier: Apache-2.0
"""Make the report's test data: a check-up in the form of docs/results.md, and an imported run of one launch.

The numbers are invented, with a fixed seed; their sizes are those of a small node. `python make.py` rewrites the files.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.report.samples import Series

HERE = Path(__file__).parent
LAUNCHES = 8
KIB, MIB = 1024, 1024 * 1024
Json = dict[str, Any]


def label_bytes(size: int) -> str:
    """Short name of a message size."""
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def median(values: list[float]) -> float:
    """Middle value."""
    return float(np.median(values))


def estimate(rng: random.Random, centre: float, spread: float, launches: int = LAUNCHES, samples: int = 200) -> Json:
    """An ESTIMATE whose launch medians scatter by `spread` about `centre`."""
    values = [centre * math.exp(rng.gauss(0, spread)) for _ in range(launches)]
    if launches >= 6:
        kind, interval = "signed-rank 95 %", [sorted(values)[1], sorted(values)[-2]]
        level: float | None = 0.961
    elif launches == 1:
        kind, interval, level = "order statistics within one launch", [centre * 0.97, centre * 1.04], 0.95
    else:
        kind, interval, level = "range of 2 launches, no interval", None, None
    value = median(values)
    tail = math.exp(abs(rng.gauss(0.2, 0.1)))
    return {
        "value": value, "interval": interval, "interval_kind": kind, "level": level, "launches": launches,
        "samples": samples * launches, "launch_values": values, "p50": value, "p90": value * 1.04 * tail,
        "p99": value * 1.2 * tail**2, "p999": None if samples * launches < 2000 else value * 2.1 * tail**3,
        "p999_reason": "needs 2995 samples" if samples * launches < 2000 else None,
        "max": value * 3.4 * tail**3, "min": value * 0.93, "within_ratio": spread * 1.7, "between_ratio": spread,
        "outliers": {"mild": rng.randrange(30), "severe": rng.randrange(9), "severe_time_ratio": 0.013},
        "modes": None, "quantum_ratio": 10e-9 / value, "steady_class": rng.choice(["flat", "flat", "flat", "warm-up"]),
    }  # fmt: skip


def cell(number: int, group: str, label: str, parameters: Json, environment: str = "default", **more: Any) -> Json:
    """A cell without its metrics."""
    flags = " ".join(f"--{k.replace('_', '-')} {v}" for k, v in parameters.items())
    prefix = "MPIR_CVAR_CH4_CMA_ENABLE=0 " if environment == "no single copy" else ""
    return {
        "cell": number, "key": f"{number * 7919:016x}", "label": label, "group": group, "experiment": "p2p",
        "parameters": parameters, "environment": environment, "placement": more.get("placement", "bound"),
        "status": "ok", "reason": None, "metrics": {}, "witness": {},
        "allocations": {"count": 32, "reused_address": 9, "pages_observed": {"small": 32}, "huge_ratio": 0.0,
                        "mpi_memory_kinds": ["system"]},
        "validated_bytes": 32 * 8 * int(parameters.get("message_bytes", 8)), "wrong_bytes": 0,
        "reproduce": f"{prefix}mpiexec -n 2 -bind-to core slowpath-engine p2p {flags}",
    }  # fmt: skip


def measure(rng: random.Random, target: Json, name: str, steady_s: float, first_s: float | None = None,
            spread: float = 0.02, launches: int = LAUNCHES) -> Json:  # fmt: skip
    """Give `target` a metric in seconds, and the bandwidth that is the same turned over."""
    phases = {"steady": estimate(rng, steady_s, spread, launches)}
    if first_s is not None:
        phases["first"] = estimate(rng, first_s, 2 * spread, launches, 4)
    target["metrics"][name] = {"unit": "s", "better": "lower", "phases": phases}
    size = int(target["parameters"].get("message_bytes", 0))
    for one in phases.values() if name != "send_barrier_s" else ():
        low, high = one["interval"] or (None, None)
        one["bandwidth_bytes_per_s"] = size / one["value"]
        one["bandwidth_interval"] = [size / high, size / low] if low and high else None
    return target


def curve_cells(rng: random.Random) -> list[Json]:
    """Latency and bandwidth over message size."""
    cells = []
    for size in (8, 64, 512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB):
        seconds = 0.34e-6 + size / 9.1e9 + (1.1e-6 if size > 16 * KIB else 0)
        made = cell(len(cells), "latency", label_bytes(size), {"pattern": "ping_pong", "message_bytes": str(size)})
        cells.append(measure(rng, made, "half_round_trip_latency_s", seconds, seconds * 9 + 4e-6))
    for pages in ("small", "huge"):
        for size in (KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB):
            seconds = 0.21e-6 + size / (11.5e9 if pages == "huge" or size < MIB else 6.2e9)
            made = cell(len(cells), "bandwidth", f"{label_bytes(size)}, pages {pages}",
                        {"pattern": "windowed", "pages": pages, "message_bytes": str(size)})  # fmt: skip
            cells.append(measure(rng, made, "time_per_message_s", seconds))
    return cells


def fresh_cells(rng: random.Random, start: int) -> list[Json]:
    """Messages from fresh allocations: page kinds, single copy, network path."""
    cells: list[Json] = []
    steady = {("small", MIB): 171e-6, ("huge", MIB): 96e-6, ("default", MIB): 169e-6, ("shared", MIB): 158e-6,
              ("small", 16 * MIB): 3.11e-3, ("huge", 16 * MIB): 1.24e-3, ("default", 16 * MIB): 1.31e-3,
              ("shared", 16 * MIB): 2.9e-3}  # fmt: skip
    for environment in ("default", "no single copy"):
        for (pages, size), seconds in steady.items():
            slow = seconds if environment == "default" else 0.8 * size / 4.4e9 + 30e-6
            label = f"{label_bytes(size)}, pages {pages}" + (", no single copy" if environment != "default" else "")
            made = cell(start + len(cells), "fresh", label,
                        {"pattern": "one_way", "pages": pages, "message_bytes": str(size), "allocations": "4",
                         "messages": "8"}, environment)  # fmt: skip
            measure(rng, made, "one_way_s", slow, slow * (1.06 if pages == "huge" else 1.34), 0.025)
            witness = {"minor_faults_per_op": 0.0, "major_faults_per_op": 0.0, "system_time_s_per_op": slow * 0.9,
                       "involuntary_switches": 3}  # fmt: skip
            made["witness"] = {"steady": {"send": dict(witness, system_time_s_per_op=1e-6), "receive": witness}}
            cells.append(made)
    lottery = cells[3]["metrics"]["one_way_s"]["phases"]["steady"]
    lottery["modes"] = [{"value": 151e-6, "launches": 6, "share_interval": [0.41, 0.93]},
                        {"value": 214e-6, "launches": 2, "share_interval": [0.07, 0.59]}]  # fmt: skip
    lottery["steady_class"] = "no steady state"
    return cells


def device_cells(start: int) -> list[Json]:
    """What this machine cannot run, and what went wrong."""
    cells = []
    for index, (memory, status, reason) in enumerate((
        ("device", "skipped", "no GPU driver: libcuda.so.1 was not found"),
        ("pinned_host", "skipped", "no GPU driver: libcuda.so.1 was not found"),
    )):  # fmt: skip
        made = cell(start + index, "memory", f"1 MiB, memory {memory}",
                    {"pattern": "one_way", "memory": memory, "message_bytes": str(MIB)})  # fmt: skip
        cells.append(made | {"status": status, "reason": reason, "reproduce": None, "allocations": None})
    bad = cell(start + 2, "network path", "16 MiB, network path", {"pattern": "ping_pong", "message_bytes": "16777216"},
               "network path")  # fmt: skip
    cells.append(bad | {"status": "failed", "reason": "3 launches ended without this cell: abort inside MPI_Recv"})
    return cells


def common(a: str, b: str) -> str:
    """The parts that two labels share."""
    return ", ".join(part for part in a.split(", ") if part in b.split(", "))


def contrast(cells: list[Json], number: int, group: str, question: str, axis: str, a: tuple[int, str, str],
             b: tuple[int, str, str], metric: str, **more: Any) -> Json:  # fmt: skip
    """A contrast of two estimates, pair by pair."""
    by = {c["cell"]: c for c in cells}
    left, right = (by[s[0]]["metrics"][metric]["phases"][s[1]] for s in (a, b))
    pairs = [[x, y] for x, y in zip(left["launch_values"], right["launch_values"], strict=True)]
    logs = sorted(math.log(y / x) for x, y in pairs)
    ratio, low, high = math.exp(median(logs)), math.exp(logs[0]), math.exp(logs[-1])
    beyond = (ratio > 1.03 and low > 1) or (ratio < 0.97 and high < 1)
    verdict = ("slower" if ratio > 1 else "faster") if beyond else "same" if low > 0.97 and high < 1.03 else "undecided"
    sides = [{"cell": s[0], "phase": s[1], "value": s[2], "label": by[s[0]]["label"]} for s in (a, b)]
    return {
        "id": f"c{number:02d}", "group": group, "question": question, "axis": axis, "a": sides[0], "b": sides[1],
        "metric": metric, "a_value_s": left["value"], "b_value_s": right["value"], "ratio": ratio,
        "interval": [low, high], "interval_kind": "signed-rank 95 %", "level": 0.961, "verdict": verdict, "p": 0.0078,
        "p_adjusted": 0.0117 if beyond else 0.21, "family": f"p2p {metric}", "family_size": 22, "minimum_effect": 0.03,
        "launches": len(pairs), "pairs": pairs, "within_launch": axis != "environment", "interleaved": True,
        "control": more.get("control", False), "more_pairs": 11 if verdict == "undecided" else None,
        "remedy": more.get("remedy"), "reproduce": {k: by[s[0]]["reproduce"] for k, s in (("a", a), ("b", b))},
        "suspect": more.get("suspect", []), "where": common(sides[0]["label"], sides[1]["label"]), "reason": None,
    }  # fmt: skip


def contrasts(cells: list[Json]) -> list[Json]:
    """All contrasts of the check-up."""
    found: list[Json] = []
    fresh = [c for c in cells if c["group"] == "fresh"]

    def add(*given: Any, **more: Any) -> None:
        found.append(contrast(cells, len(found), *given, **more))

    for c in fresh[:8]:
        add("first message", "Is the first message of a fresh allocation slower than the later ones?", "phase",
            (c["cell"], "steady", "steady"), (c["cell"], "first", "first"), "one_way_s")  # fmt: skip
    huge = {c["parameters"]["message_bytes"]: c for c in fresh[:8] if c["parameters"]["pages"] == "huge"}
    for c in fresh[:8]:
        other = huge[c["parameters"]["message_bytes"]]
        if c is not other:
            pages = c["parameters"]["pages"]
            add("page kind", "Does the page kind of host memory change large messages?", "pages",
                (other["cell"], "steady", "huge"), (c["cell"], "steady", pages), "one_way_s",
                remedy="GLIBC_TUNABLES=glibc.malloc.hugetlb=1" if pages == "small" else None)  # fmt: skip
    for c, d in zip(fresh[:8], fresh[8:], strict=True):
        add("single copy", "Is the single copy through the kernel faster than two copies through shared memory?",
            "environment", (c["cell"], "steady", "default"), (d["cell"], "steady", "no single copy"), "one_way_s",
            remedy="export MPIR_CVAR_CH4_CMA_ENABLE=0")  # fmt: skip
    return found


def results() -> Json:
    """A complete check-up: 42 cells, of them two skipped, one failed and one copy for the A/A control."""
    rng = random.Random(20)
    cells = curve_cells(rng)
    cells += fresh_cells(rng, len(cells))
    control = cell(
        len(cells), "control", "1 KiB, copy 2", {"pattern": "windowed", "pages": "small", "message_bytes": "1024"}
    )
    cells.append(measure(rng, control, "time_per_message_s", 0.21e-6 + KIB / 11.5e9, spread=0.004))
    cells += device_cells(len(cells))
    found = contrasts(cells)
    found.append(contrast(cells, len(found), "control", "Does the tool see a difference where there is none?", "copy",
                          (10, "steady", "1"), (control["cell"], "steady", "2"), "time_per_message_s", control=True,
                          suspect=["launch 5 ran while the load average was 3.1"]))  # fmt: skip
    for c in found:
        if c["control"]:
            c.update(verdict="same", ratio=1.004, interval=[0.992, 1.013])
    nothing = dict.fromkeys(("a_value_s", "b_value_s", "ratio", "interval", "interval_kind", "level", "p", "p_adjusted",
                             "verdict", "remedy"))  # fmt: skip
    found.append(found[-1] | nothing | {
        "id": "c99", "group": "network path", "question": "Is the network faster than shared memory inside a node?",
        "axis": "environment", "metric": "half_round_trip_latency_s", "launches": 0, "reason": "no samples of b",
        "pairs": [],
        "a": {"cell": 9, "phase": "steady", "value": "default", "label": "16 MiB"},
        "b": {"cell": cells[-1]["cell"], "phase": "steady", "value": "network path", "label": "16 MiB, network path"},
        "control": False, "suspect": [], "more_pairs": None, "where": "16 MiB",
    })  # fmt: skip
    return {"schema": 1, "run": run(), "verdict": verdict(found), "cells": cells, "contrasts": found, "findings": [],
            "skipped": skipped(cells), "notes": ["CPU frequency governor could not be read.",
                                                 "2 launches overlapped a system load above 2."]}  # fmt: skip


def run() -> Json:
    """Where and with what the check-up ran."""
    return {
        "id": "20261120T091500Z-checkup", "folder": "slowpath-runs/20261120-checkup", "campaign": "checkup",
        "title": "Check-up of this machine", "started": "2026-11-20T09:15:00Z", "finished": "2026-11-20T09:15:43Z",
        "wall_s": 43.2, "seed": 20261120, "engine": "0.1.0", "slowpath": "0.1.0", "imported": False,
        "mpi": {"name": "MPICH 5.0.2", "vendor": "mpich", "library": "MPICH Version: 5.0.2", "standard": "5.0",
                "mpiexec": "/opt/mpich/bin/mpiexec", "abi": "mpich"},
        "machine": {"host": "node01", "cpu": "AMD EPYC 9755", "cores": 2, "sockets": 1, "numa_nodes": 1,
                    "memory_bytes": 24_900_000_000, "kernel": "6.18.1", "os": "Debian GNU/Linux 12",
                    "transparent_huge_pages": "madvise", "governor": None, "gpus": [],
                    "clock": {"quantum_ns": 10, "overhead_ns": 21, "source": "tsc"},
                    "variables": {"MPIR_CVAR_ENABLE_GPU": "0", "UCX_TLS": "self,sm"}},
        "launches": {"planned": 32, "done": 31, "failed": 1}, "status": "partial",
        "command": ["slowpath", "run", "checkup", "--ranks", "2", "--seed", "20261120"], "rounds": 8,
        "environments": [{"name": "default", "setting": None, "variables": {}, "unavailable": None},
                         {"name": "no single copy", "setting": "single_copy_off", "unavailable": None,
                          "variables": {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}},
                         {"name": "network path", "setting": "network_path", "variables": {"MPIR_CVAR_NO_LOCAL": "1"},
                          "unavailable": None}],
        "placements": [{"name": "bound", "bind": "core", "observed": [
            {"rank": 0, "host": "node01", "cpus_allowed": "0", "cpu": 0},
            {"rank": 1, "host": "node01", "cpus_allowed": "1", "cpu": 1}]}],
    }  # fmt: skip


def verdict(found: list[Json]) -> Json:
    """Headline and lines."""
    slow = next(c for c in found if c["group"] == "page kind" and c["b"]["label"] == "16 MiB, pages small")
    first = next(c for c in found if c["group"] == "first message" and c["verdict"] == "slower")
    control = next(c["id"] for c in found if c["control"])
    return {"headline": "Messages of 16 MiB take 2.5 times as long from small pages as from huge pages.", "lines": [
        {"level": "slow", "contrast": slow["id"], "text": "16 MiB from small pages: 3.1 ms, from huge pages 1.2 ms."
         " Huge pages for large buffers remove it."},
        {"level": "slow", "contrast": first["id"], "text": "The first message of a fresh allocation takes about a third"
         " longer than the later ones, except from huge pages."},
        {"level": "ok", "contrast": control, "text": "The control saw no difference where there is none."},
        {"level": "warning", "contrast": None, "text": "16 MiB, network path: 3 launches aborted inside MPI_Recv."},
        {"level": "info", "contrast": None, "text": "2 cells need a GPU and were skipped."}]}  # fmt: skip


def skipped(cells: list[Json]) -> list[Json]:
    """The cells without a result, with what was captured."""
    rows = [{"cell": c["cell"], "label": c["label"], "status": c["status"], "reason": c["reason"], "launches": 8,
             "log": None, "output": ""} for c in cells if c["status"] == "skipped"]  # fmt: skip
    rows.append({"cell": cells[-1]["cell"], "label": cells[-1]["label"], "status": "crashed", "launches": 3,
                 "reason": "MPI_Recv aborted the job (return code 15)", "log": "launches/000017/stderr",
                 "output": "Abort(15) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv:\n"
                           "internal_Recv(127): MPI_Recv(buf=0x7f1c, count=16777216, MPI_BYTE, 0, 3, MPI_COMM_WORLD,"
                           " status=0x7ffd) failed\nMPIDI_OFI_handle_cq_error(788): <no provider> & none"})  # fmt: skip
    return rows


def imported() -> Json:
    """Two logs of one launch each, imported: no run-to-run spread."""
    rng = random.Random(5)
    cells = []
    for index, (name, first_s, later_s) in enumerate((("with over-allocation of 1 byte", 0.456, 2.2e-5),
                                                      ("without over-allocation", 0.0036, 2.0e-5))):  # fmt: skip
        made = cell(index, "overalloc-1B", name, {"pattern": "one_way", "message_bytes": "1024", "memory": "device"})
        measure(rng, made, "send_barrier_s", later_s, first_s, 0.001, launches=1)
        cells.append(made | {"reproduce": None, "allocations": None, "witness": {}})
    found = [contrast(cells, 0, "over-allocation", "Does an over-allocation slow the first message?", "overalloc_bytes",
                      (1, "first", "0 B"), (0, "first", "1 B"), "send_barrier_s"),
             contrast(cells, 1, "over-allocation", "Does an over-allocation slow the first message?", "overalloc_bytes",
                      (1, "steady", "0 B"), (0, "steady", "1 B"), "send_barrier_s")]  # fmt: skip
    kind = "no interval: one launch, run-to-run spread unknown"
    found[0].update(interval=None, interval_kind=kind, level=None, interleaved=False, verdict="undecided", p=None)
    found[1].update(interval=[0.93, 1.31], interval_kind="rank-sum 95 % within one launch", interleaved=False)
    info = run() | {"imported": True, "environments": [], "placements": [],
                    "title": "Imported logs", "campaign": "import", "engine": None, "command": None,
                    "launches": {"planned": 1, "done": 1, "failed": 0}, "status": "complete", "machine": {},
                    "seed": None, "wall_s": None,
                    "mpi": dict.fromkeys(("name", "vendor", "library", "standard", "mpiexec", "abi"))}  # fmt: skip
    return {"schema": 1, "run": info, "cells": cells, "contrasts": found, "findings": [], "skipped": [], "notes": [
        "overalloc-1B.txt line 5: a value before the first allocation; kept, not used."], "verdict": {
        "headline": "The first message took 0.46 s with one byte more, 3.6 ms without it, in one launch.", "lines": [
            {"level": "slow", "contrast": "c00", "text": "One launch: run-to-run spread unknown."}]}}  # fmt: skip


def series(document: Json, samples: int = 400) -> list[Series]:
    """Raw samples that fit `document`, as samples.read_series would give them."""
    rng = np.random.default_rng(3)
    found = []
    for c in document["cells"]:
        for name, metric in c["metrics"].items():
            if metric["unit"] != "s":
                continue
            for phase, one in metric["phases"].items():
                n = 4 if phase == "first" else samples
                for launch, value in enumerate(one["launch_values"]):
                    noise = np.exp(rng.normal(0, 0.03, n) + (rng.random(n) < 0.01) * rng.exponential(1.0, n))
                    times = (value * noise * (2 if name.startswith("half") else 1) * 1e9).astype(np.int64)
                    found.append(Series(c["cell"], launch, phase, 0, 1, times))
    return found


def main() -> None:
    """Write both documents beside this file."""
    for name, document in (("results", results()), ("imported", imported())):
        text = json.dumps(document, indent=None, separators=(",", ":"), ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
