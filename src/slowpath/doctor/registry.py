# SPDX-License-Identifier: Apache-2.0
"""All checks, in the order in which they are shown."""

from __future__ import annotations

import itertools
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, SlowpathError
from slowpath.core.machine import PlaceFacts, format_cpu_list
from slowpath.core.run_results import MessagePath
from slowpath.core.units import format_bytes, format_ratio
from slowpath.doctor.check import Ability, Check
from slowpath.doctor.gpu import Proof, Tell, gpus, how_it_ended, mpi_and_gpu_memory
from slowpath.mpi import place as judges
from slowpath.mpi.batch_systems import HOST_FILE, find_allocation
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import (
    ANYWHERE,
    BATCH_NAMES,
    Launcher,
    RankPlacement,
    command,
    launcher_named,
    unavailable_place,
)
from slowpath.mpi.libraries import of_another
from slowpath.mpi.message_path import QUESTIONS, SPLITS, paths_of
from slowpath.mpi.mpi import Mpi, as_library_is, has_fabric, library_of, read_control_variables, settings_of
from slowpath.mpi.own_settings import OwnSetting, why_ignored
from slowpath.mpi.place import PlaceCheck, PlaceJob
from slowpath.mpi.probe import output_of
from slowpath.run.engine.build import (
    PLUGIN,
    BlasInSight,
    blas_in_sight,
    find_cmake,
    find_compiler,
    kept_engine,
    package_version,
    require_headers,
)
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.machine import bracketed, first_value, place_here, read_line
from slowpath.run.prepare import allocated_nodes, allowed_cores
from slowpath.run.process import JobLimits, run_job

# The clock that all times come from.

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READS = 20000
FREQUENT = 1e-3  # share of readings from which a difference counts
NEIGHBOURS_NS = 2


def clock() -> Check:
    """Source of CLOCK_MONOTONIC and the step it was seen to advance by."""
    source = read_line(SOURCE)
    step = quantum_ns([time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(READS)])
    seen = f"steps of {step} ns" if step is not None else "no step seen"
    value = f"{source or 'unknown source'}, {seen}"
    if step is not None and step > 1000:
        return Check(
            "clock", value, "warn", "a coarse clock: small messages need batches, which the engine makes itself"
        )
    if source in ("hpet", "acpi_pm", "jiffies"):
        return Check(
            "clock", value, "warn", "reading this clock takes about 1 us, a large part of a small message", None
        )
    return Check("clock", value, "ok", "fine enough; the engine calibrates it in each launch")


def quantum_ns(reads: list[int]) -> int | None:
    """The step by which the clock advances, ns; None if it stood still.

    As the engine finds it (engine/core/calibration.cpp): frequent differences of successive readings form clusters of
    neighbours, because ticks are rounded to whole nanoseconds, and the quantum is the usual gap between clusters.
    """
    counts = Counter(b - a for a, b in itertools.pairwise(reads))
    frequent = sorted(d for d, n in counts.items() if d > 0 and n > FREQUENT * len(reads))
    if not frequent:
        return min((d for d in counts if d > 0), default=None)
    clusters: list[list[int]] = [[frequent[0]]]
    for difference in frequent[1:]:
        if difference - clusters[-1][-1] <= NEIGHBOURS_NS:
            clusters[-1].append(difference)
        else:
            clusters.append([difference])
    centres = [sum(d * counts[d] for d in cluster) / sum(counts[d] for d in cluster) for cluster in clusters]
    if any(cluster[-1] - cluster[0] > NEIGHBOURS_NS for cluster in clusters):
        return 1  # no steps to be seen: the clock is finer than its readings are steady
    return round(statistics.median(b - a for a, b in itertools.pairwise(centres))) if len(centres) > 1 else frequent[-1]


def kernel() -> Check:
    """Kernel and system."""
    return Check(
        "kernel", f"{platform.system()} {platform.release()} {platform.machine()}", "ok", "recorded with each run"
    )


# Pages and locked memory.

