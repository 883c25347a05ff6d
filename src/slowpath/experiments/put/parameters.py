# SPDX-License-Identifier: Apache-2.0
"""What each parameter of the experiment put is to whoever compares its cells. Pure."""

from __future__ import annotations

from slowpath.core.roles import Roles

ROLES: Roles = {
    "pattern": "setting",
    "design": "setting",
    "call": "setting",
    "checks": "setting",
    "rung": "covariate",
    "operation": "setting",
    "window": "setting",
    "synchronise": "setting",
    "target_datatype": "setting",
    "target_busy_s": "covariate",
    "datatype": "setting",
    "message_bytes": "covariate",
    "puts": "covariate",
    "window_info": "setting",
    "order": "setting",
    "instructions": "effort",
    "samples": "effort",
    "time_limit_s": "effort",
    "warmup_s": "effort",
    "validate": "effort",
}
