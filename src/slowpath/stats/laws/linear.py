# SPDX-License-Identifier: Apache-2.0
"""Laws that are constant, or grow in proportion to one thing that is counted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.stats.laws.found import BYTE, Per, per_one
from slowpath.stats.laws.law import Column, Law, Variant, intercept, missing, single, with_transfer
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates


def _counting(name: str, covariate: str, variant: str, term: str, per: Per, fewest: int = 4) -> Law:
    """The law t = a + b covariate.  Args: term: what b is.  per: one of what is counted."""
    return Law(
        name=name,
        formula=f"t = a + b {covariate}",
        needs=lambda covariates: missing(covariates, covariate),
        variants=lambda covariates: [Variant(variant, single(term, per, lambda c: c[covariate]))],
        probes=lambda covariates: spread(covariates, covariate),
        along=(covariate,),
        fewest=fewest,
    )


# The postal model, alpha + beta n (Hockney 1994, doi 10.1016/S0167-8191(06)80021-9).
MESSAGE = "message_bytes"
BY_BYTE = _counting("bytes", MESSAGE, "bytes", "transfer", BYTE)

COUNT = "n"  # ranks of a job, or uses that were made before
BY_COUNT = _counting("each", COUNT, "linear", "each", per_one("one more", COUNT))

# Entries in front in a queue of receives or messages: each is compared before the match.
QUEUE = "queue"
BY_QUEUE = _counting("queue", QUEUE, "linear", "queue", per_one("entry in front", "entries in front"), Law.fewest)

# Contiguous blocks of a datatype: one copy, or one call of the GPU's driver, for each.
BLOCKS = "blocks"
_BY_BLOCK = _counting("blocks", BLOCKS, "blocks", "blocks", per_one("block", "blocks"))
BY_BLOCK = replace(
    _BY_BLOCK,
    formula=f"{_BY_BLOCK.formula} [+ c message_bytes]",
    variants=lambda covariates: with_transfer(_BY_BLOCK.variants(covariates), covariates),
)


# Messages in flight. `a` is the cost of each message at any depth. The shared term is the latency for which a window
# waits once. The searched term is the walk along a list of posted or unexpected messages (Underwood and Brightwell,
# The Impact of MPI Queue Usage on Message Latency, ICPP 2004).
DEPTH = "in_flight"
_WINDOW = per_one("window", "1 / messages in flight")
_AHEAD = per_one("message ahead", "messages in flight")


def _both(covariates: Covariates) -> Sequence[Column]:
    depth = covariates[DEPTH]
    return [intercept(covariates), Column("shared", _WINDOW, 1.0 / depth), Column("searched", _AHEAD, depth)]


_VARIANTS = (
    Variant("shared by the window", single("shared", _WINDOW, lambda c: 1.0 / c[DEPTH])),
    Variant("searched message by message", single("searched", _AHEAD, lambda c: c[DEPTH])),
    Variant("shared and searched", _both),
)

BY_DEPTH = Law(
    name="queue depth",
    formula="t = a + b / in_flight + c in_flight",
    needs=lambda c: missing(c, DEPTH) or (None if (c[DEPTH] > 0).all() else "in_flight is 0 at a point"),
    variants=lambda covariates: _VARIANTS,
    probes=lambda covariates: spread(covariates, DEPTH),
    along=(DEPTH,),
    fewest=4,
)


# The base case: every other law has to fit better.
CONSTANT = Law(
    name="constant",
    formula="t = a",
    needs=lambda covariates: None,
    variants=lambda covariates: [Variant("constant", lambda c: [intercept(c)])],
    probes=lambda covariates: [],
)
