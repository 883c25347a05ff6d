# SPDX-License-Identifier: Apache-2.0
"""Every rule there is, by code. Adding one: its file in `catalogue`, and its name here."""

from __future__ import annotations

from importlib import import_module

from slowpath.core.errors import UsageError
from slowpath.findings.rule import Rule

CATALOGUE = (
    "sp001_first_use_pages",
    "sp002_first_use_allocation",
    "sp003_handle_cache",
    "sp004_late_fast_path",
    "sp005_first_use_constant",
    "sp006_first_use_message",
    "sp007_pinned_host",
    "sp008_small_pages",
    "sp009_single_copy",
    "sp010_network_path",
    "sp011_binding",
    "sp012_first_touch",
    "sp013_protocol_switch",
    "sp014_memory_type",
    "sp015_datatype",
    "sp016_thread_level",
    "sp017_progress",
    "sp018_rma",
    "sp019_window_kind",
    "sp020_unexpected",
    "sp021_queue_depth",
    "sp022_slow_rank",
    "sp023_ipc_allocation",
    "sp024_fresh_buffers",
    "sp025_far_above_floor",
    "sp026_stalls",
    "sp027_alternation",
    "sp029_launch_lottery",
    "sp030_growth",
    "sp031_buffer_start",
    "sp032_idle",
    "sp033_order",
    "sp034_direction",
    "sp035_own_settings",
    "sp036_guideline",
    "sp037_size_cliff",
    "sp038_count_cliff",
    "sp039_linear_in_ranks",
    "sp040_opens_at_call",
    "sp041_closes_at_communicator",
    "sp042_collective_path",
    "sp043_first_use_peers",
    "sp044_window_pages",
    "sp045_arrival",
    "sp046_oversubscribed",
)
RULES: tuple[Rule, ...] = tuple(import_module(f"slowpath.findings.catalogue.{name}").RULE for name in CATALOGUE)


def find(code: str) -> Rule:
    """Upper or lower case, `SP001` or `1`.  Raises: UsageError: no rule of that code."""
    wanted = code.strip().upper().removeprefix("SP").zfill(3)
    for rule in RULES:
        if rule.code == f"SP{wanted}":
            return rule
    raise UsageError(f"there is no rule '{code}'; there are {RULES[0].code} to {RULES[-1].code}: slowpath explain")
