# SPDX-License-Identifier: Apache-2.0
"""A pattern of many words whose cost does not grow with their number: hosts of a machine come by the thousand. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_LONGEST_IN_TREE = 100  # characters; patterns are parsed recursively


def any_of(words: Iterable[str]) -> str:
    """Pattern that matches the longest of these words: what words have in common at their beginning is there once."""
    every = sorted(set(words))
    tree: dict[str, Any] = {}
    for word in every:
        if len(word) <= _LONGEST_IN_TREE:
            node = tree
            for character in word:
                node = node.setdefault(character, {})
            node[""] = {}
    long = sorted((word for word in every if len(word) > _LONGEST_IN_TREE), key=len, reverse=True)
    return "|".join([*map(re.escape, long), *([_pattern(tree)] if tree else [])])


def _pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(character) + _pattern(child) for character, child in node.items() if character]
    if not branches:
        return ""
    one = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return f"{one}?" if "" in node else one
