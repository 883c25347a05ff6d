# SPDX-License-Identifier: Apache-2.0
"""Laws that are constant, or grow in proportion to one thing that is counted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.stats.laws.law import Column, Law, Variant, intercept, missing, single, with_transfer
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

# The postal model, alpha + beta n (Hockney 1994, doi 10.1016/S0167-8191(06)80021-9).
MESSAGE = "message_bytes"

BY_BYTE = Law(
    name="bytes",
    formula="t = a + b message_bytes",
    needs=lambda covariates: missing(covariates, MESSAGE),
    variants=lambda covariates: [Variant("bytes", single("transfer", "byte", lambda c: c[MESSAGE]))],
    probes=lambda covariates: spread(covariates, MESSAGE),
    along=(MESSAGE,),
    fewest=4,
)


# Contiguous blocks of a datatype: one copy, or one call of the GPU's driver, for each.
BLOCKS = "blocks"

BY_BLOCK = Law(
    name="blocks",
    formula="t = a + b blocks [+ c message_bytes]",
    needs=lambda covariates: missing(covariates, BLOCKS),
    variants=lambda c: with_transfer([Variant("blocks", single("blocks", "block", lambda d: d[BLOCKS]))], c),
    probes=lambda covariates: spread(covariates, BLOCKS),
    along=(BLOCKS,),
    fewest=4,
)


COUNT = "n"  # ranks of a job, or uses that were made before

BY_COUNT = Law(
    name="each",
    formula="t = a + b n",
    needs=lambda covariates: missing(covariates, COUNT),
    variants=lambda covariates: [Variant("linear", single("each", "one more", lambda c: c[COUNT]))],
    probes=lambda covariates: spread(covariates, COUNT),
    along=(COUNT,),
    fewest=4,
)


# Entries in front in a queue of receives or messages: each is compared before the match.
QUEUE = "queue"

BY_QUEUE = Law(
    name="queue",
    formula="t = a + b queue",
    needs=lambda covariates: missing(covariates, QUEUE),
    variants=lambda covariates: [Variant("linear", single("queue", "entry in front", lambda c: c[QUEUE]))],
    probes=lambda covariates: spread(covariates, QUEUE),
    along=(QUEUE,),
)


# Messages in flight. `a` is the cost of each message at any depth. The shared term is the latency for which a window
# waits once. The searched term is the walk along a list of posted or unexpected messages (Underwood and Brightwell,
# The Impact of MPI Queue Usage on Message Latency, ICPP 2004).
DEPTH = "in_flight"


def _both(covariates: Covariates) -> Sequence[Column]:
    depth = covariates[DEPTH]
    return [intercept(covariates), Column("shared", "window", 1.0 / depth), Column("searched", "message ahead", depth)]


_VARIANTS = (
    Variant("shared by the window", single("shared", "window", lambda c: 1.0 / c[DEPTH])),
    Variant("searched message by message", single("searched", "message ahead", lambda c: c[DEPTH])),
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
