# SPDX-License-Identifier: Apache-2.0
"""Every rule there is, by code."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.findings.catalogue import (
    sp001_first_use_pages,
    sp002_first_use_allocation,
    sp003_handle_cache,
    sp004_late_fast_path,
    sp005_first_use_constant,
    sp006_first_use_message,
    sp007_pinned_host,
    sp008_small_pages,
    sp009_single_copy,
    sp010_network_path,
    sp011_binding,
    sp012_first_touch,
    sp013_protocol_switch,
    sp014_memory_type,
    sp015_datatype,
    sp016_thread_level,
    sp017_progress,
    sp018_rma,
    sp019_window_kind,
    sp020_unexpected,
    sp021_queue_depth,
    sp022_slow_rank,
    sp023_ipc_allocation,
    sp024_fresh_buffers,
)
from slowpath.findings.rule import Rule

RULES: tuple[Rule, ...] = (
    sp001_first_use_pages.RULE,
    sp002_first_use_allocation.RULE,
    sp003_handle_cache.RULE,
    sp004_late_fast_path.RULE,
    sp005_first_use_constant.RULE,
    sp006_first_use_message.RULE,
    sp007_pinned_host.RULE,
    sp008_small_pages.RULE,
    sp009_single_copy.RULE,
    sp010_network_path.RULE,
    sp011_binding.RULE,
    sp012_first_touch.RULE,
    sp013_protocol_switch.RULE,
    sp014_memory_type.RULE,
    sp015_datatype.RULE,
    sp016_thread_level.RULE,
    sp017_progress.RULE,
    sp018_rma.RULE,
    sp019_window_kind.RULE,
    sp020_unexpected.RULE,
    sp021_queue_depth.RULE,
    sp022_slow_rank.RULE,
    sp023_ipc_allocation.RULE,
    sp024_fresh_buffers.RULE,
)


def find(code: str) -> Rule:
    """Upper or lower case, `SP001` or `1`.  Raises: UsageError: no rule of that code."""
    wanted = code.strip().upper().removeprefix("SP").zfill(3)
    for rule in RULES:
        if rule.code == f"SP{wanted}":
            return rule
    raise UsageError(f"there is no rule '{code}'; there are {RULES[0].code} to {RULES[-1].code}: slowpath explain")