THP = Path("/sys/kernel/mm/transparent_hugepage")


def transparent_huge_pages() -> Check:
    """When the kernel backs ordinary memory by huge pages (Documentation/admin-guide/mm/transhuge.rst)."""
    mode = bracketed(THP / "enabled")
    if mode is None:
        return Check(
            "transparent huge pages", "not in this kernel", "missing", "page kind huge can't be measured", None
        )
    if mode == "never":
        means = "the kernel never provides huge pages, so page kinds huge and small are the same here"
        return Check("transparent huge pages", mode, "warn", means, f"echo madvise > {THP}/enabled, as root")
    shared, defrag = bracketed(THP / "shmem_enabled"), bracketed(THP / "defrag")
    means = {
        "always": "large buffers get huge pages unless a program declines",
        "madvise": "only buffers that ask for huge pages get them",
    }.get(mode, "")
    return Check("transparent huge pages", f"{mode} (shared memory {shared}, defrag {defrag})", "ok", means)


def reserved_huge_pages() -> Check:
    """Huge pages set aside by the administrator."""
    count = first_value("/proc/meminfo", "HugePages_Total")
    if count is None:
        return Check("reserved huge pages", None, "ok", "/proc/meminfo does not list them")
    return Check(
        "reserved huge pages", count, "ok", "used only by programs that ask with MAP_HUGETLB; Slowpath doesn't"
    )


def locked_memory() -> Check:
    """RLIMIT_MEMLOCK: how much may be registered with a network card or pinned."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY:
        return Check("locked memory", "unlimited", "ok", "buffers can be registered with a network card")
    return Check(
        "locked memory",
        format_bytes(soft),
        "warn" if has_fabric() else "ok",
        "registering larger buffers with InfiniBand or similar fails or falls back to copies; irrelevant on one node",
        "raise the limit: ulimit -l unlimited, or memlock in limits.conf",
    )


# The batch system's allocation, if this is one.

_USED = "slowpath run uses this allocation; it never submits a job itself"


def allocation(environ: Mapping[str, str] | None = None) -> Check:
    """Batch system, job and number of nodes."""
    try:
        batch_job = find_allocation(os.environ if environ is None else environ)
    except EnvironmentFailure as error:
        return Check(
            "allocation", None, "warn", str(error), "start slowpath on one of the job's nodes, or leave the job"
        )
    if batch_job is None:
        return Check("allocation", "none", "ok", "not inside a batch job: ranks run on this machine")
    job = f" job {batch_job.job}" if batch_job.job else ""
    value = f"{batch_job.title}{job}, {batch_job.nodes} node{'s' if batch_job.nodes > 1 else ''}"
    return Check("allocation", value, "ok", _USED if batch_job.scheduler != HOST_FILE else "launchers use these nodes")


# The user's own settings: what reaches the MPI in use, and what is another library's.

OWN_SETTINGS = "own settings"


def own_settings() -> Check:
    """Variables and lines of parameter files."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check(OWN_SETTINGS, None, "missing", str(error))
    return own_settings_check(settings_of(mpi, os.environ), mpi.name)


def own_settings_check(settings: Sequence[OwnSetting], library: str) -> Check:
    """Return what is said of these settings under this library."""
    reported = [
        setting for setting in settings if setting.left_in is None or of_another(setting.name, library) is not None
    ]
    if not reported:
        return Check(OWN_SETTINGS, "none", "ok", "none of your variables or parameter files reaches the MPI library")
    ignored = [
        f"{setting.name}: {why}" for setting in reported if (why := why_ignored(setting, library, {}, {})) is not None
    ]
    value = ", ".join(setting.words for setting in reported)
    if ignored:
        todo = "unset them, or name the library that reads them: --mpi"
        return Check(OWN_SETTINGS, value, "warn", "; ".join(ignored), todo)
    return Check(OWN_SETTINGS, value, "ok", "slowpath diagnose compares your environment with a clean one")


# Cores, their limits and what else they are doing.

