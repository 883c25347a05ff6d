# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of results.json, made from its structs; tools/generate-docs writes it into schema/.

Stricter than the types alone: nothing unknown, everything that is always written is required, and what is null stands
next to a reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import ContrastResult, Finding, NodePair
from slowpath.core.result import LARGEST, LARGEST_NUMBER, LONGEST_NAME, LONGEST_TEXT, SMALLEST_NUMBER, Result
from slowpath.core.run_results import LibraryVariable
from slowpath.core.study_results import CannonBest, CannonGroup, CannonTimeline, CriticalN

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}
_TEXT: Schema = {"type": "string", "minLength": 1}
_WORDS = re.compile(r"\^\(([\w |-]+)\)\$")  # a pattern that is a choice of words


def has(field: str, value: Schema) -> Schema:
    """Holds where the field is there and has such a value."""
    return {"required": [field], "properties": {field: value}}


def reason_where(name: str, where: Schema) -> Schema:
    """A text stands in `name` wherever `where` holds."""
    return {"if": where, "then": has(name, _TEXT)}


# What holds besides: a field `x` that is null has its text in `x_reason` without being named here.
CONDITIONS: dict[type[Result], list[Schema]] = {
    CellResult: [
        reason_where("reason", has("status", {"enum": ["partial", "skipped", "failed"]})),
        reason_where("repetitions_reason", has("repetitions", has("switched", NULL) | {"type": "object"})),
        reason_where("repetitions_reason", has("repetitions", has("loaded", NULL) | {"type": "object"})),
        reason_where("instructions_reason", has("instructions", has("put", NULL) | {"type": "object"})),
        reason_where("instructions_reason", has("instructions", has("synchronisation", NULL) | {"type": "object"})),
    ],
    ContrastResult: [reason_where("reason", has("verdict", NULL))],
    NodePair: [reason_where("reason", has("verdict", NULL))],
    LibraryVariable: [reason_where("reason", has("value", NULL))],
    Finding: [{"if": has("status", {"const": "observed"}), "then": has("cause", NULL)}],
    CannonGroup: [
        reason_where("setup_reason", has("grid", NULL)),
        reason_where("setup_reason", has("blas", NULL)),
        reason_where("ranks_have_cores_reason", has("ranks_have_cores", {"const": False})),
    ],
    CriticalN: [reason_where("reason", has("n", NULL))],
    CannonBest: [reason_where("reason", has("variant", NULL))],
    CannonTimeline: [reason_where("reason", has("intervals", {"maxItems": 0}))],
}


def schema_of(root: type[Result], title: str, about: str) -> Schema:
    """Return the schema of a whole file; `$defs` has one entry for each struct, by its name."""
    schema = msgspec.json.schema(root)
    structs = {struct.__name__: struct for struct in Result.__subclasses__()}
    definitions = {
        name: _closed(structs[name], definition, CONDITIONS.get(structs[name], ()))
        for name, definition in schema["$defs"].items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        "$ref": schema["$ref"],
        "$defs": _simple(definitions),
    }


def _closed(struct: type[Result], written: Schema, besides: Sequence[Schema]) -> Schema:
    """A struct's object: nothing else in it, all required that is always written, its conditions."""
    omits = struct.__struct_config__.omit_defaults
    fields = msgspec.structs.fields(struct)
    absent = {field.encode_name for field in fields if omits and _has_default(field)}
    properties = {
        name: _present(schema) if name in absent else {key: value for key, value in schema.items() if key != "default"}
        for name, schema in written["properties"].items()
    }
    reasons = [reason_where(f"{name}_reason", has(name, NULL)) for name in properties if f"{name}_reason" in properties]
    conditions = [*reasons, *besides]
    return {
        "description": cleandoc(written["description"]),  # msgspec cleans it from 0.23.0 on
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
    choices = [choice for choice in node.get("anyOf", []) if choice != NULL]
    return rest | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})


def _simple(node: Any) -> Any:
    """The same in fewer words: a choice of words is an enum, `or null` stands in the type."""
    if isinstance(node, list):
        return [_simple(item) for item in node]
    if not isinstance(node, dict):
        return node
    words = _WORDS.fullmatch(node["pattern"]) if isinstance(node.get("pattern"), str) else None
    simple = {key: _simple(value) for key, value in node.items() if not (words and key in ("pattern", "type"))}
    if words:
        simple["enum"] = words[1].split("|")
    simple = _without_limits(simple)
    match simple.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            return _without_choice(simple) | {"type": [kind, "null"], **rest}
        case [{"enum": list(choices), **rest}, {"type": "null"}]:
            return _without_choice(simple) | {"enum": [*choices, None], **rest}
    return simple


def _without_limits(node: Schema) -> Schema:
    """Bounds that keep numbers finite say nothing about the field: docs/internals/record.md has them once."""
    smallest = {"exclusiveMinimum": 0} if node.get("minimum") == SMALLEST_NUMBER else {}
    limits = (LARGEST, -LARGEST, LARGEST_NUMBER, -LARGEST_NUMBER, SMALLEST_NUMBER, LONGEST_NAME, LONGEST_TEXT)
    bounds = ("minimum", "maximum", "maxLength")
    return {key: value for key, value in node.items() if not (key in bounds and value in limits)} | smallest


def _without_choice(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key != "anyOf"}
