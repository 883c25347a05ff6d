# SPDX-License-Identifier: Apache-2.0
"""Operations of other benchmarks, for which slowpath has no experiment (docs/how-to/other-tools.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.measured.job import Job
from slowpath.experiments.measured.series import NO_SAMPLES, Block, Derived, per_operation


def operation(p: Mapping[str, str], blocks: Sequence[Block], job: Job) -> Derived:
    """The one batch that a printed mean stands for."""
    return {"operation_s": per_operation(blocks, 0, 1) or NO_SAMPLES}
