# SPDX-License-Identifier: Apache-2.0
"""Lists of host names as batch systems and launchers write them. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.whole import whole_number

MAX_HOSTS = 100_000  # a list that expands to more is damaged
MOST_CHOICES = 2 * MAX_HOSTS  # in the brackets of one name
_PART = re.compile(r"[^\[\]]+|\[[^\[\]]*\]")


def expand_hostlist(text: str) -> list[str]:
    """Names of `n[1-3,07],login` in their order, as Slurm and Flux write them.

    Raises: EnvironmentFailure: a bracket is open or a range runs backwards; the text is quoted.
    """
    names: list[str] = []
    for word in _split(text):
        parts = _PART.findall(word)
        if "".join(parts) != word:
            raise _damaged(text)
        choices: list[list[str]] = []
        for part in parts:
            choices.append(_choices(part, text))
            if sum(map(len, choices)) > MOST_CHOICES:
                raise _damaged(text)
        names += ("".join(parts) for parts in itertools.islice(itertools.product(*choices), MAX_HOSTS - len(names)))
    return names


def _split(text: str) -> list[str]:
    """At the commas outside of brackets."""
    words, depth, word = [], 0, ""
    for character in text.strip():
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            words.append(word)
            word = ""
        else:
            word += character
    if depth != 0:
        raise _damaged(text)
    return [word.strip() for word in (*words, word) if word.strip()]


def _choices(part: str, text: str) -> list[str]:
    if not part.startswith("["):
        return [part]
    found: list[str] = []
    for item in part[1:-1].split(","):
        first, dash, last = item.partition("-")
        begin, end = whole_number(first), whole_number(last if dash else first)
        if begin is None or end is None or not 0 <= end - begin < MAX_HOSTS:
            raise _damaged(text)
        if len(found) > MOST_CHOICES:
            raise _damaged(text)
        found += [str(n).zfill(len(first)) for n in range(begin, end + 1)]
    return found


def _damaged(text: str) -> EnvironmentFailure:
    return EnvironmentFailure(f"'{text[:80]}' is not a list of hosts such as n[1-3,7]; is the job's variable cut?")


def names_in_file(lines: Iterable[str]) -> list[str]:
    """Each host of a host file once: `n1:2`, `n1 slots=2` or one line a slot; comments begin with #."""
    names: dict[str, None] = {}
    for line in lines:
        words = line.partition("#")[0].split()
        if words:
            names[words[0].partition(":")[0]] = None
    return list(names)
