# SPDX-License-Identifier: Apache-2.0
"""All checks, in the order in which they are shown."""

from __future__ import annotations

import mmap
import os
import re
import resource
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure, SlowpathError
from slowpath.core.machine import PlaceFacts, format_cpu_list
from slowpath.core.run_results import MessagePath
from slowpath.core.units import format_bytes, format_ratio, plural
from slowpath.doctor.check import Ability, Check
from slowpath.doctor.gpu import Proof, Tell, gpus, how_it_ended, mpi_and_gpu_memory, two_ranks
from slowpath.mpi import place as judges
from slowpath.mpi.batch_systems import ON_A_NODE, find_allocation
from slowpath.mpi.find import find_all, find_mpi
from slowpath.mpi.launchers import (
    ANYWHERE,
    BATCH_NAMES,
    Launcher,
    RankPlacement,
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

SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies")


def clock() -> Check:
    """Source of CLOCK_MONOTONIC."""
    source = read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source in SLOW_CLOCKS:
        return Check("clock", source, "warn", "reading this clock takes about 1 us, a large part of a small message")
    return Check("clock", source, "ok")


# Pages and locked memory.

THP = Path("/sys/kernel/mm/transparent_hugepage")


def transparent_huge_pages() -> Check:
    """Whether memory gets transparent huge pages by madvise, as in cells of `pages=huge`.

    Tried, since a container may hide /sys, sizes have switches of their own, and prctl takes them from a process
    (Documentation/admin-guide/mm/transhuge.rst). Reserved ones (hugetlbfs) have no part in it.
    """
    name, mode = "transparent huge pages", bracketed(THP / "enabled")
    if gets_huge_pages():
        return Check(name, mode or "by madvise", "ok")
    means = "memory that asks for huge pages by madvise gets small ones"
    switch = f"echo madvise > {THP}/enabled, as root" if mode == "never" else None
    return Check(name, mode, "missing" if mode in (None, "never") else "warn", means, switch)


def gets_huge_pages() -> bool:
    """Whether a part of 8 MiB that are written after madvise(MADV_HUGEPAGE) is on huge pages."""
    with suppress(OSError), mmap.mmap(-1, 2**23, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory.write(bytes(2**23))
        return re.search(r"AnonHugePages: +[1-9]", Path("/proc/self/smaps").read_text(encoding="utf-8")) is not None
    return False


def locked_memory() -> Check:
    """RLIMIT_MEMLOCK: how much may be registered with a network card or pinned."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY or not has_fabric():
        return Check("locked memory", "unlimited" if soft == resource.RLIM_INFINITY else format_bytes(soft), "ok")
    means = "registering larger buffers with the network card fails or falls back to copies"
    do = "raise the limit: ulimit -l unlimited, or memlock in limits.conf"
    return Check("locked memory", format_bytes(soft), "warn", means, do)


# The batch system's allocation, if this is one.


def allocation(environ: Mapping[str, str] | None = None) -> Check:
    """Batch system, job and number of nodes."""
    try:
        batch_job = find_allocation(os.environ if environ is None else environ)
    except EnvironmentFailure as error:
        return Check("allocation", None, "warn", str(error), ON_A_NODE)
    if batch_job is None:
        return Check("allocation", "none", "ok")
    job = f" job {batch_job.job}" if batch_job.job else ""
    value = f"{batch_job.title}{job}, {plural(batch_job.nodes, 'node')}"
    return Check("allocation", value, "ok")


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
        return Check(OWN_SETTINGS, "none", "ok")
    ignored = [
        f"{setting.name}: {why}" for setting in reported if (why := why_ignored(setting, library, {}, {})) is not None
    ]
    value = ", ".join(setting.words for setting in reported)
    if ignored:
        return Check(OWN_SETTINGS, value, "warn", "; ".join(ignored), "unset them")
    return Check(OWN_SETTINGS, value, "ok")


# Cores, their limits and what else they are doing.

CPU = Path("/sys/devices/system/cpu")


def cores() -> Check:
    """Cores that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    count = allowed_cores()
    model = first_value("/proc/cpuinfo", "model name") or "unknown model"
    value = f"{count} cores, processors {format_cpu_list(allowed)} of {os.cpu_count()}; {model}"
    if count >= 2:
        return Check("cores", value, "ok")
    means = "two ranks share a core, so the scheduler determines the times"
    return Check("cores", value, "warn", means, "ask for 2 cores or more")


def load() -> Check:
    """Other work on this machine."""
    average = os.getloadavg()[0]
    value = f"{average:.2f} over the last minute"
    if average < 0.5 * allowed_cores():
        return Check("load", value, "ok")
    return Check("load", value, "warn", "other processes compete for the cores", "ask for an exclusive node, or wait")


def governor() -> Check:
    """Frequency governor of the first processor."""
    name = read_line(CPU / "cpu0/cpufreq/scaling_governor")
    if name in (None, "performance"):
        return Check("frequency governor", name or "not visible", "ok")
    means = "times drift, because the clock rate follows the load"
    return Check("frequency governor", name, "warn", means, "cpupower frequency-set -g performance, as root")


RANKS = 2


def cma() -> Check:
    """A real process_vm_readv(2) between two processes that are each other's neither parent nor child, as ranks are."""
    place = place_here()
    value = None
    if place.copy_errno is not None:
        value = "refused" if place.copy_errno else "permitted"
        if place.copy_errno and place.asked_errno == 0:
            value = "permitted where a library asks"
    return _check(judges.single_copy, place, "CMA", value)


def shared_memory() -> Check:
    """Room in /dev/shm."""
    place = place_here()
    value = None
    if place.shm_bytes is not None and place.shm_free_bytes is not None:
        value = f"{_size(place.shm_bytes)}, {_size(place.shm_free_bytes)} free"
    return _check(judges.shared_memory, place, "/dev/shm", value)


def processor_limit() -> Check:
    """A limit of processor time by the container or batch system (cgroup)."""
    place = place_here()
    quota = place.processor_quota
    value = "none" if quota is None else f"{format_ratio(quota)} processors"
    return _check(judges.processor_limit, place, "processor limit", value)


def memory_limit() -> Check:
    """A limit of memory by the container or batch system (cgroup)."""
    place = place_here()
    limit = place.memory_limit_bytes
    value = "none" if limit is None else _size(limit)
    return _check(judges.memory_limit, place, "memory limit", value)


def allowed_processors() -> Check:
    """Processors that ranks inherit."""
    place = place_here()
    value = f"{place.processors} of {place.online}" if place.processors and place.online else place.processors
    return _check(judges.allowed_processors, place, "allowed processors", value)


def numa_balancing() -> Check:
    """Whether the kernel moves pages between NUMA nodes by itself."""
    place = place_here()
    value = None if place.numa_balancing is None else "on" if place.numa_balancing else "off"
    return _check(judges.numa_balancing, place, "NUMA balancing", value)


def virtual_machine() -> Check:
    """Whether a hypervisor stands below. It is noted and no reason to warn: many machines are such."""
    fault = judges.virtual_machine(place_here(), PlaceJob(RANKS))
    return Check("virtual machine", "yes" if fault else "not seen", "ok", fault.text if fault else "")


def gpu_driver() -> Check:
    """Version of the GPU driver."""
    place = place_here()
    return _check(judges.driver_of_gpus, place, "GPU driver", place.gpu_driver or "none")


def _size(count: int) -> str:
    """In whole MiB or GiB: what is free changes from one moment to the next."""
    unit = next((unit for unit in (2**30, 2**20) if count >= 4 * unit), 1)
    return format_bytes(count // unit * unit)


def _check(check: PlaceCheck, place: PlaceFacts, name: str, value: str | None) -> Check:
    fault = check(place, PlaceJob(RANKS, _library(), os.environ))
    if fault is None:
        return Check(name, value, "ok")
    return Check(name, value, "warn", fault.text, fault.do)


def _library() -> str | None:
    try:
        return find_mpi(None).name
    except SlowpathError:
        return None


# The BLAS that the experiment cannon multiplies with.

BLAS = "BLAS"
INSTALL = "OpenBLAS, BLIS, MKL or AOCL for developers, or: pip install 'slowpath[blas]'"
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
        means = "the reference BLAS is about ten times slower than a tuned one"
        return Check(BLAS, value, "warn", means, INSTALL)
    return _with_variables(value, steered)


def unbuilt(sight: BlasInSight, steered: Mapping[str, str]) -> Check:
    """Before there is an engine: what its build will choose from."""
    if sight.libraries:
        seen = ", ".join(map(str, sight.libraries))
        return _with_variables(seen, steered)
    if sight.package is not None:
        value = f"scipy-openblas32 {package_version() or 'of unknown version'}"
        return _with_variables(value, steered)
    return Check(BLAS, "none", "missing", "the experiment cannon needs one", INSTALL)


def _with_variables(value: str, steered: Mapping[str, str]) -> Check:
    if not steered:
        return Check(BLAS, value, "ok")
    listed = ", ".join(f"{name}={text}" for name, text in steered.items())
    return Check(BLAS, value, "warn", f"{listed} may halve the BLAS's rate", f"unset {' '.join(steered)}")


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
INSTALL_COMPILER = "apt-get install g++ (Fedora, RHEL: dnf install gcc-c++), or a module with GCC 10"


def mpi_in_use() -> Check:
    """The MPI that `slowpath run` takes."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check("MPI", None, "missing", str(error), INSTALL_MPI)
    return Check("MPI", f"{_line(mpi)}, {mpi.source}", "warn" if mpi.doubt else "ok", mpi.doubt)


def launcher() -> Check:
    """What starts the ranks, and whether a shell starts the same: its first mpiexec may be another MPI's."""
    try:
        taken = find_mpi(None)
    except SlowpathError as error:
        return Check("launcher", None, "missing", str(error), INSTALL_MPI)
    value, first = f"{taken.launcher}, {taken.mpiexec}", shutil.which("mpiexec")
    if first is None or os.path.realpath(first) == os.path.realpath(taken.mpiexec):
        return Check("launcher", value, "ok")
    return Check("launcher", value, "warn", f"your shell starts {first} instead", f"slowpath run --mpi {first}")


def other_mpis() -> Check:
    """MPIs that --mpi could name."""
    try:
        every = find_all()
        taken = find_mpi(None).mpiexec.resolve() if every else None
        others = [mpi for mpi in every if mpi.mpiexec.resolve() != taken]
    except SlowpathError as error:
        return Check("other MPIs", None, "warn", str(error), "correct SLOWPATH_MPI")
    return Check("other MPIs", "; ".join(map(_line, others)) or "none", "ok")


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
        (lambda: find_cmake(os.environ), "pip install 'slowpath[compile]'"),
    )
    for find, do in needs:
        try:
            find()
        except SlowpathError as error:
            return Check("engine", "none", "missing", str(error), do)
    return Check("engine", "the first run compiles it", "ok", "now: slowpath mpi build")


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
        return Check(MESSAGE_PATH, "not measured", "ok")
    try:
        return _of_own_mpi(tell)
    except SlowpathError as error:
        return Check(MESSAGE_PATH, None, "ok", str(error))


def _of_own_mpi(tell: Tell) -> Check:
    """Raises: SlowpathError: there is no MPI, or the allocation can't be read."""
    mpi = as_library_is(find_mpi(None))
    engine = kept_engine(mpi)
    if engine is None:
        return Check(MESSAGE_PATH, "not measured", "warn", "no engine yet", "slowpath mpi build")
    if mpi.launcher in BATCH_NAMES and find_allocation(os.environ) is None:
        return Check(MESSAGE_PATH, "not measured", "ok", f"no job for {mpi.launcher}")
    tell(f"asking {mpi.identity} what carries messages between two ranks")
    return conclusion(asked(mpi, engine, os.environ))


def asked(mpi: Mpi, engine: UsableEngine, environ: Mapping[str, str]) -> Sequence[MessagePath] | str:
    """Return the library's answer, or why there is none."""
    place = _one_node(launcher_named(mpi.launcher), environ)
    outcome, text = two_ranks(mpi, engine, _CELL, environ, QUESTIONS.get(mpi.name, {}), LIMIT_S, place)
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


def conclusion(answer: Sequence[MessagePath] | str) -> Check:
    """The check of what the library said: rows, or why there are none. Pure."""
    if isinstance(answer, str):
        return Check(MESSAGE_PATH, None, "warn", answer, "slowpath run checkup")
    on_node = [path for path in answer if path.scope == "on_node"]
    value = "; ".join(path.words for path in on_node or answer)
    if any(takes_network(path) for path in on_node):
        return Check(MESSAGE_PATH, value, "warn", "messages inside this node use a network", "slowpath diagnose")
    return Check(MESSAGE_PATH, value, "ok")


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
    transparent_huge_pages,
    locked_memory,
    shared_memory,
    memory_limit,
    cores,
    allowed_processors,
    numa_balancing,
    processor_limit,
    virtual_machine,
    load,
    governor,
    clock,
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
        return Check(name, None, "warn", f"this check failed itself ({type(error).__name__}: {error}); report it")


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
        lines += _wrapped(" " * len(first), check.means) if check.means else []
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