CPU = Path("/sys/devices/system/cpu")


def cores() -> Check:
    """Cores that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    count = allowed_cores()
    model = first_value("/proc/cpuinfo", "model name") or "unknown model"
    value = f"{count} cores, processors {format_cpu_list(allowed)} of {os.cpu_count()}; {model}"
    if count >= 2:
        return Check("cores", value, "ok", f"up to {count} ranks have their own core")
    return Check(
        "cores",
        value,
        "warn",
        "two ranks share a core and wait for each other, so the scheduler determines the times",
        "ask for 2 cores or more",
    )


def numa() -> Check:
    """NUMA nodes of this machine."""
    online = read_line("/sys/devices/system/node/online")
    if online is None:
        return Check("NUMA nodes", None, "ok", "the kernel shows no NUMA topology")
    single = online == "0"
    means = "memory is equally far from all cores" if single else "placement numa is worth comparing"
    return Check("NUMA nodes", "1" if single else online, "ok", means)


def threads() -> Check:
    """Hardware threads."""
    active = read_line(CPU / "smt/active")
    if active is None:
        return Check("SMT", None, "ok", "the kernel does not report hardware threads per core")
    if active == "0":
        return Check("SMT", "off", "ok", "one hardware thread a core")
    return Check("SMT", "on", "ok", "ranks bound to a core get all its hardware threads")


def load() -> Check:
    """Other work on this machine."""
    average = os.getloadavg()[0]
    value = f"{average:.2f} over the last minute"
    if average < 0.5 * allowed_cores():
        return Check("load", value, "ok", "the cores are mostly free")
    return Check(
        "load",
        value,
        "warn",
        "other processes compete for the cores, which increases spreads, above all of small messages",
        "wait until the machine is quiet, or ask for an exclusive node",
    )


def governor() -> Check:
    """Frequency governor of the first processor."""
    name = read_line(CPU / "cpu0/cpufreq/scaling_governor")
    if name is None:
        return Check("frequency governor", None, "ok", "not visible here (virtual machine, or fixed by the firmware)")
    if name == "performance":
        return Check("frequency governor", name, "ok", "the clock rate does not depend on the load")
    return Check(
        "frequency governor",
        name,
        "warn",
        "the clock rate follows the load, so times drift within and between launches",
        "cpupower frequency-set -g performance, as root",
    )


RANKS = 2


def cma() -> Check:
    """A real process_vm_readv(2) between two processes that are each other's neither parent nor child, as ranks are."""
    place = place_here()
    value = None
    if place.copy_errno is not None:
        tried = "an 8 KiB copy between two processes went"
        value = f"permitted, {tried}" if place.copy_errno == 0 else "refused"
        if place.copy_errno and place.asked_errno == 0:
            value = "permitted where a library asks for it"
    return _check(judges.single_copy, place, "CMA", value, "MPI can move large messages inside a node in one copy")


def seccomp() -> Check:
    """Whether system calls are filtered; that a filter refuses the copy is the line before."""
    place = place_here()
    words = {0: "no filter", 1: "strict", 2: "a filter"}
    means = "the container's filter refuses process_vm_readv or slows system calls down"
    return Check("seccomp", words.get(place.seccomp if place.seccomp is not None else -1), "ok", means)


def shared_memory() -> Check:
    """Room in /dev/shm."""
    place = place_here()
    value = None
    if place.shm_bytes is not None and place.shm_free_bytes is not None:
        value = f"{_size(place.shm_bytes)}, {_size(place.shm_free_bytes)} free"
    return _check(judges.shared_memory, place, "/dev/shm", value, "libraries keep messages inside a node there")


def processor_limit() -> Check:
    """A limit of processor time by the container or batch system (cgroup)."""
    place = place_here()
    quota = place.processor_quota
    value = "none" if quota is None else f"{format_ratio(quota)} processors"
    means = "no control group limits processor time" if quota is None else f"enough for {RANKS} ranks"
    return _check(judges.processor_limit, place, "processor limit", value, means)


