# SPDX-License-Identifier: Apache-2.0
"""Which of the MPIs here take GPU memory: proved with each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from slowpath.core.errors import SlowpathError
from slowpath.doctor.check import Check
from slowpath.doctor.device_path import DevicePath, prove_device_path
from slowpath.doctor.gpu import gpu_count
from slowpath.mpi.find import find_all
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for, kept_engine
from slowpath.run.engine.cache import Engine

# none: start no job.  built: try the MPIs whose engine is built, some seconds each.  all: build the others' first.
Proof = Literal["none", "built", "all"]
Tell = Callable[[str], None]
Proved = tuple[Mpi, DevicePath | None]

NAME = "MPI and GPU memory"
PATHS = {"ipc": "IPC (GPU to GPU)", "staged": "staged through host memory", None: "path unclear"}
METHODS = {"reference": "against the same without IPC", "bandwidth": "by bandwidth over host memory's"}
GET_ONE = "pip install 'slowpath[cuda]' && slowpath mpi install cuda, then: slowpath run --mpi cuda"


def mpi_and_gpu_memory(proof: Proof, tell: Tell = lambda _: None) -> Check:
    """Messages from GPU memory with each MPI in sight (device_path.prove_device_path)."""
    count, why = gpu_count()
    if count == 0:
        return Check(NAME, None, "missing", f"not tried: {why}")
    if proof == "none":
        return Check(NAME, None, "warn", "not tried", "slowpath doctor --gpu")
    try:
        mpis = find_all()
    except SlowpathError as error:
        return Check(NAME, None, "warn", f"not tried: {error}")
    proved: list[Proved] = []
    for mpi in mpis:
        try:
            engine = _engine(mpi, proof, tell)
        except SlowpathError as error:
            proved.append((mpi, DevicePath(False, None, None, None, f"no engine: {error}")))
            continue
        if engine is not None:
            tell(f"sending from GPU memory with {mpi.identity} (some seconds; up to two minutes if it hangs)")
        proved.append((mpi, None if engine is None else prove_device_path(mpi, engine)))
    return conclusion(proved)


def conclusion(proved: Sequence[Proved]) -> Check:
    """The check's answer from each MPI's, that of `slowpath run` first. None: not tried, without an engine. Pure."""
    if not proved:
        return Check(NAME, None, "missing", "not tried: there is no MPI", GET_ONE)
    value = "; ".join(f"{mpi.identity}: {in_words(path)}" for mpi, path in proved)
    works = [mpi for mpi, path in proved if path is not None and path.works]
    untried = any(path is None for _, path in proved)
    if works and works[0] is proved[0][0]:
        return Check(NAME, value, "ok", "the MPI of slowpath run takes GPU memory", _more(untried))
    if works:
        means = "the MPI of slowpath run is not shown to take GPU memory, another one is"
        return Check(NAME, value, "warn", means, f"slowpath run --mpi {_option(works[0])}")
    if untried:
        return Check(NAME, value, "warn", "no MPI is shown to take GPU memory yet", _more(untried))
    return Check(NAME, value, "missing", "no MPI here takes GPU memory", GET_ONE)


def in_words(path: DevicePath | None) -> str:
    """One MPI's answer."""
    if path is None:
        return "not tried"
    if not path.works:
        return f"no ({path.reason})"
    judged = f" (judged {METHODS[path.method]})" if path.path and path.method else ""
    reference = f", without IPC {_rate(path.reference_bytes_per_s)}" if path.reference_bytes_per_s else ""
    numbers = f"GPU {_rate(path.device_bytes_per_s)}{reference}, host {_rate(path.host_bytes_per_s)}"
    agrees = {True: ", which agrees", False: ", which does not agree", None: ""}[path.agrees]
    reported = f"; UCX reports: {path.reported}{agrees}" if path.reported else ""
    because = f"; {path.reason}" if path.reason else ""
    return f"yes, {PATHS[path.path]}{judged}, {numbers}{reported}{because}"


def _engine(mpi: Mpi, proof: Proof, tell: Tell) -> Engine | None:
    if proof == "all":
        return engine_for(mpi, tell=tell)
    return kept_engine(mpi)


def _more(untried: bool) -> str | None:
    return "slowpath doctor --gpu builds the engine for those that were not tried" if untried else None


def _option(mpi: Mpi) -> str:
    return "cuda" if mpi.source == "installed" else str(mpi.mpiexec)


def _rate(bytes_per_s: float | None) -> str:
    return "unknown" if bytes_per_s is None else f"{bytes_per_s / 1e9:.3g} GB/s"
