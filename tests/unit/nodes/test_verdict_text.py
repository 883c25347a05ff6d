# SPDX-License-Identifier: Apache-2.0
"""The verdict in words, Slurm's list of nodes, exit by ratio."""

from __future__ import annotations

import msgspec
import pytest

from slowpath.mpi.batch_systems import expand_hostlist
from slowpath.studies.nodes.infer import Slow, SlowLink, SlowNode
from slowpath.studies.nodes.measure import (
    MOST_LINES,
    NodesVerdict,
    fails,
    hostlist,
    silent_nodes,
    verdict_lines,
)


def slow(measure: str, ratio: float = 2.0, pairs: int = 0) -> Slow:
    return Slow(measure, ratio, (0.95 * ratio, 1.05 * ratio), 170e-6, 85e-6, pairs, pairs)  # type: ignore[arg-type]


SENDS = SlowNode("n3", (slow("sends", pairs=7),))
BUSY = SlowNode("n5", (slow("processors", 1.5),), (4, 8))
LINK = SlowLink("n1", "n2", (slow("stream", 3.0),), 1, 12)


def verdict(**changes: object) -> NodesVerdict:
    found = NodesVerdict(nodes=(SENDS, BUSY), links=(LINK,), compared=8, pairs=28, launches=5, wall_s=42.0)
    return msgspec.structs.replace(found, **changes)


def test_each_line_has_the_node_the_ratio_its_interval_and_its_evidence() -> None:
    lines = verdict_lines(verdict())
    assert lines[0] == "2 nodes are slow, 1 link is slow"
    assert lines[1].startswith("n3: messages from it are 2.00x [1.90, 2.10] slower, to 7 of 7 partners")
    assert "messages to it are not slow" in lines[1]
    assert "4 of 8 have to share" in lines[2]
    assert lines[3].startswith("from n1 to n2, one way: messages are 3.00x [2.85, 3.15] slower")
    assert "the 12 other pairs of these two nodes are not slow" in lines[3]
    assert lines[-1].startswith("compared: 8 nodes, 28 of 28 pairs, 5 launches, 42 s")


def test_no_more_than_twelve_lines_and_what_is_left_out_is_counted() -> None:
    links = tuple(SlowLink(f"n{n}", f"m{n}", (slow("stream"),), 1, 3) for n in range(40))
    lines = verdict_lines(verdict(links=links))
    assert len(lines) == MOST_LINES
    assert any("more: see verdict.json" in line for line in lines)


def test_a_healthy_machine_is_said_to_be_so() -> None:
    assert verdict_lines(verdict(nodes=(), links=()))[0].startswith("no node and no measured link is slower")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["gpu3"], "gpu3"),
        (["login", "n2", "n1"], "login,n[1-2]"),
        (["n1.x.org", "n2.x.org"], "n[1-2].x.org"),
        (["rack2-n1-ib", "rack2-n2-ib"], "rack2-n[1-2]-ib"),
        ([], ""),
    ],
)
def test_names_are_written_as_slurm_reads_them(names: list[str], text: str) -> None:
    assert hostlist(names) == text
    assert sorted(expand_hostlist(text)) == sorted(names)


def test_the_lower_end_of_an_interval_decides() -> None:
    one = verdict(nodes=(SENDS,), links=())
    assert fails(one, 1.85)
    assert not fails(one, 1.95)
    assert fails(verdict(nodes=(), links=(), silent={"n9": "no route"}), 10)


def test_a_silent_node_is_found_in_two_steps() -> None:
    names = [f"n{number}" for number in range(1000)]
    asked: list[int] = []

    def starts(groups: object) -> list[str | None]:
        asked.append(len(list(groups)))  # type: ignore[call-overload]
        return ["no route" if {"n500", "n7"} & set(group) else None for group in groups]  # type: ignore[attr-defined]

    assert silent_nodes(names, starts) == {"n7": "no route", "n500": "no route"}
    assert len(asked) == 2
    assert max(asked) < 70