def memory_limit() -> Check:
    """A limit of memory by the container or batch system (cgroup)."""
    place = place_here()
    limit = place.memory_limit_bytes
    value = "none" if limit is None else _size(limit)
    return _check(judges.memory_limit, place, "memory limit", value, "of the control group")


def allowed_processors() -> Check:
    """Processors that ranks inherit."""
    place = place_here()
    value = f"{place.processors} of {place.online}" if place.processors and place.online else place.processors
    return _check(judges.allowed_processors, place, "allowed processors", value, f"{RANKS} ranks have one each")


def numa_balancing() -> Check:
    """Whether the kernel moves pages between NUMA nodes by itself."""
    place = place_here()
    value = None if place.numa_balancing is None else "on" if place.numa_balancing else "off"
    means = "no effect on one node" if place.numa_balancing else "pages stay where they are"
    return _check(judges.numa_balancing, place, "NUMA balancing", value, means)


def virtual_machine() -> Check:
    """Whether a hypervisor stands below. It is noted and no reason to warn: many machines are such."""
    fault = judges.virtual_machine(place_here(), PlaceJob(RANKS))
    return Check(
        "virtual machine", "yes" if fault else "not seen", "ok", fault.text if fault else "no hypervisor shows itself"
    )


def gpu_driver() -> Check:
    """Version of the GPU driver."""
    place = place_here()
    fine = (
        "older than the versions whose pointer query is slow" if place.gpu_driver else "no message asks for GPU memory"
    )
    return _check(judges.driver_of_gpus, place, "GPU driver", place.gpu_driver or "none", fine)


