# SPDX-License-Identifier: Apache-2.0
"""GPUs, asked from the CUDA driver itself; nothing of CUDA is linked or installed."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowpath.core.errors import SlowpathError
from slowpath.doctor.check import Check
from slowpath.mpi import message_path
from slowpath.mpi.find import find_all
from slowpath.mpi.launchers import ANYWHERE, RankPlacement, command, launcher_named
from slowpath.mpi.libraries import AppliesTo
from slowpath.mpi.message_path import LOG_FILE, VARIABLES, Protocol, moving, protocols
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.build import engine_for, kept_engine
from slowpath.run.engine.cache import Engine, UsableEngine
from slowpath.run.prepare import allocated_nodes, allowed_cores
from slowpath.run.process import JobLimits, LaunchedJob, Outcome, run_jobs

SMALL_BYTES = 8
LARGE_BYTES = 64 * 1024 * 1024
LIMIT_S = 60.0


@dataclass(frozen=True)
class Transfer:
    """bytes_per_s: of the later large messages; None if there is no such number, and then reason has the cause.

    protocols: those that UCX reports for the large message; empty where the library does not print UCX's report.
    """

    bytes_per_s: float | None
    reason: str | None
    protocols: tuple[Protocol, ...] = ()


def transfer(
    mpi: Mpi,
    engine: UsableEngine,
    memory: str,
    environ: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Transfer:
    """Messages of 8 B and of 64 MiB, each byte compared, two ranks on this node.

    environ: the caller's environment, without what `mpi` needs.  variables: on top of all others, for the ranks.
    Raises: nothing for what the job does.
    """
    sizes = f"{SMALL_BYTES},{LARGE_BYTES}"
    cell = ("p2p", "--pattern", "one_way", "--memory", memory, "--message-bytes", sizes, "--allocations", "1")
    with tempfile.TemporaryDirectory(prefix="slowpath-gpu-") as folder:
        steered = {**VARIABLES, LOG_FILE: f"{folder}/ucx-%p.log", **(variables or {})}
        outcome, table = two_ranks(
            mpi, engine, (*cell, "--messages", "12", "--validate", "on"), environ, steered, limit_s
        )
        logs = sorted(Path(folder).glob("ucx-*.log"))
        # Another UCX may not know the file and print on its output instead.
        printed = "\n".join([*(path.read_text(errors="replace") for path in logs), table])
    reported = tuple(moving(protocols(printed), LARGE_BYTES))
    if outcome.ended != "ok":
        return Transfer(None, how_it_ended(outcome), reported)
    return Transfer(*later_bandwidth(table), reported)


def two_ranks(
    mpi: Mpi,
    engine: UsableEngine,
    words: Sequence[str],
    environ: Mapping[str, str],
    variables: Mapping[str, str],
    limit_s: float,
    place: RankPlacement = ANYWHERE,
) -> tuple[Outcome, str]:
    """Run the engine with these words on two ranks: how the job ended, and what it printed, errors last."""
    launcher = launcher_named(mpi.launcher)
    bind = "core" if "core" in launcher.bind else "none"
    room = allowed_cores() * (allocated_nodes(environ) if place == ANYWHERE else 1)
    argv = [str(engine.program), *words]
    made = command(launcher, str(mpi.mpiexec), mpi.name, 2, bind, variables, argv, room, environ, place)
    with tempfile.TemporaryDirectory(prefix="slowpath-ranks-") as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        variables = {**mpi.environ(environ), **made.variables}
        (outcome,) = run_jobs([LaunchedJob(made.argv, variables, out, err, [], JobLimits(total_s=limit_s))])
        return outcome, "\n".join(path.read_text(errors="replace") for path in (out, err))


def how_it_ended(outcome: Outcome) -> str:
    """Return how a job that failed ended, and the line of its output that states the cause, unless that is one of
    times.
    """
    how = f"{outcome.ended} by {outcome.signal}" if outcome.signal else outcome.ended
    reason = (outcome.reason or "").removeprefix("# ")
    stated = bool(reason) and reason != f"ended by {outcome.signal}" and re.match(r"\d+\s+[\d.]+", reason) is None
    return f"{how}: {reason}" if stated else f"{how}, without a message"


def later_bandwidth(table: str) -> tuple[float | None, str | None]:
    """Of the engine's one_way table: bytes per second of the later large messages, if all sizes have a row.

    Returns: the number and None; or None and what the table states instead.
    """
    refused = re.search(r"^# \d+ ((?:skipped|failed): .*)$", table, re.MULTILINE)
    if refused:
        return None, refused[1]
    rows = {int(row[1]): float(row[2]) for row in re.finditer(r"^(\d+)\s+\S+\s+([\d.]+)\s*$", table, re.MULTILINE)}
    if SMALL_BYTES not in rows or rows.get(LARGE_BYTES, 0.0) <= 0.0:
        return None, "the job succeeded but printed no times"
    return LARGE_BYTES / (rows[LARGE_BYTES] * 1e-6), None


LIBRARY = "libcuda.so.1"
VARIABLE = "SLOWPATH_CUDA_DRIVER"  # the engine's, too


def gpus() -> Check:
    """Devices that the CUDA driver shows to this process."""
    count, why = gpu_count()
    if count:
        names = ", ".join(_name(_driver(), index) for index in range(count))
        return Check("GPU", f"{count}: {names}", "ok")
    do = "check CUDA_VISIBLE_DEVICES and the allocation" if _has_driver() else None
    return Check("GPU", None if do is None else "none", "missing", why or "", do)


def gpu_count() -> tuple[int, str | None]:
    """Number of devices (CUDA driver API: cuInit, cuDeviceGetCount) and, where it is 0, why."""
    try:
        driver = _driver()
    except OSError as error:
        return 0, f"no CUDA driver ({error})"
    count = ctypes.c_int(0)
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0:
        return 0, f"the CUDA driver fails with code {code}"
    return count.value, None if count.value else "the CUDA driver shows no device"


def _has_driver() -> bool:
    try:
        _driver()
    except OSError:
        return False
    return True


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ.get(VARIABLE) or LIBRARY)


def _name(driver: ctypes.CDLL, index: int) -> str:
    device = ctypes.c_int(0)
    text = ctypes.create_string_buffer(256)
    if driver.cuDeviceGet(ctypes.byref(device), index) or not hasattr(driver, "cuDeviceGetName"):
        return "unnamed"
    if driver.cuDeviceGetName(text, len(text), device):
        return "unnamed"
    return text.value.decode("utf-8", "replace")


@dataclass(frozen=True)
class WithoutIpc:
    """One way to do it."""

    applies: tuple[AppliesTo, ...]
    variables: Mapping[str, str]


TABLE: tuple[WithoutIpc, ...] = (
    WithoutIpc((AppliesTo("craympich"),), {"MPICH_GPU_IPC_ENABLED": "0"}),  # not run
    WithoutIpc(
        (AppliesTo("mpich"), AppliesTo("mpich", transport="ucx")),
        # The second one turns IPC on from the second message of an allocation on, whatever the first one says.
        {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD": "-1", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR": "0"},
        # MPICH 5.0.1 built with CUDA 13.0, two H200s, 64 MiB: 357 -> 0.88 GB/s.
    ),
    # Open MPI 5.0.11 on UCX 1.22, two H200s: 373 -> 40.5 GB/s.
    WithoutIpc((AppliesTo(transport="ucx"),), {"UCX_TLS": "^cuda_ipc"}),
)


def variables_without_ipc(
    library: str, transport: str | None, environ: Mapping[str, str]
) -> tuple[dict[str, str], str | None]:
    """Variables and None; or none and why.

    transport: as Mpi.transport, or "ucx" because the library printed UCX's report.
    environ: what the user has set: a list of transports of their own can't be both kept and changed.
    """
    for row in TABLE:
        if any(condition.is_for(library, transport) for condition in row.applies):
            taken = [name for name in row.variables if environ.get(name)]
            if taken:
                return {}, f"{taken[0]} is set"
            return dict(row.variables), None
    return {}, "no known switch turns IPC off"


Way = Literal["ipc", "staged"]
Method = Literal["reference", "bandwidth"]

# Against the same messages without IPC: 7 and 9 times as fast over NVLink, 0.9 and 1.0 for kinds of memory that are
# staged anyway (docs/results/gpu.md). Links of PCIe may gain little, so what lies between is not called either way.
IPC_AT_LEAST = 1.5
STAGED_AT_MOST = 1.2
PAIRS = 3
# Against host memory. Copying through pinned host memory by the GPU's copy engines reached 3 to 5 times the host path
# on an H200, its own links 30 to 50 times.
IPC_AT_LEAST_OVER_HOST = 10.0
STAGED_AT_MOST_OVER_HOST = 1.5


@dataclass(frozen=True)
class DevicePath:
    """What two ranks on this node found.

    works: messages of 8 B and 64 MiB from GPU memory to GPU memory arrived with the right bytes.
    path: ipc (straight from GPU memory to GPU memory) or staged (through host memory), judged by `method`; None: it
        doesn't work, the measurement shows neither, or it contradicts what the library reports.
    host_bytes_per_s, device_bytes_per_s: bandwidth of one 64 MiB message from an allocation that was sent before, from
        host memory and from GPU memory; None if not measured.
    reason: why it doesn't work, or what is lacking or contradicts; None if nothing does.
    method: reference (the same job without IPC) or bandwidth (host memory), what was compared with; None: nothing was.
    reference_bytes_per_s: of GPU memory without IPC; None if not measured.
    reported: how the library itself reports that it moves such a message; None if it doesn't.
    agrees: whether that names the path that was measured; None where either is missing.
    """

    works: bool
    path: Way | None
    host_bytes_per_s: float | None
    device_bytes_per_s: float | None
    reason: str | None
    method: Method | None = None
    reference_bytes_per_s: float | None = None
    reported: str | None = None
    agrees: bool | None = None


NOT_TRIED = Transfer(None, "not tried")


def prove_device_path(
    mpi: Mpi, engine: Engine, environ: Mapping[str, str] | None = None, limit_s: float = LIMIT_S
) -> DevicePath:
    """Send from GPU memory under `mpi`, then the same without IPC if it can be asked for, then from host memory.

    environ: the caller's environment, without what `mpi` needs.  limit_s: of each of the jobs.
    Raises: nothing for what a job does: that is the answer.
    """
    environ = os.environ if environ is None else environ
    device = transfer(mpi, engine, "device", environ, limit_s=limit_s)
    if device.bytes_per_s is None:
        return judge(device, NOT_TRIED, NOT_TRIED)
    # A library that printed UCX's report for these messages sends them through UCX, whoever it is.
    transport = "ucx" if device.protocols else mpi.transport
    variables, why_not = variables_without_ipc(mpi.name, transport, environ)
    reference = Transfer(None, why_not)
    if variables:

        def once(without_ipc: bool) -> Transfer:
            return transfer(mpi, engine, "device", environ, variables if without_ipc else {}, limit_s)

        device, reference = _again_if_faster(device, once)
    return judge(device, reference, transfer(mpi, engine, "host", environ, limit_s=limit_s))


def _again_if_faster(device: Transfer, once: Callable[[bool], Transfer]) -> tuple[Transfer, Transfer]:
    """The pair of least ratio among up to PAIRS, as long as IPC made each faster and UCX reports nothing.

    Noise on a shared machine has made one job twice as fast as its equal; where nothing else can witness, it must
    happen in every pair to be believed.  once: measures, without IPC if so asked.
    """
    least = device, once(True)
    for _ in range(PAIRS - 1):
        path, method, _reasons = _path(least[0].bytes_per_s or 0.0, least[1], NOT_TRIED)
        if least[0].protocols or (path, method) != ("ipc", "reference"):
            break
        pair = once(False), once(True)
        if not pair[0].bytes_per_s or not pair[1].bytes_per_s:
            break
        least = min(least, pair, key=lambda two: (two[0].bytes_per_s or 0.0) / (two[1].bytes_per_s or 1.0))
    return least


def judge(device: Transfer, reference: Transfer, host: Transfer) -> DevicePath:
    """The path from what three jobs found: from GPU memory, the same without IPC, from host memory. Pure."""
    reported = message_path.in_words(device.protocols)
    if device.bytes_per_s is None:
        return DevicePath(False, None, None, None, device.reason, reported=reported)
    path, method, reasons = _path(device.bytes_per_s, reference, host)
    agrees = None
    if path is not None and device.protocols:
        agrees = (path == "ipc") == any(protocol.direct for protocol in device.protocols)
        if not agrees:
            # Noise on a shared machine has made one job twice as fast as its equal: two witnesses must agree.
            reasons.append(f"measured as {path}, but UCX reports another path")
            path = None
    return DevicePath(
        True,
        path,
        host.bytes_per_s,
        device.bytes_per_s,
        "; ".join(reasons) or None,
        method,
        reference.bytes_per_s,
        reported,
        agrees,
    )


def _path(
    device_bytes_per_s: float, reference: Transfer, host: Transfer
) -> tuple[Way | None, Method | None, list[str]]:
    """Judge by the reference where there is a usable one, else by host memory; also return what is lacking."""
    usable, why_not = _usable(reference)
    no_host = [] if host.bytes_per_s else [f"the same from host memory gave no number: {host.reason}"]
    if usable is not None:
        ratio = device_bytes_per_s / usable
        path = by_ratio(ratio, IPC_AT_LEAST, STAGED_AT_MOST)
        return (
            path,
            "reference",
            ([] if path else [f"{ratio:.2f}x of the rate without IPC"]) + no_host,
        )
    if host.bytes_per_s is None:
        return None, None, [f"no reference ({why_not})", *no_host]
    ratio = device_bytes_per_s / host.bytes_per_s
    path = by_ratio(ratio, IPC_AT_LEAST_OVER_HOST, STAGED_AT_MOST_OVER_HOST)
    unclear = f"{ratio:.1f}x of host memory's rate"
    return path, "bandwidth", [] if path else [f"{unclear} ({why_not})"]


def by_ratio(ratio: float, ipc_at_least: float, staged_at_most: float) -> Way | None:
    """The path by a ratio of bandwidths, GPU memory's over another; None where it may be either."""
    if ratio >= ipc_at_least:
        return "ipc"
    return "staged" if ratio <= staged_at_most else None


