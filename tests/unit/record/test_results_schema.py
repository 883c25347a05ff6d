# SPDX-License-Identifier: Apache-2.0
"""The schema of results.json is valid, refuses what it must, and names what docs/reference/results.md names."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slowpath.core.resources import data_folder

SCHEMA = json.loads((data_folder("schema") / "results.schema.json").read_text(encoding="utf-8"))
DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "results.md"

CONTRAST: dict[str, Any] = {
    **dict.fromkeys(SCHEMA["$defs"]["contrast"]["required"]),
    "id": "c1", "group": "g", "question": "q", "axis": "memory", "metric": "one_way_s", "minimum_effect": 0.03,
    "a": {"cell": 0, "phase": "first", "label": "a", "value": "host"},
    "b": {"cell": 1, "phase": "first", "label": "b", "value": "mpi"},
    "launches": 8, "pairs": [[1.0, 2.0]], "interleaved": True, "control": False, "explains": False, "suspect": [],
    "reproduce": {"a": None, "b": None}, "verdict": "slower", "interval": [1.9, 2.1],
}  # fmt: skip


CELL: dict[str, Any] = {
    "cell": 0, "key": "k", "label": "l", "group": "g", "experiment": "put", "parameters": {}, "mpi": "mpich",
    "environment": "default", "placement": "core", "status": "ok", "reason": None, "metrics": {}, "allocations": None,
    "witness": None, "validated_bytes": None, "wrong_bytes": None, "reproduce": None,
    "who_pays": None, "who_pays_reason": "why", "instructions": None, "instructions_reason": "why",
}  # fmt: skip
COUNTS = {"median": 251.0, "min": 251, "max": 251, "mean": 251.0, "counts": {"251": 16}}
REGION: dict[str, Any] = {
    "method": "trap flag", "launches": 1, "calls": 16, "per_call": {"stepped": COUNTS, "retired": COUNTS},
    "total": {"stepped": 4016.0, "retired": 4016.0}, "loop_per_put": 19.0, "shares": [],
    "identical_over_launches": None, "reason": None,
    "by_launch": [
        {"launch": 0, "calls": 16, "stepped": {"251": 16}, "retired": {"251": 16}, "region_instructions": 4320}
    ],
}  # fmt: skip


def errors(value: dict[str, Any], name: str = "contrast") -> list[str]:
    wrapped = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"}
    return [error.message for error in jsonschema.Draft202012Validator(wrapped).iter_errors(value)]


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


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"instructions": {"put": REGION, "synchronisation": None}},
        {"instructions": {"put": REGION, "synchronisation": REGION}, "instructions_reason": None},
    ],
)
def test_a_cell_passes(change: dict[str, Any]) -> None:
    assert errors({**CELL, **change}, "cell") == []


@pytest.mark.parametrize(
    "change",
    [
        {"instructions_reason": None},  # null without a reason
        {"who_pays_reason": None},
        {"instructions": {"put": None, "synchronisation": REGION}, "instructions_reason": None},
        {"instructions": {"put": REGION}},
        {"instructions": {"put": {**REGION, "launches": 0}, "synchronisation": REGION}},
        {"instructions": {"put": {**REGION, "by_launch": []}, "synchronisation": REGION}},
        {"who_pays": {"first": {"both_ratio": 1.5}}},
        {"mpi": 1},
    ],
)
def test_what_a_cell_cannot_be(change: dict[str, Any]) -> None:
    assert errors({**CELL, **change}, "cell")


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
