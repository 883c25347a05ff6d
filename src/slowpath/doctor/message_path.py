# SPDX-License-Identifier: Apache-2.0
"""What carries messages between two ranks of this node: asked of the library by a job of two ranks, as a run asks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.core.run_results import MessagePath
from slowpath.doctor.check import Check
from slowpath.doctor.device_transfer import how_it_ended
from slowpath.doctor.mpi_gpu import Proof, Tell
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.control_variables import library_of, read_control_variables
from slowpath.mpi.find import find_mpi
from slowpath.mpi.launcher import Launcher, RankPlacement
from slowpath.mpi.launchers import ANYWHERE, BATCH_NAMES, command, launcher_named, unavailable_place
from slowpath.mpi.message_path import QUESTIONS, SPLITS, paths_of
from slowpath.mpi.mpi import Mpi, as_library_is
from slowpath.run.cores import allocated_nodes, allowed_cores
from slowpath.run.engine.build import kept_engine
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.process import JobLimits, run_job

NAME = "message path"
LIMIT_S = 20.0  # of the job, which takes a second or two
# Short and long messages: a library may open a path with the first message that needs it.
_CELL = ("p2p", "--pattern", "ping_pong", "--message-bytes", "8,1048576", "--samples", "10", "--time-limit-s", "0.1")
_NOWHERE = "doctor"  # environment of the rows
_NETWORKS = frozenset({"tcp", "sockets", "udp", "verbs", "tcp;ofi_rxm", "verbs;ofi_rxm"})
_VERBS = ("rc", "dc", "ud")  # UCX's transports over verbs: rc_mlx5, dc_mlx5, ud_verbs


def message_path(proof: Proof = "none", tell: Tell = lambda _: None) -> Check:
    """Module, transport and way to copy, where the library says them."""
    if proof == "none":
        return Check(NAME, None, "ok", "not measured: starting a job was not allowed")
    try:
        return _of_own_mpi(tell)
    except SlowpathError as error:
        return Check(NAME, None, "ok", f"not asked: {error}")


def _of_own_mpi(tell: Tell) -> Check:
    """Raises: SlowpathError: there is no MPI, or the allocation can't be read."""
    mpi = as_library_is(find_mpi(None))
    engine = kept_engine(mpi)
    if engine is None:
        why = f"not measured: there is no engine for {mpi.identity} to send the messages"
        return Check(NAME, None, "ok", why, "slowpath mpi build, then slowpath doctor")
    if mpi.launcher in BATCH_NAMES and find_allocation(os.environ) is None:
        return Check(NAME, None, "ok", f"not measured: {mpi.launcher} starts ranks only inside an allocation")
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
        return Check(NAME, None, "warn", answer, "slowpath run checkup shows the complete launch")
    on_node = [path for path in answer if path.scope == "on_node"]
    value = "; ".join(path.words for path in on_node or answer)
    if not on_node and answer:
        return Check(NAME, value, "ok", "the path between ranks of one node is unknown")
    if not any(path.layer for path in on_node):
        return Check(NAME, value, "ok", f"{library} does not say more")
    if any(takes_network(path) for path in on_node):
        means = "messages inside this node use a network path"
        return Check(NAME, value, "warn", means, "slowpath diagnose")
    return Check(NAME, value, "ok", f"as {library} reports it")


def takes_network(path: MessagePath) -> bool:
    """Whether a row shows that no shared memory is in it: it names ways of a network, and none of a node.

    libfabric's psm3 and opx have shared memory of their own, and say nothing of it.
    """
    words = (path.transport or "").removeprefix("btl ").removeprefix("UCX ").removeprefix("provider ").split(", ")
    named = [word for word in words if word not in ("", "self")]
    return bool(named) and all(word in _NETWORKS or word.startswith(_VERBS) for word in named)
