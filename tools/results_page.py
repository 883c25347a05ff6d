# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/reference/results.md and watch-results.md, from the schemas of results.json: a part for each group
of structs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from slowpath.core.results_schema import results_schema
from slowpath.watch.results import watch_results_schema

GROUPS: Mapping[str, tuple[str, ...]] = {
    "results": ("Results", "Verdict", "Line", "SkippedRow"),
    "run": (
        *("RunResult", "MpiResult", "LibraryVariable", "UcxProtocol", "MessagePath"),
        *("EnvironmentResult", "PlacementResult", "RankPlace", "LaunchCounts"),
    ),
    "cells": (
        "CellResult",
        "Floor",
        "OverFloor",
        "WhoPays",
        "RoleWitness",
        "CallCounts",
        "Allocations",
        "RepetitionCounts",
    ),
    "metrics": (*("MetricResult", "MetricEstimate", "ByCleanness", "Outliers", "Mode", "FirstSlow", "ByRepetition"),),
    "instructions": (
        *("InstructionCounts", "InstructionRegion", "PerCall", "Distribution", "InstructionTotal", "FunctionShare"),
        "LaunchInstructions",
    ),
    "messages": ("MessageCounts", "RankScaling", "RankPoint", "HeldOutRanks", "PredictedRanks"),
    "contrasts": ("ContrastResult", "ContrastSide", "Reproduce", "NodePairs", "NodePair", "FailedNode"),
    "shapes": (
        "CellShapes",
        "Stalls",
        "MessagePeriod",
        "MessageGrowth",
        "MixedMessages",
        "TailPoint",
        "DrawnMessages",
        "LaunchKinds",
        "KindTimes",
    ),
    "findings": (
        *(
            "Finding",
            "Legs",
            "Leg",
            "SettingsWords",
            "Claim",
            "Rival",
            "LawResult",
            "RemedyResult",
            "Snippet",
        ),
        *("RemovedRatio", "SideEffect"),
    ),
    "laws": ("LawCoefficient", "LawPoint", "LawForecast", "LawSource", "LimitBracket"),
    "put": ("PutResults", "PutCondition", "PutRow", "RateShare", "PutSplit", "PutPart"),
    "cannon": (
        *("CannonResults", "CannonGroup", "CannonGrid", "CannonBlas", "CannonVariant", "CannonPoint", "CannonMissing"),
        *("Value", "CriticalN", "CannonBest", "GroupRepetitions", "CannonTimeline", "TimelineInterval", "TimelineWait"),
        *("CannonDistribution", "CannonClock", "CannonScaling", "ScalingPoint"),
        *("CriticalMove", "CannonComputation", "CannonKernels", "CannonKernel"),
    ),
}
# Their structs are listed by name; the schema has what they are, and their fields.
IN_SCHEMA = ("instructions", "messages", "shapes", "laws", "put", "cannon")
WATCH_IN_SCHEMA = ("time", "messages")
WATCH_GROUPS: Mapping[str, tuple[str, ...]] = {
    "whole": ("WatchResults",),
    "program": ("WatchedProgram", "Coverage"),
    "time": (
        "RankTime",
        "Account",
        "RankResources",
        "PlaceFault",
        "FileTime",
        "ResourceMoment",
        "CallCount",
        "Slice",
        "Wait",
        "Efficiency",
        "Phase",
        "Standstill",
        "Standing",
    ),
    "messages": ("MessageClass", "CollectiveClass", "CallSite", "Pair", "AllocationKind", "Fine"),
    "findings": ("WatchFinding", "Price"),
}
# Structs of both schemas: the page of a run has them, and the page of a watch links there.
SHARED = ("RemedyResult", "Snippet", "RemovedRatio", "SideEffect")
Node = Mapping[str, Any]
_LISTED = {name for group in IN_SCHEMA for name in GROUPS[group]} | {
    name for group in WATCH_IN_SCHEMA for name in WATCH_GROUPS[group]
}


