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
        *("RunResult", "MpiResult", "LibraryVariable", "UcxProtocol", "EnvironmentResult", "PlacementResult"),
        *("RankPlace", "LaunchCounts"),
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
            "Claim",
            "Rival",
            "LawResult",
            "LawCoefficient",
            "LawPoint",
            "LawForecast",
            "LawSourceResult",
            "LimitBracket",
            "RemedyResult",
            "Snippet",
        ),
        *("RemovedRatio", "SideEffect"),
    ),
    "put": ("PutResults", "PutCondition", "PutRow", "RateShare", "PutRung", "PutSplit", "PutPart"),
    "cannon": (
        *("CannonResults", "CannonGroup", "CannonGrid", "CannonBlas", "CannonVariant", "CannonPoint", "CannonMissing"),
        *("Value", "CriticalN", "CannonBest", "GroupRepetitions", "CannonTimeline", "TimelineInterval", "TimelineWait"),
        *("CannonDistribution", "CannonClock", "CannonScaling", "ScalingPoint"),
    ),
}
WATCH_GROUPS: Mapping[str, tuple[str, ...]] = {
    "whole": ("WatchResults",),
    "program": ("WatchedProgram", "Coverage"),
    "time": ("RankTime", "CallCount", "Slice", "Wait"),
    "messages": ("MessageClass", "CollectiveClass", "CallSite", "Pair", "AllocationKind", "Fine"),
    "findings": ("WatchFinding", "Price", "RemedyResult", "Snippet", "RemovedRatio", "SideEffect"),
}
# Endings of names, the longest first.
UNITS = {
    "_bytes_per_s": "bytes/s",
    "_flops_per_s": "flop/s",
    "_s_per_op": "s per operation",
    "_per_op": "per operation",
    "_per_s": "1/s",
    "_bytes": "bytes",
    "_ns": "ns",
    "_s": "s",
}
Node = Mapping[str, Any]


def blocks() -> dict[str, Callable[[], str]]:
    """Name of a block of a page -> what stands in it.  Raises: ValueError: a struct is in no group."""
    pages = (("results", GROUPS, results_schema), ("watch-results", WATCH_GROUPS, watch_results_schema))
    found = {}
    for page, groups, schema in pages:
        left = set(schema()["$defs"]) - {name for group in groups.values() for name in group}
        if left:
            raise ValueError(f"{', '.join(sorted(left))}: no group of tools/results_page.py has it")
        found |= {f"{page}-{name}": partial(_group, group, schema) for name, group in groups.items()}
    return found


def _group(group: Sequence[str], schema: Callable[[], Node]) -> str:
    definitions = schema()["$defs"]
    return "\n".join(_part(name, definitions[name]) for name in group)


def _part(name: str, definition: Node) -> str:
    """Heading, what it is, and a row for each field."""
    about = " ".join(definition["description"].split())
    absent = set(definition["properties"]) - set(definition["required"])
    rows = [
        f"| `{field}` | {words(node)}{_unit(field)}{', may be absent' if field in absent else ''} "
        f"| {node.get('description', '')} |\n"
        for field, node in definition["properties"].items()
    ]
    return f"### {title(name)}\n\n{about}\n\n| field | type | meaning |\n| --- | --- | --- |\n" + "".join(rows)


def title(name: str) -> str:
    """MetricEstimate -> Metric estimate; CellResult -> Cell."""
    short = name if name == "Results" else name.removesuffix("Result")
    spaced = re.sub(r"(?<=[a-z])([A-Z])", lambda found: f" {found[1].lower()}", short)
    return re.sub("Mpi|Ucx", lambda found: found[0].upper(), spaced)


def words(node: Node) -> str:
    """What a field can be, in words."""
    if "$ref" in node:
        heading = title(node["$ref"].rsplit("/", 1)[-1])
        return f"[{heading}](#{heading.lower().replace(' ', '-')})"
    if "anyOf" in node:
        return " or ".join(map(words, node["anyOf"]))
    if isinstance(node.get("type"), list):
        return " or ".join(words({**node, "type": kind}) for kind in node["type"])
    if "enum" in node:
        return _listed(node["enum"])
    return _KINDS.get(node.get("type", ""), lambda _: "anything")(node)


def _listed(choices: Sequence[object]) -> str:
    *most, last = ("null" if choice is None else f"`{choice}`" for choice in choices)
    return f"{', '.join(most)} or {last}" if most else last


def _array(node: Node) -> str:
    if "prefixItems" in node:
        return f"[{', '.join(map(words, node['prefixItems']))}]"
    return f"list of {words(node.get('items', {}))}" + (f", at least {n}" if (n := node.get("minItems")) else "")


def _object(node: Node) -> str:
    keys = node.get("propertyNames", {})
    named = _listed(keys["enum"]) if "enum" in keys else "text"
    return f"object: {named} → {words(node.get('additionalProperties', {}))}"


def _number(node: Node) -> str:
    low, above = node.get("minimum"), node.get("exclusiveMinimum")
    high, below = node.get("maximum"), node.get("exclusiveMaximum")
    bounds = [f"≥ {low}"] * (low is not None) + [f"> {above}"] * (above is not None)
    bounds += [f"≤ {high}"] * (high is not None) + [f"< {below}"] * (below is not None)
    if node["type"] == "integer" and bounds == ["≥ 0"]:
        return "count"
    kind = "integer" if node["type"] == "integer" else "number"
    return " ".join([kind, ", ".join(bounds)]).strip()


def _text(node: Node) -> str:
    return f"text `{node['pattern']}`" if "pattern" in node else "text"


_KINDS: Mapping[str, Callable[[Node], str]] = {
    "array": _array,
    "object": _object,
    "integer": _number,
    "number": _number,
    "string": _text,
    "boolean": lambda _: "true or false",
    "null": lambda _: "null",
}


def _unit(field: str) -> str:
    return next((f", {unit}" for ending, unit in UNITS.items() if field.endswith(ending)), "")
