# SPDX-License-Identifier: Apache-2.0
"""SP023: GPU memory whose first use costs by the whole allocation, or that goes through the host."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import difference_law
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_use_observed import first_use_witness, observed, over_network
from slowpath.findings.rule import Leg, Observation, Rule
from slowpath.findings.words import is_device

STAGED = "GPU memory staged"
_HOST = ("host", "pinned_host", "pinned_registered", "mpi")


def observe(evidence: Evidence) -> Sequence[Observation]:
    """First uses of GPU memory by the allocation's length, and GPU memory that is slower than host memory."""
    first = observed(
        evidence, lambda use: use.kind == "allocation" and is_device(use.slow) and not over_network(evidence, use)
    )
    staged = [one for one in evidence.decided("memory", phase="steady") if _staged(one) and evidence.as_found(one.slow)]
    groups = grouped(staged, lambda one: setting_key(one.slow))
    return [*first, *(_observation(evidence, group) for group in groups)]


def _staged(one: Compared) -> bool:
    return is_device(one.slow) and str(one.fast["parameters"].get("memory", "host")) in _HOST


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    said = Said("A message from GPU memory", "the same from host memory", STAGED)
    return observation(evidence, group, said, lambda g: difference_law(g, ("message_bytes",), evidence.minimum_effect))


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Of first uses the system time; that memory is staged no counter here tells."""
    if seen.about == STAGED:
        return Leg(
            "missing", "which path GPU memory takes is not recorded; needs UCX's protocol table or a trace of the GPU"
        )
    return first_use_witness(evidence, seen)


RULE = Rule(
    code="SP023",
    name="GPU allocation length, staging",
    title="GPU memory: the whole allocation is mapped, or messages go through the host",
    what="A GPU buffer is reached by mapping the whole allocation that it lies in, or its bytes are copied to "
    "the host.",
    shows="A short message from a long GPU allocation is slow once, by the allocation's length; or every "
    "message from GPU memory is slower than the same one from host memory.",
    why="Libraries decide by the allocation's length, not the message's. Memory from pools, managed memory "
    "and GPUs that can't see each other have no handle, so bytes are staged.",
    needs="First messages over allocation lengths of GPU memory: law 'allocation'; later messages from GPU and "
    "from host memory.",
    remedy="Send from a communication buffer of its own, from cudaMalloc; let each rank see all GPUs of the node.",
    false_alarms="Short messages are slower from any GPU memory: look at lengths from 64 KiB on.",
    sources=("MPICH src/mpid/ch4/shm/ipc/gpu", "docs/reference/gpu-memory.md", "docs/how-to/gpu-mpi.md"),
    observe=observe,
    cause="The whole GPU allocation is mapped at its first use.",
    witnesses=witnesses,
    hypotheses=("the library maps the whole allocation", "messages are staged through host memory"),
    out_of_reach="Needs a GPU and a library that takes GPU memory.",
)