def blocks() -> dict[str, Callable[[], str]]:
    """Name of a block of a page -> what stands in it.  Raises: ValueError: a struct is in no group."""
    pages = (("results", GROUPS, results_schema), ("watch-results", WATCH_GROUPS, watch_results_schema))
    found = {}
    for page, groups, schema in pages:
        definitions = schema()["$defs"]
        left = set(definitions) - {name for group in groups.values() for name in group} - set(SHARED)
        if left:
            raise ValueError(f"{', '.join(sorted(left))}: no group of tools/results_page.py has it")
        found |= {f"{page}-{name}": partial(_group, group, definitions, page) for name, group in groups.items()}
    return found


def _group(group: Sequence[str], definitions: Mapping[str, Node], page: str) -> str:
    if _LISTED.issuperset(group):
        return f"Structs: {', '.join(f'`{name}`' for name in group)}.\n"
    text = "\n".join(_part(name, definitions[name]) for name in group)
    if page != "results":
        for heading in map(title, SHARED):
            text = text.replace(f"](#{_anchor(heading)})", f"](results.md#{_anchor(heading)})")
    return text


def _part(name: str, definition: Node) -> str:
    """Return a heading, what the struct is, and an item for each field; a field and its reason are one item."""
    about = " ".join(definition["description"].split())
    fields = definition["properties"]
    absent = set(fields) - set(definition["required"])
    with_reason = {field for field in fields if _is_reason_of(field, fields.get(f"{field}_reason", {}))}
    rows = [
        f"- `{field}` ({'optional ' if field in absent else ''}{words(node)}"
        f"{f', or `{field}_reason`' if field in with_reason else ''}){_meaning(field, node)}\n"
        for field, node in fields.items()
        if field.removesuffix("_reason") not in with_reason or field in with_reason
    ]
    return f"### {title(name)}\n\n{about}\n\n" + "".join(rows)


def _is_reason_of(field: str, node: Node) -> bool:
    """Return whether the node says why a field is null, and nothing else."""
    return node.get("description", "") in (f"why {field} is null", "why there are none", "why there is none")


def _meaning(field: str, node: Node) -> str:
    text = node.get("description", "").removesuffix(f"; null: see {field}_reason")
    return f": {text}" if text else ""


def title(name: str) -> str:
    """MetricEstimate -> Metric estimate; CellResult -> Cell."""
    short = name if name == "Results" else name.removesuffix("Result")
    spaced = re.sub(r"(?<=[a-z])([A-Z])", lambda found: f" {found[1].lower()}", short)
    return re.sub("Mpi|Ucx", lambda found: found[0].upper(), spaced)


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def words(node: Node) -> str:
    """Return a type in words. A question mark means: or null. The schema has the limits of numbers."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        heading = title(name)
        return f"`{name}`" if name in _LISTED else f"[{heading}](#{_anchor(heading)})"
    kinds = node.get("anyOf") or [{**node, "type": kind} for kind in _types(node)]
    if len(kinds) > 1:
        some = [kind for kind in kinds if kind.get("type") != "null"]
        return " or ".join(map(words, some)) + "?" * (len(some) < len(kinds))
    if "enum" in node:
        return _listed(node["enum"])
    return _KINDS.get(node.get("type", ""), lambda _: "anything")(node)


def _types(node: Node) -> Sequence[str]:
    kinds = node.get("type", ())
    return kinds if isinstance(kinds, list) and "enum" not in node else ()


def _listed(choices: Sequence[object]) -> str:
    some = [f"`{choice}`" for choice in choices if choice is not None]
    return " ".join(some) + "?" * (len(some) < len(choices))


def _array(node: Node) -> str:
    if "prefixItems" in node:
        return f"[{', '.join(map(words, node['prefixItems']))}]"
    return f"{words(node.get('items', {}))}[]"


def _object(node: Node) -> str:
    keys = node.get("propertyNames", {})
    named = _listed(keys["enum"]) if "enum" in keys else "text"
    return f"{{{named}: {words(node.get('additionalProperties', {}))}}}"


def _text(node: Node) -> str:
    return f"text `{node['pattern']}`" if "pattern" in node else "text"


_KINDS: Mapping[str, Callable[[Node], str]] = {
    "array": _array,
    "object": _object,
    "integer": lambda _: "integer",
    "number": lambda _: "number",
    "string": _text,
    "boolean": lambda _: "bool",
    "null": lambda _: "null",
}
