# SPDX-License-Identifier: Apache-2.0
"""The schema of results.json is valid, refuses what the contract rules out, and names what docs/results.md names."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slowpath.resources import data_folder

SCHEMA = json.loads((data_folder("schema") / "results.schema.json").read_text(encoding="utf-8"))
DOCUMENT = Path(__file__).parents[3] / "docs" / "results.md"

CONTRAST: dict[str, Any] = {
    **dict.fromkeys(SCHEMA["$defs"]["contrast"]["required"]),
    "id": "c1", "group": "g", "question": "q", "axis": "memory", "metric": "one_way_s", "minimum_effect": 0.03,
    "a": {"cell": 0, "phase": "first", "label": "a", "value": "host"},
    "b": {"cell": 1, "phase": "first", "label": "b", "value": "mpi"},
    "launches": 8, "pairs": [[1.0, 2.0]], "interleaved": True, "control": False, "suspect": [],
    "reproduce": {"a": None, "b": None}, "verdict": "slower", "interval": [1.9, 2.1],
}  # fmt: skip


def errors(contrast: dict[str, Any]) -> list[str]:
    wrapped = {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/contrast"}
    return [error.message for error in jsonschema.Draft202012Validator(wrapped).iter_errors(contrast)]


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_contrast_passes() -> None:
    assert errors(CONTRAST) == []


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "no difference"},
        {"verdict": None},  # without a reason
        {"verdict": None, "reason": ""},
        {"interval": [1.0]},
        {"interval": [1.0, 2.0, 3.0]},
        {"interval": {"low": 1.0}},
        {"p": 1.5},
        {"pairs": [[1.0]]},
        {"surprise": 1},
        {"ratio": -1.0},
        {"ratio": "2"},
    ],
)
def test_what_is_ruled_out(change: dict[str, Any]) -> None:
    assert errors({**copy.deepcopy(CONTRAST), **change})


def names(node: object) -> Iterator[str]:
    """Every property that some object of the schema must have."""
    if isinstance(node, dict):
        if isinstance(node.get("required"), list):
            yield from node["required"]
        for value in node.values():
            yield from names(value)


def test_every_required_field_is_documented() -> None:
    words = set(re.findall(r"\w+", DOCUMENT.read_text(encoding="utf-8")))
    undocumented = set(names(SCHEMA)) - words
    assert not undocumented
