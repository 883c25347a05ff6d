# SPDX-License-Identifier: Apache-2.0
"""Nodes that are namespaces: apart but for the link, and gone afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from link_nodes import CONTROL, SUBNET, Nodes, launcher_variables

from slowpath.core.errors import EnvironmentFailure
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("root", "iproute2")
BYTES = 500_000
LISTEN = "import socket; s = socket.create_server(('', 7)); print('up', flush=True); c = s.accept()[0]\n"
RECEIVE = LISTEN + "n = 0\nwhile d := c.recv(65536): n += len(d)\nprint(n)"
SEND = f"import socket; s = socket.create_connection(('n2', 7)); s.sendall(b'x' * {BYTES})"


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    made = Nodes([0, 1])
    try:
        made.__enter__()
    except EnvironmentFailure as reason:
        pytest.skip(str(reason))
    yield made
    made.__exit__(None, None, None)


def said(nodes: Nodes, name: str, *argv: str) -> str:
    done = subprocess.run(nodes.command(name, argv), capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    return done.stdout.strip()


def test_nodes_have_names_addresses_and_shared_memory_of_their_own(nodes: Nodes) -> None:
    assert [said(nodes, name, "hostname") for name in ("n1", "n2", CONTROL)] == ["n1", "n2", CONTROL]
    assert f"{SUBNET}.3/24" in said(nodes, "n2", "ip", "-o", "address", "show", "dev", "eth0")
    said(nodes, "n1", "touch", "/dev/shm/link-nodes-test")
    assert said(nodes, "n2", "ls", "/dev/shm") == ""
    assert not Path("/dev/shm/link-nodes-test").exists()


@pytest.mark.parametrize("rate", [None, 1e9])
def test_what_one_sends_the_other_gets_over_the_link(nodes: Nodes, rate: float | None) -> None:
    nodes.shape(rate)
    before = nodes.sent_bytes("n1")
    argv = nodes.command("n2", [sys.executable, "-c", RECEIVE])
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline().strip() == "up"
        said(nodes, "n1", sys.executable, "-c", SEND)
        assert int(receiver.stdout.readline()) == BYTES
    assert nodes.sent_bytes("n1") - before >= BYTES
    shaped = "tbf" in said(nodes, "n1", "tc", "qdisc", "show", "dev", "eth0")
    assert shaped == (rate is not None)


def test_the_agent_starts_a_command_in_its_node_on_its_processors(nodes: Nodes) -> None:
    for name, processors in nodes.processors.items():
        argv = [str(nodes.agent), "-x", "-l", "user", name, "hostname;", "taskset", "-pc", "$$"]
        lines = subprocess.run(argv, capture_output=True, text=True, timeout=WATCHDOG_S, check=True).stdout.splitlines()
        assert lines[0] == name
        assert lines[1].endswith(f": {processors[0]}")
    argv = [str(nodes.agent), "n3", "hostname"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert (done.returncode, done.stderr) == (1, "no node n3\n")


def test_nothing_is_left(nodes: Nodes) -> None:
    holders = [holder.pid for holder in nodes._holders.values()]
    nodes.__exit__(None, None, None)
    assert not any(Path(f"/proc/{pid}").exists() for pid in holders)
    assert not nodes.folder.exists()


def test_a_launcher_that_is_not_known_is_refused(nodes: Nodes) -> None:
    with pytest.raises(EnvironmentFailure, match="can't make the launcher srun"):
        launcher_variables(nodes, "srun", 1)
