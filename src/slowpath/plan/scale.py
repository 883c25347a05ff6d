# SPDX-License-Identifier: Apache-2.0
"""What a campaign costs on many nodes, on paper: node-seconds, bytes at wire-up, files and their bytes. Pure.

The campaign itself is that of two ranks on any number of nodes: pairs communicate, the other ranks wait. What grows
with ranks is starting the job, some bytes for each rank in each launch, and collecting from ranks that have nothing to
say. The constants are of the size seen with hydra and prterun on one machine, and assumptions beyond one node; they
only have to say which term leads (docs/internals/scale.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slowpath.core.plan import Plan
from slowpath.plan.cost import CostModel, estimate


@dataclass(frozen=True)
class ScaleModel:
    """launch_s: start and end on one node.  doubling_s: more, each time the nodes double, where the launcher starts its
    daemons as a tree.  card_bytes: what a rank publishes so that others can reach it (PMIx, PMI2).
    message_s: an empty message to rank 0 or a node's leader, handling included.
    node_entry_bytes, rank_entry_bytes: a node's entry in `launch_begin`, and what each rank adds to it: process,
    processors, longest gap of its clock.  program_bytes: engine and MPI library, read once by each node.
    """

    launch_s: float = 0.3
    doubling_s: float = 0.15
    card_bytes: int = 512
    message_s: float = 1.5e-6
    node_entry_bytes: int = 210
    rank_entry_bytes: int = 28
    program_bytes: int = 16 * 2**20
    messages_a_cell: int = 2  # lengths of events and of blocks; only ranks with something to say send more
    files_a_launch: int = 6  # plan.txt, launch.json, stdout, stderr, events.jsonl, samples.blk
    event_bytes_a_cell: int = 700
    sample_bytes_a_cell: int = 4096


@dataclass(frozen=True)
class Work:
    """A campaign, over all its launches: how many, cells measured, seconds in them."""

    launches: int
    cells: int
    cells_s: float


def work_of(plan: Plan) -> Work:
    """A plan, by the model of plan.cost."""
    cells_s = estimate(plan).wall_s - len(plan.launches) * CostModel().launch_s
    return Work(len(plan.launches), sum(len(launch.cells) for launch in plan.launches), cells_s)


@dataclass(frozen=True)
class ScaleCost:
    """Of the whole campaign. wire_up_bytes, program_bytes: received by each node, at most.

    gathered_messages: at rank 0, at most: it leads its node and the leaders, and a library's gather may be a tree.
    """

    wall_s: float
    node_s: float
    wire_up_bytes: int
    program_bytes: int
    gathered_messages: int
    files: int
    file_bytes: int


def scale_cost(work: Work, nodes: int, ranks_a_node: int, model: ScaleModel | None = None) -> ScaleCost:
    """What `work` costs in one job of nodes x ranks_a_node ranks.

    Raises: ValueError: fewer than one node or rank.
    """
    if nodes < 1 or ranks_a_node < 1:
        raise ValueError(f"scale_cost: {nodes} nodes of {ranks_a_node} ranks")
    model = model or ScaleModel()
    ranks = nodes * ranks_a_node
    # The busiest rank leads its node and is the root of the leaders.
    partners = (ranks_a_node - 1) + (nodes - 1)
    messages = partners * model.messages_a_cell * work.cells
    start_s = model.launch_s + model.doubling_s * math.log2(nodes)
    wall_s = work.launches * start_s + work.cells_s + messages * model.message_s
    # Every node gets every rank's card where the daemons exchange all; libraries that fetch on demand stay below.
    wire_up = ranks * model.card_bytes if nodes > 1 else 0
    lines = work.launches * (nodes * model.node_entry_bytes + ranks * model.rank_entry_bytes)
    lines += work.cells * (model.event_bytes_a_cell + model.sample_bytes_a_cell)
    return ScaleCost(
        wall_s=wall_s,
        node_s=wall_s * nodes,
        wire_up_bytes=work.launches * wire_up,
        program_bytes=model.program_bytes,
        gathered_messages=messages,
        files=work.launches * model.files_a_launch,
        file_bytes=lines,
    )
