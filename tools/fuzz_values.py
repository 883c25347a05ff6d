# SPDX-License-Identifier: Apache-2.0
"""Values that an attacker would take, put into valid documents: what coverage alone would not find. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

DEEP = "@deep@"  # is put into the text of a document: no encoder nests that far
NESTED = "[" * 100_000 + "]" * 100_000
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e-308, 1e308, -1e308, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    10**30, "", "x", "0", "-1", "1e9", "nan", "\u00b2", "\u0663", "9" * 5000, "a" * 5000, "a" * 300_000, "../../etc",
    "/etc/passwd", "..", "/", "a/b", "a\0b", "\x1b[2J\x1b]52;c;AAAA\x07", "\x9b2J", "\u202eabc", "a\r\nb",
    '=HYPERLINK("http://x")', "@SUM(1)", "![i](http://x/y.png)", "<script>alert(1)</script>", "</script>", "| x |",
    "$(touch pwned)", "{0}", "%s", "0-999999999", "first", "steady", "default", "p2p", "s", "slower", [], {}, [[]],
    [None], {"": None}, [0] * 3000, {"x": {"y": []}}, DEEP,
)  # fmt: skip


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Bytes changed, left out or doubled at one place."""
    at = chance.randrange(len(data) + 1)
    part = data[at : at + chance.randint(1, 200)]
    new = chance.choice((b"", part + part, chance.randbytes(len(part)), b"9" * 5000, b"-1", b"\0", b"\n"))
    return data[:at] + new + data[at + len(part) :]


def with_hostile(text: str, chance: random.Random) -> str:
    """A document of JSON, or one a line, with one value changed.  Raises: ValueError, RecursionError: it is none."""
    lines = text.strip("\n").split("\n")
    if len(lines) > 1 and lines[0] in ("{", "["):
        lines = ["\n".join(lines)]
    at = chance.randrange(len(lines))
    lines[at], _ = edited(lines[at], chance)
    return "\n".join(lines) + "\n"


def edited(text: str, chance: random.Random) -> tuple[str, str]:
    """A JSON document with one value changed, and what was done.  Raises: ValueError, RecursionError: it is none."""
    document = json.loads(text)
    what = _edit(document, chance)
    return json.dumps(document).replace(f'"{DEEP}"', NESTED), what


def _edit(document: Any, chance: random.Random) -> str:
    places = list(_places(document))
    if not places:
        return "nothing"
    holder, key = chance.choice(places)
    kind = chance.random()
    if kind < 0.7:
        holder[key] = chance.choice(HOSTILE)
        return f"{key} is {str(holder[key])[:40]!r}"
    if kind < 0.8:
        del holder[key]
        return f"{key} is gone"
    if kind < 0.9:
        other, from_key = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[from_key] if _has(other, from_key) else None))
        return f"{key} is what {from_key} was"
    if isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(holder[key])))
        return f"{key} is doubled"
    name = chance.choice([str(one) for one in HOSTILE if isinstance(one, str) and one != DEEP])
    holder[name] = holder.pop(key)
    return f"{key} is called {name[:40]!r}"


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of each value."""
    stack = [document]
    while stack:
        one = stack.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, value in items:
            yield one, key
            stack.append(value)
