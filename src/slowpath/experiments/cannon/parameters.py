# SPDX-License-Identifier: Apache-2.0
"""Parameters of the experiment cannon: what each is to those who compare cells."""

from __future__ import annotations

from slowpath.core.roles import Roles

ROLES: Roles = {
    "pattern": "setting",
    "variant": "setting",
    "n": "covariate",
    "grid": "setting",
    "skew": "setting",
    "window": "setting",
    "memory": "setting",
    "numbers": "setting",
    "kernel": "setting",
    "source": "setting",
    "repetitions": "effort",
    "warmups": "effort",
    "piece": "covariate",
    "quiet_wait_s": "effort",
    "validate": "effort",
}
