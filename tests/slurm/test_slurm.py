# SPDX-License-Identifier: Apache-2.0
"""Slurm itself: jobs of both scripts, srun with the PMI of each library, the wrong PMI, the reproducers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster, Done

from slowpath.cli.machine import program
from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.record.events import read_events
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("root", "slurm", "iproute2")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "slurm" / "checkup.sbatch"
BIN = Path(sys.executable).parent
CAMPAIGN = """
[campaign]
name = "tiny"
title = "A rank on each of two nodes, and two on one"
ranks = 2
rounds = 2

[[placement]]
name = "across"
nodes = 2

[[placement]]
name = "inside"
nodes = 1

[[cells]]
name = "latency"
experiment = "p2p"
placement = "*"
[cells.parameters]
pattern = "ping_pong"
message_bytes = 8
samples = 20
time_limit_s = 0.01
warmup_s = 0.002
"""
COLLECTIVES = """
[campaign]
name = "many"
title = "Four ranks, two on each of two nodes"
ranks = 4
rounds = 2

[[environment]]
name = "default"

[[environment]]
name = "peers"
variables = { SLOWPATH_FIRST_PEERS = "xor" }

[[cells]]
name = "calls"
experiment = "coll"
[cells.parameters]
collective = ["allreduce", "alltoall"]
message_bytes = 64
samples = 8
time_limit_s = 0.01
warmup_s = 0

[[cells]]
name = "peers"
experiment = "first_use"
environment = "peers"
[cells.parameters]
pattern = "peer"
order = "xor"
uses = 3