def _size(count: int) -> str:
    """In whole MiB or GiB: what is free changes from one moment to the next."""
    unit = next((unit for unit in (2**30, 2**20) if count >= 4 * unit), 1)
    return format_bytes(count // unit * unit)


def _check(check: PlaceCheck, place: PlaceFacts, name: str, value: str | None, fine: str) -> Check:
    fault = check(place, PlaceJob(RANKS, _library(), os.environ))
    if fault is None:
        return Check(name, value, "ok", fine)
    return Check(name, value, "warn", fault.text, fault.do)


def _library() -> str | None:
    try:
        return find_mpi(None).name
    except SlowpathError:
        return None


def ptrace_scope() -> Check:
    """Yama's restriction of ptrace, which CMA obeys too."""
    scope = read_line("/proc/sys/kernel/yama/ptrace_scope")
    if scope is None:
        return Check("ptrace_scope", "no Yama", "ok", "the kernel restricts CMA by user only")
    if scope == "0":
        return Check("ptrace_scope", "0", "ok", "ranks may read each other's memory")
    return Check(
        "ptrace_scope",
        scope,
        "warn",
        "only descendants may be read, so ranks can't use CMA unless the MPI library requests it (PR_SET_PTRACER)",
        "sysctl kernel.yama.ptrace_scope=0, by an administrator",
    )


def xpmem() -> Check:
    """The XPMEM device."""
    return _device("XPMEM", Path("/dev/xpmem"), "MPI can map other ranks' memory")


def knem() -> Check:
    """The KNEM device."""
    return _device("KNEM", Path("/dev/knem"), "MPI can copy in one step through KNEM")


def _device(name: str, path: Path, use: str) -> Check:
    if not path.exists():
        return Check(name, "absent", "ok", f"no {path}; its paths can't be measured here, CMA is the usual substitute")
    if not os.access(path, os.R_OK | os.W_OK):
        return Check(name, "not permitted", "warn", f"{path} exists but can't be opened", f"ask for access to {path}")
    return Check(name, "present", "ok", use)


# The BLAS that the experiment cannon multiplies with.

BLAS = "BLAS"
INSTALL = "install OpenBLAS, BLIS, MKL or AOCL for developers, or: pip install 'slowpath[blas]'"
# They choose the code that a BLAS runs, so that a forgotten one halves the rate and nothing shows it.
STEERING = (
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE", "BLIS_MODEL_TYPE"),
    *("MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_CBWR"),
)
# In a process of its own: a BLAS starts threads and takes memory when it is loaded.
_ASK = """
import ctypes, sys
plugin = ctypes.CDLL(sys.argv[1])
for name in ("name", "core", "file"):
    function = getattr(plugin, "slowpath_blas_" + name)
    function.restype = ctypes.c_char_p
    print((function() or b"").decode())
"""


def blas() -> Check:
    """Return what cannon multiplies with, and what steers it."""
    steered = {name: os.environ[name] for name in STEERING if name in os.environ}
    plugin = _plugin()
    if plugin is not None:
        return blas_check(_asked(plugin, os.environ), steered)
    return unbuilt(blas_in_sight(os.environ), steered)


def blas_check(blas: tuple[str, str, str] | None, steered: Mapping[str, str]) -> Check:
    """Judge the BLAS that the engine has.

    Args: found: its name, the processor type of its code, its file; the first two may be empty. None: it can't be
          loaded.
    """
    if blas is None:
        return Check(BLAS, None, "missing", "the engine can't load its BLAS", "slowpath mpi build --force")
    name, core, file = blas
    value = ", ".join([name or Path(file).name, *([f"core {core}"] if core else []), file])
    if not name and Path(file).resolve().parent.name in ("blas", "atlas-reference"):
        means = "the reference BLAS is about ten times slower than a tuned one and hides the cost of communication"
        return Check(BLAS, value, "warn", means, INSTALL)
    return _with_variables(value, "multiplies in the experiment cannon", steered)


def unbuilt(sight: BlasInSight, steered: Mapping[str, str]) -> Check:
    """Before there is an engine: what its build will choose from."""
    if sight.libraries:
        seen = ", ".join(map(str, sight.libraries))
        return _with_variables(seen, "CMake chooses among these when the engine is built, for cannon", steered)
    if sight.package is not None:
        value = f"scipy-openblas32 {package_version() or 'of unknown version'}"
        return _with_variables(value, "used when the engine is built, for cannon", steered)
    return Check(BLAS, "none", "missing", "the experiment cannon has no BLAS for its multiplications", INSTALL)


def _with_variables(value: str, means: str, steered: Mapping[str, str]) -> Check:
    if not steered:
        return Check(BLAS, value, "ok", means)
    listed = ", ".join(f"{name}={text}" for name, text in steered.items())
    return Check(
        BLAS,
        value,
        "warn",
        f"{listed} in the environment overrides the BLAS's choice for this processor and may halve its rate",
        f"unset {' '.join(steered)}",
    )


def _plugin() -> Path | None:
    """Beside the engine of the MPI in use; None if that engine is not built, or has none."""
    try:
        engine = kept_engine(find_mpi(None))
    except SlowpathError:
        return None
    plugin = engine.program.parent / PLUGIN if engine else None
    return plugin if plugin and plugin.exists() else None


def _asked(plugin: Path, environ: Mapping[str, str]) -> tuple[str, str, str] | None:
    printed = output_of([sys.executable, "-c", _ASK, str(plugin)], {**environ, "OPENBLAS_NUM_THREADS": "1"})
    lines = (printed or "").splitlines()
    return (lines[-3], lines[-2], lines[-1]) if len(lines) >= 3 else None


INSTALL_MPI = "pip install 'slowpath[mpich]', or load your MPI's module"
INSTALL_COMPILER = "apt-get install g++ (Fedora, RHEL: dnf install gcc-c++), or load a module with GCC 10 or later"


def mpi_in_use() -> Check:
    """The MPI that `slowpath run` takes."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check("MPI", None, "missing", str(error), INSTALL_MPI)
    how = {
        "embedded": "the one that came with this Python",
        "PATH": "the first on the PATH",
        "environment": "named by SLOWPATH_MPI",
    }
    if mpi.doubt:
        return Check("MPI", _line(mpi), "warn", mpi.doubt)
    which = how.get(mpi.source, mpi.source)
    if mpi.launcher in BATCH_NAMES and mpi.source == "PATH":
        which = f"the loaded one; {mpi.launcher} starts its ranks, {mpi.mpicxx} compiles"
    return Check("MPI", _line(mpi), "ok", f"used by slowpath run: {which}")


def launcher() -> Check:
    """What starts the ranks, and whether a shell starts the same: its first mpiexec may be another MPI's."""
    try:
        taken = find_mpi(None)
    except SlowpathError as error:
        return Check("launcher", None, "missing", str(error), INSTALL_MPI)
    value, first = f"{taken.launcher}, {taken.mpiexec}", shutil.which("mpiexec")
    if first is None or os.path.realpath(first) == os.path.realpath(taken.mpiexec):
        return Check("launcher", value, "ok", "a shell starts the same, or none")
    means = f"a shell starts {first}, which is another MPI's"
    return Check("launcher", value, "warn", means, f"slowpath run --mpi {first}, or start programs with the former")


def other_mpis() -> Check:
    """MPIs that --mpi could name."""
    try:
        every = find_all()
        taken = find_mpi(None).mpiexec.resolve() if every else None
        others = [mpi for mpi in every if mpi.mpiexec.resolve() != taken]
    except SlowpathError as error:
        return Check("other MPIs", None, "warn", str(error), "correct SLOWPATH_MPI")
    if not others:
        return Check("other MPIs", "none", "ok", "nothing else to compare with here")
    return Check("other MPIs", "; ".join(map(_line, others)), "ok", "measure with one of them: slowpath run --mpi PATH")


def engine() -> Check:
    """The program that the MPI starts: it is there, or the first run can compile it."""
    try:
        mpi = find_mpi(None)
        kept = kept_engine(mpi)
    except SlowpathError as error:
        return Check("engine", None, "missing", str(error), INSTALL_MPI)
    if kept is not None:
        return Check("engine", f"ready, {kept.program}", "ok", f"built {kept.note.built} by {kept.note.compiler}")
    needs: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: require_headers(mpi), mpi.install_what_it_lacks),
        (lambda: find_compiler(os.environ, mpi.mpicxx if mpi.is_compiler else None), INSTALL_COMPILER),
        (lambda: find_cmake(os.environ), "pip install cmake"),
    )
    for find, do in needs:
        try:
            find()
        except SlowpathError as error:
            return Check("engine", "not there, and it can't be compiled", "missing", str(error), do)
    return Check("engine", "compiled by the first run, in two minutes or less", "ok", "now: slowpath mpi build")


