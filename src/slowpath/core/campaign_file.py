# SPDX-License-Identifier: Apache-2.0
"""The one writer of campaign files: a campaign as the TOML that a person would write, to be read and run again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from slowpath.core.campaign import Campaign, stated

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def recorded(campaign: Campaign) -> bytes:
    """Return campaign.toml of a run folder: the user's file as it is, or what `campaign_toml` writes."""
    return campaign_toml(campaign).encode() if campaign.text is None else campaign.text


def campaign_toml(campaign: Campaign) -> str:
    """Return the campaign as TOML. `plan.campaign.decode` reads the same campaign from it."""
    comment = "".join(f"# {line}\n" for line in ("SPDX-License-Identifier: Apache-2.0", *campaign.why.splitlines()))
    tables = [
        _table("[campaign]", _head(campaign)),
        *(_table("[[environment]]", stated(table)) for table in campaign.environments),
        *(_table("[[placement]]", stated(table)) for table in campaign.placements),
        *(_table("[[cells]]", stated(table)) for table in campaign.cells),
        *(_table("[[contrast]]", stated(table)) for table in campaign.contrasts),
    ]
    return "\n".join([comment, *tables])


def _head(campaign: Campaign) -> dict[str, Any]:
    ranks = list(campaign.ranks)
    head = {
        "name": campaign.name,
        "title": campaign.title,
        "ranks": ranks[0] if len(ranks) == 1 else ranks,
        "rounds": campaign.rounds,
        "minimum_effect": campaign.minimum_effect,
    }
    return head if campaign.mpi is None else {**head, "mpi": campaign.mpi}


def _table(title: str, values: Mapping[str, Any]) -> str:
    """One table. Parameters stand below it in a table of their own; other mappings stay on one line."""
    parameters = values.get("parameters")
    lines = [title, *_pairs({key: value for key, value in values.items() if key != "parameters"})]
    if parameters is not None:
        lines += [f"[{title.strip('[]')}.parameters]", *_pairs(parameters)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(key)} = {_value(value)}" for key, value in values.items())


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_pairs(value))} }}"
    return f"[{', '.join(map(_value, value))}]"


def _quoted(text: str) -> str:
    """A JSON string is a TOML string, except that TOML also wants DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
