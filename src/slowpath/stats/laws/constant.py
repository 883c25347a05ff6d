# SPDX-License-Identifier: Apache-2.0
"""The same time everywhere: the base case that every other law has to beat."""

from __future__ import annotations

from slowpath.stats.laws.law import Law, Variant, intercept

LAW = Law(
    name="constant",
    formula="t = a",
    needs=lambda covariates: None,
    variants=lambda covariates: [Variant("constant", lambda c: [intercept(c)])],
    probes=lambda covariates: [],
)
