# SPDX-License-Identifier: Apache-2.0
"""Which node of many is the bad one: a node on which no pair starts, while its partners start with others. Pure."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST_FAILURES = 2  # pairs with different partners; one failed pair does not say which of its two nodes it was


class NodeHealth:
    """What launches on pairs of nodes showed so far."""

    def __init__(self) -> None:
        self._started_with: dict[str, set[str]] = {}
        self._failed_with: dict[str, dict[str, str]] = {}

    def saw(self, hosts: Sequence[str], started: bool, reason: str | None) -> None:
        """One launch on these nodes reached a cell, or ended before any; others than pairs show nothing."""
        if len(hosts) != 2:
            return
        for node, partner in (hosts, reversed(hosts)):
            if started:
                self._started_with.setdefault(node, set()).add(partner)
            else:
                self._failed_with.setdefault(node, {})[partner] = reason or "it did not start"

    def quarantined(self) -> dict[str, str]:
        """Node -> why no more launches are started on it.

        A node of which every pair failed, with FEWEST_FAILURES partners at least that did start with other nodes.
        """
        found = {}
        for node, failed in self._failed_with.items():
            proven = {partner: why for partner, why in failed.items() if self._started_with.get(partner)}
            if not self._started_with.get(node) and len(proven) >= FEWEST_FAILURES:
                partners = ", ".join(proven)
                why = next(iter(proven.values()))
                found[node] = f"{node} is left out: its pairs with {partners}, which start with others, failed: {why}"
        return found
