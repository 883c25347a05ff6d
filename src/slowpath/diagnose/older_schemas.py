# SPDX-License-Identifier: Apache-2.0
"""Convert diagnosis.json of schema 1 and 2 to today's schema 3. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]  # what a program of then wrote; its shape is checked when it is converted

_KINDS = {"together": "combined"}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "repeat": {"contrast_of": "sides"},
    "suspect": {"value": "value_bytes"},
    "refine": {"exact": "exact_limit"},
    "attribute": {
        "does": "effect",
        "value": "value_bytes",
        "told_by": "value_source",
        "moved": "moved_bytes",
        "limit": "limit_bytes",
        "foretold": "expected_bytes",
        "speaks": "is_main_limit",
    },
    "together": {"listed": "left_out"},
}


_RENAMED_IN_3: Mapping[str, str] = {"foretold": "predicted", "foretold_s": "predicted_s"}


def upgraded(diagnosis: Json) -> Json:
    """Return the same diagnosis in schema 3.

    Raises:
        KeyError, TypeError, AttributeError: it is no diagnosis.
    """
    in_schema_2 = diagnosis if diagnosis["schema"] == 2 else _schema_2(diagnosis)
    return {**_renamed_everywhere(in_schema_2), "schema": 3}


def _renamed_everywhere(value: Any) -> Any:
    if isinstance(value, dict):
        return {_RENAMED_IN_3.get(name, name): _renamed_everywhere(inner) for name, inner in value.items()}
    return [_renamed_everywhere(inner) for inner in value] if isinstance(value, list) else value


def _schema_2(diagnosis: Json) -> Json:
    outcome = diagnosis.pop("together", None)
    return {
        **diagnosis,
        "schema": 2,
        "steps": [_step(one) for one in diagnosis.get("steps", ())],
        "findings": [_finding(one) for one in diagnosis.get("findings", ())],
        "combined": None if outcome is None else _combined(outcome),
    }


def _step(step: Json) -> Json:
    kind = step.pop("kind")
    task = _renamed(step.pop("about", {}), _FIELDS.get(kind, {}))
    return {**_renamed(step, {"said": "summary"}), "task": {"kind": _KINDS.get(kind, kind), **task}}


def _finding(finding: Json) -> Json:
    law = finding["law"]
    if law is not None:
        law = {**law, "brackets": [_renamed(one, {"told": "attribution"}) for one in law["brackets"]]}
    remedies = [{"text": one["name"], "snippet": {}, **one} for one in finding["remedies"]]
    return {**finding, "law": law, "remedies": remedies}


def _combined(outcome: Json) -> Json:
    findings = [_renamed(one, {"together_s": "combined_s"}) for one in outcome["findings"]]
    return {**_renamed(outcome, {"listed": "left_out"}), "findings": findings}


def _renamed(fields: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in fields.items()}
