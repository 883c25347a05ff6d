# SPDX-License-Identifier: Apache-2.0
"""Metrics of the pattern overlap of p2p: messages both ways while both sides compute. Pure.

Definitions: docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.overlap import longest, with_exposed
from slowpath.experiments.measured.series import Derived, SampleBlock
from slowpath.experiments.p2p.metrics import receiver

COMMUNICATION, COMPUTATION, BOTH = 0, 1, 2


def overlap(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The slower end of each sample counts."""
    ends = (0, receiver(p, job.size))
    parts = (("communication_s", COMMUNICATION), ("compute_s", COMPUTATION), ("overlapped_s", BOTH))
    return with_exposed("communication_s", {name: longest(blocks, ends, part) for name, part in parts})