def _line(mpi: Mpi) -> str:
    abi = f"{mpi.abi} ABI" + (", standard ABI" if mpi.standard_abi else "")
    return f"{mpi.identity} ({abi}) in {mpi.prefix}"


MESSAGE_PATH = "message path"
LIMIT_S = 20.0  # of the job, which takes a second or two
# Short and long messages: a library may open a path with the first message that needs it.
_CELL = ("p2p", "--pattern", "ping_pong", "--message-bytes", "8,1048576", "--samples", "10", "--time-limit-s", "0.1")
_NOWHERE = "doctor"  # environment of the rows
_NETWORKS = frozenset({"tcp", "sockets", "udp", "verbs", "tcp;ofi_rxm", "verbs;ofi_rxm"})
_VERBS = ("rc", "dc", "ud")  # UCX's transports over verbs: rc_mlx5, dc_mlx5, ud_verbs


def message_path(proof: Proof = "none", tell: Tell = lambda _: None) -> Check:
    """Module, transport and way to copy, where the library says them."""
    if proof == "none":
        return Check(MESSAGE_PATH, None, "ok", "not measured: starting a job was not allowed")
    try:
        return _of_own_mpi(tell)
    except SlowpathError as error:
        return Check(MESSAGE_PATH, None, "ok", f"not asked: {error}")


