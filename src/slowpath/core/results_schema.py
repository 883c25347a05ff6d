# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas of results.json, of a run and of a watch, made from their structs; tools/generate-docs writes them
into schema/. Pure.

Stricter than the types alone: nothing unknown, everything that is always written is required, and what is null stands
next to a reason.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from slowpath.core.cannon_results import CannonBest, CannonGroup, CannonTimeline, CriticalN
from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import ContrastResult, Finding, NodePair
from slowpath.core.limits import LARGEST, LARGEST_NUMBER, LONGEST_NAME, LONGEST_TEXT, SMALLEST_NUMBER
from slowpath.core.result import Result
from slowpath.core.results import Results
from slowpath.core.run_results import LibraryVariable
from slowpath.core.watch_results import WatchFinding, WatchResults

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_WORDS = re.compile(r"\^\(([\w |-]+)\)\$")  # a pattern that is a choice of words


def _is(field: str, value: Schema) -> Schema:
    """Holds where the field is there and has such a value."""
    return {"required": [field], "properties": {field: value}}


def _reason(name: str, where: Schema) -> Schema:
    """A text stands in `name` wherever `where` holds."""
    return {"if": where, "then": _is(name, _TEXT)}


# What holds besides: a field `x` that is null has its text in `x_reason` without being named here.
CONDITIONS: dict[type[Result], list[Schema]] = {
    CellResult: [
        _reason("reason", _is("status", {"enum": ["partial", "skipped", "failed"]})),
        _reason("repetitions_reason", _is("repetitions", _is("switched", _NULL) | {"type": "object"})),
        _reason("repetitions_reason", _is("repetitions", _is("loaded", _NULL) | {"type": "object"})),
        _reason("instructions_reason", _is("instructions", _is("put", _NULL) | {"type": "object"})),
        _reason("instructions_reason", _is("instructions", _is("synchronisation", _NULL) | {"type": "object"})),
    ],
    ContrastResult: [_reason("reason", _is("verdict", _NULL))],
    NodePair: [_reason("reason", _is("verdict", _NULL))],
    LibraryVariable: [_reason("reason", _is("value", _NULL))],
    Finding: [{"if": _is("status", {"const": "observed"}), "then": _is("cause", _NULL)}],
    CannonGroup: [
        _reason("setup_reason", _is("grid", _NULL)),
        _reason("setup_reason", _is("blas", _NULL)),
        _reason("ranks_have_cores_reason", _is("ranks_have_cores", {"const": False})),
    ],
    CriticalN: [_reason("reason", _is("n", _NULL))],
    CannonBest: [_reason("reason", _is("variant", _NULL))],
    CannonTimeline: [_reason("reason", _is("intervals", {"maxItems": 0}))],
    WatchFinding: [_reason("saved_reason", _is("saved_s", _NULL))],
}


def results_schema() -> Schema:
    """Return the schema of a run's results.json."""
    about = "docs/reference/results.md in words. SI units, numbers unrounded. null means missing and has its reason."
    return _schema(Results, "results.json: what a run concluded", about)


def watch_results_schema() -> Schema:
    """Return the schema of a watched program's results.json."""
    about = "docs/reference/watch-results.md in words. SI units, numbers unrounded. null means missing."
    return _schema(WatchResults, "results.json: what a watched program does in MPI, and what it loses", about)


def _schema(root: type[Result], title: str, about: str) -> Schema:
    """Return the schema of a whole file; `$defs` has one entry for each struct, by its name."""
    found = msgspec.json.schema(root)
    structs = {struct.__name__: struct for struct in Result.__subclasses__()}
    definitions = {name: _closed(structs[name], definition) for name, definition in found["$defs"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        "$ref": found["$ref"],
        "$defs": _simple(definitions),
    }


def _closed(struct: type[Result], found: Schema) -> Schema:
    """A struct's object: nothing else in it, all required that is always written, its conditions."""
    omits = struct.__struct_config__.omit_defaults
    fields = msgspec.structs.fields(struct)
    absent = {field.encode_name for field in fields if omits and _has_default(field)}
    properties = {
        name: _present(schema) if name in absent else {key: value for key, value in schema.items() if key != "default"}
        for name, schema in found["properties"].items()
    }
    reasons = [_reason(f"{name}_reason", _is(name, _NULL)) for name in properties if f"{name}_reason" in properties]
    conditions = reasons + CONDITIONS.get(struct, [])
    return {
        "description": found["description"],
        "type": "object",
        "required": [name for name in properties if name not in absent],
        "additionalProperties": False,
        "properties": properties,
    } | ({"allOf": conditions} if conditions else {})


def _has_default(field: msgspec.structs.FieldInfo) -> bool:
    """Whether msgspec leaves the field out where it has its default: of factories those of empty containers alone."""
    return field.default is not msgspec.NODEFAULT or field.default_factory in (dict, list, set)


def _present(node: Schema) -> Schema:
    """A field that is left out where it has its default, which is never null, then."""
    rest = _without_choice({key: value for key, value in node.items() if key != "default"})
    choices = [choice for choice in node.get("anyOf", []) if choice != _NULL]
    return rest | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})


def _simple(node: Any) -> Any:
    """The same in fewer words: a choice of words is an enum, `or null` stands in the type."""
    if isinstance(node, list):
        return [_simple(item) for item in node]
    if not isinstance(node, dict):
        return node
    words = _WORDS.fullmatch(node["pattern"]) if isinstance(node.get("pattern"), str) else None
    found = {key: _simple(value) for key, value in node.items() if not (words and key in ("pattern", "type"))}
    if words:
        found["enum"] = words[1].split("|")
    found = _without_limits(found)
    match found.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            return _without_choice(found) | {"type": [kind, "null"], **rest}
        case [{"enum": list(choices), **rest}, {"type": "null"}]:
            return _without_choice(found) | {"enum": [*choices, None], **rest}
    return found


def _without_limits(node: Schema) -> Schema:
    """Bounds that keep numbers finite say nothing about the field: docs/internals/record.md has them once."""
    smallest = {"exclusiveMinimum": 0} if node.get("minimum") == SMALLEST_NUMBER else {}
    limits = (LARGEST, -LARGEST, LARGEST_NUMBER, -LARGEST_NUMBER, SMALLEST_NUMBER, LONGEST_NAME, LONGEST_TEXT)
    bounds = ("minimum", "maximum", "maxLength")
    return {key: value for key, value in node.items() if not (key in bounds and value in limits)} | smallest


def _without_choice(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key != "anyOf"}
