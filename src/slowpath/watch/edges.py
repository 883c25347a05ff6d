# SPDX-License-Identifier: Apache-2.0
"""Stretches of a thinned or sampled record, and what is not known at their edges. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from slowpath.watch.what_if import CallOrder, Ints, only

LEAST_CUT: Final = 0.05  # of all calls: fewer, from between two collectives, can't stand for the rest


def between_collectives(order: CallOrder, collective: Ints) -> CallOrder:
    """Of each stretch what lies between its first and last collective of all chains, where that is a quarter or more.

    Other stretches are left out. Where this leaves less than LEAST_CUT of all calls, they stay whole.

    At the edges of a stretch it is not known whether a thread computes or waits in a call that was not kept, and what
    others save does not reach it: of stretches as short as a few rounds of the program that is much.

    Args: collective: shape (n,), number of the blocking collective that each call is part of, -1: none.
    """
    member = np.flatnonzero(collective >= 0)
    if not member.size or not order.stretch.any():
        return order  # one stretch is the whole run, whose edges are known
    chains = int(order.chain.max()) + 1
    _, seen = np.unique(order.chain, return_index=True)
    many = np.bincount(order.stretch[seen])
    both = np.stack([order.stretch[member], collective[member]], axis=1)
    of, first, number, count = np.unique(both, axis=0, return_index=True, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    complete = np.flatnonzero(count == many[of[:, 0]])
    complete = complete[np.argsort(order.start_s[member[first[complete]]], kind="stable")]
    since, until = np.full(chains, -np.inf), np.full(chains, np.inf)
    edges = np.full((many.size, 2), -1, dtype=np.int64)
    edges[of[complete[::-1], 0], 0] = complete[::-1]
    edges[of[complete, 0], 1] = complete
    for moment, column in ((since, 0), (until, 1)):
        mine = member[number == edges[order.stretch[member], column]]
        moment[order.chain[mine]] = order.end_s[mine]
    inside = (order.start_s >= since[order.chain]) & (order.end_s <= until[order.chain])
    kept, every = (np.bincount(order.stretch[rows], minlength=many.size) for rows in (inside, slice(None)))
    cut = (edges[:, 0] >= 0) & (edges[:, 0] != edges[:, 1]) & (4 * kept >= every)
    others = ~cut if kept[cut].sum() < LEAST_CUT * order.calls else np.zeros(cut.size, dtype=bool)
    return only(order, (inside & cut[order.stretch]) | others[order.stretch], order.stretch)


def waiting_at_ends(order: CallOrder, collective: Ints, members: Ints) -> CallOrder:
    """Without collectives at the end of a chain that lack ranks: their threads wait, for calls that were not kept.

    Args: collective: as above.  members: shape (n,), how many ranks each call's collective has.
    """
    if not order.stretch.any():
        return order
    inside = np.flatnonzero(collective >= 0)
    both = np.stack([order.stretch[inside], collective[inside]], axis=1)
    _, number, count = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    lacks = np.zeros(order.calls, dtype=bool)
    lacks[inside] = count[number.reshape(-1)] < members[inside]
    by = np.lexsort((order.start_s, order.chain))
    is_last = np.diff(order.chain[by], append=-1) != 0
    drop = by[is_last & lacks[by]]
    at = np.flatnonzero(is_last & lacks[by])
    at = at[at > 0]
    before = by[at - 1][order.chain[by[at - 1]] == order.chain[by[at]]]
    keep = np.ones(order.calls, dtype=bool)
    keep[drop] = False
    return only(replace(order, before_wait=before), keep, order.stretch)
