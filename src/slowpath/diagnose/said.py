# SPDX-License-Identifier: Apache-2.0
"""What a step brought, in one line. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.core.units import format_bytes
from slowpath.diagnose.records import Step
from slowpath.findings.finding import UNTRIED

Json = Mapping[str, Any]


def said(step: Step, before: Sequence[Json], after: Sequence[Json]) -> str:
    """One line for the user."""
    if step.kind == "survey":
        rules = ", ".join(sorted({one["rule"] for one in after}))
        return f"{len(after)} findings{f' ({rules})' if rules else ''}"
    if step.kind == "witness":
        explained = sum(one["legs"]["explained"]["state"] == "shown" for one in after)
        return f"{explained} of {len(after)} findings have a witness"
    if step.kind == "suspect":
        new = after[len(before) :]
        limits = [bracket_words(entry) for one in new for entry in one["law"]["brackets"]]
        return "; ".join(limits) or f"no switch shows at {step.about['value']} B"
    finding = next((one for one in after if one["id"] == step.about.get("finding")), None)
    if finding is None:
        return f"{len(after) - len(before)} findings more"
    if step.kind == "trial":
        remedy = next((one for one in finding["remedies"] if one["name"] == step.about["remedy"]), None)
        return f"{step.about['remedy']}: {remedy['verdict']}: {remedy['reason']}" if remedy else "no outcome"
    if step.kind == "refine":
        return "; ".join(bracket_words(one) for one in finding["law"]["brackets"])
    if step.kind == "attribute":
        limits = finding["law"]["brackets"]
        return next(
            (one["told"] for one in limits if one["above"] == step.about["limit"] and "told" in one), "no outcome"
        )
    law = finding["law"] or {}
    return f"law {law['name']}" if law.get("name") else f"still open: {law.get('refused') or 'no law'}"


def bracket_words(entry: Json) -> str:
    """`after 50021 B and up to 50022 B`."""
    name = entry["covariate"]
    if name.endswith(("_bytes", "length")):
        low, high = (f"{format_bytes(int(entry[key]))}" for key in ("above", "up_to"))
    else:
        low, high = (f"{entry[key]:.12g}" for key in ("above", "up_to"))
    if entry.get("unclear"):
        return f"no limit of {name} shows between {low} and {high}"
    exact = " exactly" if entry["up_to"] - entry["above"] <= 1 else ""
    by = f", set by {entry['attributed_to']}" if entry.get("attributed_to") else ""
    return f"{name} changes{exact} after {low}, up to {high}{by}"


def leg_words(leg: Json, status: str) -> str:
    """What a leg says, in a diagnosis of this status: one that has tried nothing says why."""
    if leg["text"] != UNTRIED:
        return str(leg["text"])
    if status == "settled":
        return "no remedy that a trial can toggle is known"
    return "no remedy was tried yet; slowpath diagnose --resume with a longer --budget goes on"
