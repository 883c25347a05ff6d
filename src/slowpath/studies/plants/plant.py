# SPDX-License-Identifier: Apache-2.0
"""What is planted, and what a diagnosis has to say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.results import Finding, Results


@dataclass(frozen=True)
class Truth:
    """rule: the code that names it.  cost: term of a finding's law (`per` of the coefficient, None for a constant) and
    its planted value in seconds per that; None: the rule's name is all.  limit: covariate and the last value that goes
    the old way; None: there is none.  also: codes of rules that are true of the same plant.
    """

    rule: str
    cost: tuple[str | None, float] | None = None
    limit: tuple[str, float] | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plant:
    """kind: its class.  law: SLOWPATH_PLANT, None: nothing is preloaded.  setting: a state of the MPI library by its
    library-neutral name, set in the user's environment; None: none."""

    kind: str
    truth: Truth
    law: str | None = None
    setting: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """`pages cost_s=2.1e-07`."""
        return self.law or f"setting {self.setting}"


@dataclass(frozen=True)
class Measured:
    """What a diagnosis left. findings: of the whole of it.  results: of its survey."""

    findings: Sequence[Finding]
    results: Results