[[cells]]
name = "uses"
experiment = "first_use"
[cells.parameters]
pattern = ["init", "communicator", "collective", "shared_window"]
window_bytes = "64KiB"
uses = 3
"""
# MPICH and Intel MPI over TCP between namespaces; the machine's own devices are not the nodes'.
OVER_TCP = {"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,sm"}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(CAMPAIGN)
    return tmp_path / "tiny.toml"


def environment(mpi: Mpi, cache: Path) -> dict[str, str]:
    """That of a user who has loaded `mpi`."""
    path = os.pathsep.join([str(mpi.mpiexec.parent), str(BIN), os.environ["PATH"]])
    return {**mpi.environ({}), **OVER_TCP, "SLOWPATH_CACHE_DIR": str(cache), "PATH": path}


def results_of(run: Path) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads((run / "results.json").read_text())
    return document


def hosts_by_placement(results: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        placement["name"]: [rank["host"] for rank in placement["observed"]]
        for placement in results["run"]["placements"]
    }


def checked(done: Done) -> Done:
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def job_of(slurm: Cluster, script: Path, words: list[str], folder: Path, env: dict[str, str]) -> str:
    """What a job printed."""
    done = slurm.run(["sbatch", "--wait", *words], env=env, cwd=folder, limit_s=WATCHDOG_S)
    log = "\n".join(path.read_text() for path in folder.glob("slowpath-*.log"))
    assert done.returncode == 0, done.stderr + log
    return log


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_the_shipped_script_ends_with_a_report(
    slurm: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, campaign: Path
) -> None:
    folder = campaign.parent
    env = environment(mpi, engine_cache)
    log = job_of(slurm, EXAMPLE, ["-N", "2", str(EXAMPLE), "tiny.toml"], folder, env)
    (run,) = (folder / "slowpath-runs").iterdir()
    assert f"report: slowpath-runs/{run.name}/report.html" in log
    assert (run / "report.html").stat().st_size > 0
    results = results_of(run)
    assert results["run"]["machine"]["allocation"]["names"] == ["n1", "n2"]
    hosts = hosts_by_placement(results)
    assert hosts["across"] == ["n1", "n2"]
    assert len(set(hosts["inside"])) == 1
    assert [cell["status"] for cell in results["cells"]] == ["ok", "ok"]


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_the_script_that_slowpath_writes(
    slurm: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, campaign: Path
) -> None:
    folder = campaign.parent
    env = environment(mpi, engine_cache)
    written = checked(
        slurm.run([sys.executable, "-m", "slowpath.cli", "run", str(campaign), "--script", "slurm"], env=env)
    )
    assert "#SBATCH --nodes=2" in written.stdout
    (folder / "job").write_text(re.sub(r"^.* doctor$", "", written.stdout, flags=re.MULTILINE))
    job_of(slurm, folder / "job", ["job"], folder, env)
    (run,) = (folder / "slowpath-runs").iterdir()
    assert hosts_by_placement(results_of(run))["across"] == ["n1", "n2"]


def test_srun_starts_ranks_on_two_nodes_with_the_librarys_pmi(
    slurm: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, campaign: Path
) -> None:
    srun = shutil.which("srun")
    words = [sys.executable, "-m", "slowpath.cli", "run", str(campaign), "--mpi", str(srun), "--out", "run", "--quiet"]
    job = ["salloc", "-N", "2", "--ntasks-per-node=2", "--exclusive", *words]
    checked(slurm.run(job, env=environment(mpi, engine_cache), cwd=campaign.parent, limit_s=WATCHDOG_S))
    results = results_of(campaign.parent / "run")
    assert results["run"]["mpi"]["launcher"] == "srun"
    assert results["run"]["mpi"]["name"] == mpi.name
    hosts = hosts_by_placement(results)
    assert (hosts["across"], len(set(hosts["inside"]))) == (["n1", "n2"], 1)
    assert not [placement for placement in results["run"]["placements"] if placement.get("differs")]


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_collectives_and_first_uses_of_four_ranks_end_with_a_report(
    slurm: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "many.toml").write_text(COLLECTIVES)
    words = [sys.executable, "-m", "slowpath.cli", "run", "many.toml", "--mpi", str(shutil.which("srun")), "--quiet"]
    job = ["salloc", "-N", "2", "--ntasks-per-node=2", "--exclusive", *words, "--out", "run"]
    checked(slurm.run(job, env=environment(mpi, engine_cache), cwd=tmp_path, limit_s=WATCHDOG_S))
    results = results_of(tmp_path / "run")
    assert {cell["status"] for cell in results["cells"]} == {"ok"}
    assert all(sorted(hosts) == ["n1", "n1", "n2", "n2"] for hosts in hosts_by_placement(results).values())
    report = (tmp_path / "run" / "report.html").read_text()
    assert "First-use ladder" in report
    # These nodes are containers of one machine, and so have one clock.
    collective = next(cell for cell in results["cells"] if cell["parameters"].get("pattern") == "calls")
    assert collective["metrics"]["collective_work_s"]["phases"]["steady"]["value"] > 0


@pytest.mark.parametrize("pmi", ["none", "wrong"])
def test_singletons_of_a_wrong_pmi_are_refused(
    slurm: Cluster, mpi: Mpi, engine: Engine, tmp_path: Path, pmi: str
) -> None:
    right = launcher_named("srun").pmi[mpi.name]
    spoken = "--mpi=none" if pmi == "none" else {"--mpi=pmi2": "--mpi=pmix", "--mpi=pmix": "--mpi=pmi2"}[right]
    words = [str(engine.program), "p2p", "--message-bytes", "8", "--out", str(tmp_path / "out")]
    done = slurm.run(["srun", spoken, "-N", "2", "-n", "2", *words], env={**mpi.environ({}), **OVER_TCP})
    said = done.stdout + done.stderr
    if mpi.name == "intelmpi" and pmi == "wrong":  # it speaks both
        assert done.returncode == 0, said
        return
    assert done.returncode not in (0, 124), said
    if "unsupported PMI version" in said:  # MPICH finds it out itself
        return
    assert "wrong launcher or PMI: 2 singletons" in said
    assert "--mpi" in said
    assert done.returncode == 4
    assert not (tmp_path / "out" / "samples.blk").exists()


def test_ranks_of_an_engine_that_srun_starts_know_one_another(
    slurm: Cluster, mpi: Mpi, engine: Engine, tmp_path: Path
) -> None:
    words = [str(engine.program), "p2p", "--message-bytes", "8", "--samples", "9", "--out", str(tmp_path / "out")]
    srun = ["srun", launcher_named("srun").pmi[mpi.name], "-n", "2", "-N", "2", "--cpu-bind=cores"]
    checked(slurm.run([*srun, *words], env={**mpi.environ({}), **OVER_TCP}))
    ranks = read_events(tmp_path / "out" / "events.jsonl").ranks
    assert [rank.host for rank in ranks] == ["n1", "n2"]
    assert all(re.fullmatch(r"\d+", rank.cpus_allowed or "") for rank in ranks)


def reproducer(mpi: Mpi, name: str, folder: Path) -> Path:
    """Compiled as its head says, for host memory alone."""
    (folder / f"{name}.cpp").write_text(program(name))
    words = [str(mpi.mpicxx), "-O3", "-DHOST_ONLY", f"{name}.cpp", "-o", name]
    subprocess.run(words, cwd=folder, env=mpi.environ(os.environ), check=True)
    return folder / name


@pytest.mark.parametrize("words", [["-n", "2"], ["-n", "2", "-N", "2", "--cpu-bind=cores"]], ids=["n2", "n2-N2"])
@pytest.mark.parametrize(
    "command",
    [
        ["gpudirect_p2p_overalloc", "2", "2", "1024", "1048576", "1", "--memory", "host"],
        ["intranode_pinned_host_comm", "2", "2", "host", "134217"],
    ],
    ids=lambda command: command[0],
)
def test_reproducers_as_their_authors_start_them(
    slurm: Cluster, mpi: Mpi, tmp_path: Path, command: list[str], words: list[str]
) -> None:
    built = reproducer(mpi, command[0], tmp_path)
    srun = ["srun", launcher_named("srun").pmi[mpi.name], *words, str(built), *command[1:]]
    done = checked(slurm.run(srun, env={**mpi.environ({}), **OVER_TCP}))
    assert len(re.findall(r"^\[\d+:\d+\] time: ", done.stdout, re.MULTILINE)) in (4, 8)


def test_a_reproducer_without_a_gpu_says_so(slurm: Cluster, mpi: Mpi, tmp_path: Path) -> None:
    built = reproducer(mpi, "gpudirect_p2p_overalloc", tmp_path)
    env = {**mpi.environ({}), **OVER_TCP}
    done = slurm.run(
        ["srun", launcher_named("srun").pmi[mpi.name], "-n", "2", str(built), "2", "2", "1024", "1048576", "1"],
        env=env,
    )
    assert done.returncode not in (0, 124)
    assert "error: this program was built without CUDA and HIP" in done.stderr
