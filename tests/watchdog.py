# SPDX-License-Identifier: Apache-2.0
"""The one limit of time that tests know."""

from __future__ import annotations

WATCHDOG_S = 900  # ends what waits for ever; how long a job takes says nothing about it