def _usable(reference: Transfer) -> tuple[float | None, str]:
    """The reference's bandwidth, or None and why it is none."""
    if reference.bytes_per_s is None:
        return None, reference.reason or "the job without IPC gave no number"
    if any(protocol.direct for protocol in reference.protocols):
        return None, "UCX reports that the job without IPC used it anyway"
    return reference.bytes_per_s, ""


# none: start no job.  built: try the MPIs whose engine is built, some seconds each.  all: build the others' first.
Proof = Literal["none", "built", "all"]
Tell = Callable[[str], None]
Proved = tuple[Mpi, DevicePath | None]

NAME = "MPI and GPU memory"
PATHS = {"ipc": "IPC (GPU to GPU)", "staged": "staged through host memory", None: "path unclear"}
METHODS = {"reference": "against the same without IPC", "bandwidth": "by bandwidth over host memory's"}
GET_ONE = "pip install 'slowpath[cuda]' && slowpath mpi install cuda"


def mpi_and_gpu_memory(proof: Proof, tell: Tell = lambda _: None) -> Check:
    """Messages from GPU memory with each MPI in sight (`prove_device_path`)."""
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
            engine = engine_for(mpi, tell=tell) if proof == "all" else kept_engine(mpi)
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
        return Check(NAME, None, "missing", "no MPI", GET_ONE)
    value = "; ".join(f"{mpi.identity}: {in_words(path)}" for mpi, path in proved)
    works = [mpi for mpi, path in proved if path is not None and path.works]
    untried = any(path is None for _, path in proved)
    if works and works[0] is proved[0][0]:
        return Check(NAME, value, "ok", "", _more(untried))
    if works:
        named = "cuda" if works[0].source == "installed" else works[0].mpiexec
        return Check(NAME, value, "warn", "only another MPI supports it", f"slowpath run --mpi {named}")
    if untried:
        return Check(NAME, value, "warn", "not tried", _more(untried))
    return Check(NAME, value, "missing", "no MPI supports it", GET_ONE)


def in_words(path: DevicePath | None) -> str:
    """One MPI's answer."""
    if path is None:
        return "not tried"
    if not path.works:
        return f"no ({path.reason})"
    judged = f" (judged {METHODS[path.method]})" if path.path and path.method else ""
    reference = f", without IPC {_rate(path.reference_bytes_per_s)}" if path.reference_bytes_per_s else ""
    numbers = f"GPU {_rate(path.device_bytes_per_s)}{reference}, host {_rate(path.host_bytes_per_s)}"
    agrees = {True: ", which agrees", False: ", which disagrees", None: ""}[path.agrees]
    reported = f"; UCX reports: {path.reported}{agrees}" if path.reported else ""
    because = f"; {path.reason}" if path.reason else ""
    return f"yes, {PATHS[path.path]}{judged}, {numbers}{reported}{because}"


def _more(untried: bool) -> str | None:
    return "slowpath doctor --gpu" if untried else None


def _rate(bytes_per_s: float | None) -> str:
    return "unknown" if bytes_per_s is None else f"{bytes_per_s / 1e9:.3g} GB/s"