def _of_own_mpi(tell: Tell) -> Check:
    """Raises: SlowpathError: there is no MPI, or the allocation can't be read."""
    mpi = as_library_is(find_mpi(None))
    engine = kept_engine(mpi)
    if engine is None:
        why = f"not measured: there is no engine for {mpi.identity} to send the messages"
        return Check(MESSAGE_PATH, None, "warn", why, "slowpath mpi build, then slowpath doctor")
    if mpi.launcher in BATCH_NAMES and find_allocation(os.environ) is None:
        return Check(MESSAGE_PATH, None, "ok", f"not measured: {mpi.launcher} starts ranks only inside an allocation")
    tell(f"asking {mpi.identity} what carries messages between two ranks")
    return conclusion(mpi.name, asked(mpi, engine, os.environ))


def asked(mpi: Mpi, engine: UsableEngine, environ: Mapping[str, str]) -> Sequence[MessagePath] | str:
    """Return the library's answer, or why there is none."""
    launcher = launcher_named(mpi.launcher)
    place = _one_node(launcher, environ)
    nodes = allocated_nodes(environ) if place == ANYWHERE else 1
    with tempfile.TemporaryDirectory(prefix="slowpath-path-") as folder:
        made = command(
            launcher,
            str(mpi.mpiexec),
            mpi.name,
            2,
            "core" if "core" in launcher.bind else "none",
            QUESTIONS.get(mpi.name, {}),
            [str(engine.program), *_CELL],
            allowed_cores() * nodes,
            environ,
            place,
        )
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        variables = {**mpi.environ(environ), **made.variables}
        outcome = run_job(made.argv, variables, out, err, [], JobLimits(total_s=LIMIT_S))
        text = "\n".join(path.read_text(errors="replace") for path in (out, err))
    if outcome.ended != "ok":
        return f"a job of two ranks {how_it_ended(outcome)}"
    return paths_of(mpi.name, text, _splits(mpi, environ), _NOWHERE)


def _one_node(launcher: Launcher, environ: Mapping[str, str]) -> RankPlacement:
    """Both ranks on one node: in a job of several, srun puts two ranks on two. A launcher that can't be asked for it
    may put them on two; `conclusion` says then that nothing is known of one.
    """
    if allocated_nodes(environ) < 2:
        return ANYWHERE
    place = RankPlacement(nodes=1, per_node=2)
    return ANYWHERE if unavailable_place(launcher, place) else place


def _splits(mpi: Mpi, environ: Mapping[str, str]) -> dict[str, int | None]:
    """Control variables that decide which ranks share a node."""
    library = library_of(mpi)
    read = read_control_variables(library, list(SPLITS), mpi.environ(environ)) if library else None
    return {name: read.number(name) if read else None for name in SPLITS}


def conclusion(library: str, answer: Sequence[MessagePath] | str) -> Check:
    """The check of what the library said. Pure.

    Args: library: its name.  answer: rows, or why there are none.
    """
    if isinstance(answer, str):
        return Check(MESSAGE_PATH, None, "warn", answer, "slowpath run checkup shows the complete launch")
    on_node = [path for path in answer if path.scope == "on_node"]
    value = "; ".join(path.words for path in on_node or answer)
    if not on_node and answer:
        return Check(MESSAGE_PATH, value, "ok", "the path between ranks of one node is unknown")
    if not any(path.layer for path in on_node):
        return Check(MESSAGE_PATH, value, "ok", f"{library} does not say more")
    if any(takes_network(path) for path in on_node):
        means = "messages inside this node use a network path"
        return Check(MESSAGE_PATH, value, "warn", means, "slowpath diagnose")
    return Check(MESSAGE_PATH, value, "ok", f"as {library} reports it")


def takes_network(path: MessagePath) -> bool:
    """Whether a row shows that no shared memory is in it: it names ways of a network, and none of a node.

    libfabric's psm3 and opx have shared memory of their own, and say nothing of it.
    """
    words = (path.transport or "").removeprefix("btl ").removeprefix("UCX ").removeprefix("provider ").split(", ")
    named = [word for word in words if word not in ("", "self")]
    return bool(named) and all(word in _NETWORKS or word.startswith(_VERBS) for word in named)


