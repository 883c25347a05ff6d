# SPDX-License-Identifier: Apache-2.0
"""slowpath nodes on a real Slurm of four nodes: a slow link, a node that sends slowly, a node with a CPU quota."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from virtual_nodes import CONTROL

from slowpath.mpi.batch_systems import expand_hostlist
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

pytestmark = [
    pytest.mark.needs("root", "slurm", "iproute2"),
    pytest.mark.parametrize("mpi", ["embedded"], indirect=True),
]
BIN = Path(sys.executable).parent
QUOTAS = Path("/sys/fs/cgroup/cpu")
SLOW_BITS_PER_S = 20e6  # the other links are memory: hundreds of times as fast
QUOTA_US, PERIOD_US = 20_000, 100_000


@pytest.fixture(scope="module")
def four() -> Iterator[Cluster]:
    with Cluster(4) as cluster:
        yield cluster


def slow_link(slurm: Cluster, a: str, b: str, rate_bits_per_s: float) -> None:
    """A wire between two nodes alone, which all that they send each other takes."""
    nodes = slurm.nodes
    address = {name: f"10.77.0.{number}" for number, name in enumerate([CONTROL, *nodes.processors], start=1)}
    shape = ["tbf", "rate", f"{rate_bits_per_s:.0f}bit", "burst", "262144", "latency", "50ms"]

    def must(node: str, *words: str) -> None:
        done = slurm.nodes_run(node, words)
        assert done.returncode == 0, (words, done.stderr)

    must(a, "ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(nodes.process(b)))
    for node, other in ((a, b), (b, a)):
        must(node, "ip", "link", "set", "wire", "up")
        must(node, "tc", "qdisc", "replace", "dev", "wire", "root", *shape)
        must(node, "ip", "route", "add", f"{address[other]}/32", "dev", "wire", "src", address[node])


def run_nodes(slurm: Cluster, mpi: Mpi, cache: Path, folder: Path, *words: str) -> tuple[int, str, Mapping[str, Any]]:
    path = os.pathsep.join([str(mpi.mpiexec.parent), str(BIN), os.environ["PATH"]])
    # UCX looks for the route of its own interface, and the wire is another one.
    over_tcp = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
    env = {**mpi.environ({}), **over_tcp, "SLOWPATH_CACHE_DIR": str(cache), "PATH": path}
    command = [sys.executable, "-m", "slowpath.cli", "nodes", "--mpi", str(shutil.which("srun")), "--out", "out"]
    command += ["--message-bytes", "64KiB"]
    job = ["salloc", "-N", "4", "--ntasks-per-node=1", "--exclusive", *command, *words]
    done = slurm.run(job, env=env, cwd=folder, limit_s=WATCHDOG_S)
    assert (folder / "out" / "verdict.json").exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads((folder / "out" / "verdict.json").read_text())


def test_a_slow_link_and_a_node_that_sends_slowly_are_found(
    four: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, tmp_path: Path
) -> None:
    slow_link(four, "n1", "n2", SLOW_BITS_PER_S)
    four.nodes.shape(SLOW_BITS_PER_S, only="n4")
    try:
        options = ["--fail-above", "1.5", "--write-exclude", "slow"]
        code, said, verdict = run_nodes(four, mpi, engine_cache, tmp_path, *options)
    finally:
        four.nodes.shape(None, only="n4")
        four.nodes_run("n1", ["ip", "link", "del", "wire"])
    assert code == 1, said
    assert len(said.splitlines()) <= 12
    measures = {node["node"]: {slow["measure"]: slow for slow in node["slow"]} for node in verdict["nodes"]}
    assert measures["n4"]["sends"]["interval"][0] > 1.5, said
    assert "receives" not in measures["n4"]
    assert [{link["a"], link["b"]} for link in verdict["links"]] == [{"n1", "n2"}], said
    assert verdict["confirmed"]
    assert verdict["pairs"] == 6
    assert "n4" in expand_hostlist((tmp_path / "slow").read_text().strip())
    # What is there is not measured again: the same command ends at once, with the same verdict.
    launches = len(list((tmp_path / "out" / "screen" / "launches").iterdir()))
    assert run_nodes(four, mpi, engine_cache, tmp_path)[2]["links"] == verdict["links"]
    assert len(list((tmp_path / "out" / "screen" / "launches").iterdir())) == launches


@pytest.mark.skipif(not (QUOTAS / "cpu.cfs_quota_us").exists(), reason="the kernel has no CPU quotas of cgroup 1")
def test_a_node_with_a_cpu_quota_is_found(
    four: Cluster, mpi: Mpi, engine: Engine, engine_cache: Path, tmp_path: Path
) -> None:
    group = QUOTAS / f"slowpath-nodes-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        (group / "cgroup.procs").write_text(str(four.daemon("n3")))
        _, said, verdict = run_nodes(four, mpi, engine_cache, tmp_path)
    finally:
        (QUOTAS / "cgroup.procs").write_text(str(four.daemon("n3")))
        for process in (group / "cgroup.procs").read_text().split():
            (QUOTAS / "cgroup.procs").write_text(process)
        group.rmdir()
    measures = {node["node"]: {slow["measure"] for slow in node["slow"]} for node in verdict["nodes"]}
    assert "processors" in measures["n3"], said
    assert not any("processors" in slow for node, slow in measures.items() if node != "n3"), said
