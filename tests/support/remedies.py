# SPDX-License-Identifier: Apache-2.0
"""Remedies by their names."""

from __future__ import annotations

from slowpath.findings.slow_path import Remedy
from slowpath.slowpaths.registry import REMEDIES


def find_remedy(name: str) -> Remedy:
    """Return the remedy of a name."""
    return next(remedy for remedy in REMEDIES if remedy.name == name)
