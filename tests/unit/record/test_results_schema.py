# SPDX-License-Identifier: Apache-2.0
"""The schemas of results.json are valid and refuse what they must, and every field has its meaning."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import jsonschema
import pytest

from slowpath.core.cell_results import (
    Distribution,
    FunctionShare,
    InstructionRegion,
    InstructionTotal,
    PerCall,
)
from slowpath.core.files import data_folder
from support import watch_results
from support.results import a_cell, a_contrast, a_finding, a_law, a_remedy, a_skipped_row, as_json, results

SCHEMA, OF_WATCH = (
    json.loads((data_folder("schema") / f"{name}.schema.json").read_text(encoding="utf-8"))
    for name in ("results", "watch-results")
)
COUNTS = Distribution(median=251.0, min=251, max=251, mean=251.0, counts={"251": 16})
REGION: dict[str, Any] = as_json(
    InstructionRegion(
        method="trap flag",
        launches=1,
        calls=16,
        per_call=PerCall(stepped=COUNTS, retired=COUNTS),
        total=InstructionTotal(stepped=4016.0, retired=4016.0),
        loop_per_put=19.0,
        shares=[FunctionShare(library="libmpi.so", function="MPI_Put", per_call=251.0)],
        reason=None,
    )
)
CONTRAST: dict[str, Any] = as_json(a_contrast(reason=None))
CELL: dict[str, Any] = as_json(a_cell(experiment="put", who_pays_reason="why", instructions_reason="why"))


def errors(value: dict[str, Any], name: str = "ContrastResult", schema: dict[str, Any] = SCHEMA) -> list[str]:
    wrapped = {"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"}
    return [error.message for error in jsonschema.Draft202012Validator(wrapped).iter_errors(value)]


def test_a_whole_document_passes() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    finding = a_finding(law=a_law(), remedies=[a_remedy()])
    whole = results([a_cell(), a_cell(1)], [a_contrast()], findings=[finding], skipped=[a_skipped_row()])
    jsonschema.validate(as_json(whole), SCHEMA)
    jsonschema.Draft202012Validator.check_schema(OF_WATCH)
    jsonschema.validate(as_json(watch_results.results()), OF_WATCH)


@pytest.mark.parametrize("change", [{"status": "explained"}, {"interval": [1.0]}, {"share": 1.5}, {"surprise": 1}])
def test_what_a_finding_of_a_watch_cannot_be(change: dict[str, Any]) -> None:
    document = as_json(watch_results.a_finding())
    assert errors(document, "WatchFinding", OF_WATCH) == []
    assert errors({**document, **change}, "WatchFinding", OF_WATCH)


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
    assert errors({**CELL, **change}, "CellResult") == []


@pytest.mark.parametrize(
    "change",
    [
        {"instructions_reason": None},  # null without a reason
        {"who_pays_reason": None},
        {"instructions": {"put": None, "synchronisation": REGION}, "instructions_reason": None},
        {"instructions": {"put": REGION}},
        {"instructions": {"put": {**REGION, "launches": 0}, "synchronisation": REGION}},
        {"instructions": {"put": {**REGION, "calls": 0}, "synchronisation": REGION}},
        {"who_pays": {"first": {"both_ratio": 1.5}}},
        {"mpi": 1},
    ],
)
def test_what_a_cell_cannot_be(change: dict[str, Any]) -> None:
    assert errors({**CELL, **change}, "CellResult")


@pytest.mark.parametrize("schema", [SCHEMA, OF_WATCH], ids=["run", "watch"])
def test_every_field_has_its_meaning(schema: dict[str, Any]) -> None:
    mute = [
        f"{struct}.{field}"
        for struct, definition in schema["$defs"].items()
        for field, node in definition["properties"].items()
        if not node.get("description")
    ]
    assert not mute


UNIT = re.compile(r"_(s|ns|bytes|ratio|share|hz|per_s|per_op)$")
# Numbers of any unit, which another field or the struct states, of calls or instructions, or without a unit.
WITHOUT_UNIT = re.compile(
    "above|all_value|clean_value|computing|correlation|instructions_with_loop|level|location|loop_per_put|max|mean|median|"
    "min|minimum_effect|n|not_measured|other|p|p50|p90|p99|p999|p_adjusted|path|per_call|processor_quota|ratio|retired|"
    "seconds|share|stepped|transfer|up_to|value|waiting"
)


@pytest.mark.parametrize("schema", [SCHEMA, OF_WATCH], ids=["run", "watch"])
def test_every_number_has_its_unit_in_its_name(schema: dict[str, Any]) -> None:
    bare = [
        f"{struct}.{field}: end its name with its unit, as {field}_s, or add it to WITHOUT_UNIT"
        for struct, definition in schema["$defs"].items()
        for field, node in definition["properties"].items()
        if "number" in str(node.get("type")) and not UNIT.search(field) and not WITHOUT_UNIT.fullmatch(field)
    ]
    assert bare == []