CHECKS: tuple[Callable[[], Check], ...] = (
    mpi_in_use,
    launcher,
    engine,
    other_mpis,
    own_settings,
    blas,
    allocation,
    gpus,
    gpu_driver,
    cma,
    seccomp,
    ptrace_scope,
    xpmem,
    knem,
    transparent_huge_pages,
    reserved_huge_pages,
    locked_memory,
    shared_memory,
    memory_limit,
    cores,
    allowed_processors,
    numa,
    numa_balancing,
    threads,
    processor_limit,
    virtual_machine,
    load,
    governor,
    clock,
    kernel,
)


# Checks that start MPI jobs: the caller sets how far they may go, and hears of each job.
PROOFS: tuple[Callable[[Proof, Tell], Check], ...] = (message_path, mpi_and_gpu_memory)


def run_checks(proof: Proof = "none", tell: Tell = lambda _: None) -> list[Check]:
    """Every check's answer. A check that fails itself is an answer, too, and spoils no other."""
    return [*(_guarded(check) for check in CHECKS), *(_guarded(check, proof, tell) for check in PROOFS)]


def _guarded(check: Callable[..., Check], *arguments: object) -> Check:
    try:
        return check(*arguments)
    except Exception as error:  # an unforeseen /proc or /sys must not hide the other answers
        name = check.__name__.replace("_", " ")
        return Check(
            name, None, "warn", f"this check failed itself ({type(error).__name__}: {error}); please report it"
        )


# The doctor's answers as text and as JSON.

MARKS = {"ok": "ok  ", "warn": "WARN", "missing": "MISS"}
WIDTH, LINES = 100, 15
ASKED = ("MPI", "launcher", "engine", MESSAGE_PATH, "cores")


def as_text(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """What everybody asks, what is not ok with what mends it, and what can be measured, in LINES lines."""
    by_name = {check.name: check for check in checks if check.status == "ok"}
    head = [_line_of(by_name[name]) for name in ASKED if name in by_name]
    wrong = [_line_of(check) + f"\n  -> {check.do}" for check in checks if check.status != "ok" and check.do]
    tail = ["can be measured: " + ", ".join(ability.task for ability in abilities if ability.possible)]
    for why in dict.fromkeys(ability.why for ability in abilities if not ability.possible):
        lacking = ", ".join(ability.task for ability in abilities if ability.why == why and not ability.possible)
        tail.append(f"can't be measured: {lacking}: {why}")
    fit = (LINES - 1 - len(head) - len(tail)) // 2
    more = len(checks) - len(head) - len(wrong[:fit])
    tail.append(f"{more} more checks ({len(wrong[fit:])} not ok): slowpath doctor --full")
    return "\n".join([*head, *wrong[:fit], *(textwrap.shorten(line, WIDTH, placeholder=" ...") for line in tail)])


def _line_of(check: Check) -> str:
    text = f"{check.value}: {check.means}" if check.value and check.status != "ok" else check.value or check.means
    return textwrap.shorten(f"{MARKS[check.status].strip()} {check.name}: {text}", WIDTH, placeholder=" ...")


def as_table(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """All checks with what they mean and what to do, then what can be measured."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        first = f"{MARKS[check.status]}  {check.name:<{width}}  "
        lines += _wrapped(first, check.value or "unknown")
        lines += _wrapped(" " * len(first), check.means)
        if check.do:
            lines += _wrapped(" " * len(first), f"-> {check.do}")
    lines += ["", "What can be measured here:"]
    for ability in abilities:
        lines += _wrapped("  yes  " if ability.possible else "  no   ", ability.task)
        if ability.why:
            lines += _wrapped(" " * 7, f"because: {ability.why}")
    return "\n".join(lines) + "\n"


def as_json(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """{"checks": [...], "possible": [...]}"""
    content = {"checks": list(checks), "possible": list(abilities)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
