# SPDX-License-Identifier: Apache-2.0
"""The schema of a watch's results.json is current, and refuses what it must."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from slowpath.core.files import data_folder
from support.results import as_json
from support.watch_results import a_finding, results

SCHEMA = json.loads((data_folder("schema") / "watch-results.schema.json").read_text(encoding="utf-8"))


def errors(value: Any, name: str) -> list[str]:
    wrapped = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"}
    return [error.message for error in jsonschema.Draft202012Validator(wrapped).iter_errors(value)]


def test_a_whole_document_passes() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(as_json(results()), SCHEMA)


@pytest.mark.parametrize("change", [{"status": "explained"}, {"interval": [1.0]}, {"share": 1.5}, {"surprise": 1}])
def test_what_a_finding_cannot_be(change: dict[str, Any]) -> None:
    document = as_json(a_finding())
    assert errors(document, "WatchFinding") == []
    assert errors({**document, **change}, "WatchFinding")
