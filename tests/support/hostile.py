# SPDX-License-Identifier: Apache-2.0
"""Words that act where they are shown, and how they get into every place of a document that takes words."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

# OSC 52 sets the clipboard, CSI erases; then BiDi, zero-width, CR, BS, NEL, a line separator, a byte of a name.
CONTROLS = "\x1b]52;c;eA==\x07\x1b[2J\x9b2J\u202e\u2066\u200b\r\x08\x7f\x85\u2028\x00\udc9b"
MARKUP = "![i](http://e.x/i.png) [l](javascript:x) <img src=x onerror=y> </script> | ` www.e.x \n# h \"q\" 's'"
ATTACK = f"=HYPERLINK(1){CONTROLS}{MARKUP}"
# What programs know by name, and so is none that anybody could write: another value is refused when it is read.
KNOWN = [
    "experiment",
    "metric",
    "metrics",
    "phase",
    "phases",
    "kind",
    "verdict",
    "state",
    "status",
    "level",
    "outcome",
    "ended",
    "rule",
    "started",
    "task",
    "axis",
    "run_kind",
    "pattern",
    "design",
    "message_bytes",
    "source",
    "mpi",
    "environment",
    "placement",
    "cell",
    "cells",
    "id",
    "contrast",
    "contrasts",
    "remedy",
    "slow",
    "remedied",
    "side",
    "faster_is",
    "value_kind",
    "measure",
    "program",
    "law",
    "name",
    "folder",
    "finding",
    "findings",
    "memory",
    "window",
    "synchronise",
]


def controls_in(words: str) -> set[str]:
    """What is left in a text that acts on a terminal, but line feeds."""
    return {one for one in words if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one != "\n"}


def planted(value: Any, words: str = ATTACK, known: Collection[str] = KNOWN, key: str = "") -> Any:
    """The same value, a struct, list or mapping, with `words` behind each string but those of fields in `known`."""
    if isinstance(value, msgspec.Struct):
        named = {field: getattr(value, field) for field in value.__struct_fields__}
        return type(value)(**{field: planted(one, words, known, field) for field, one in named.items()})
    if isinstance(value, Mapping):
        return {one: planted(inner, words, known, one if key == "parameters" else key) for one, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(planted(one, words, known, key) for one in value)
    return f"{words}{value}{words}" if isinstance(value, str) and key not in known else value
