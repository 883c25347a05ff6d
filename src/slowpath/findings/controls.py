# SPDX-License-Identifier: Apache-2.0
"""Negative controls that several remedies share: what they must leave as it is. Pure."""

from __future__ import annotations

from slowpath.findings.remedy import Control

ALONE = Control(
    "ranks that multiply matrices send no messages",
    experiment="cannon",
    parameters={"variant": "compute_only", "n": "256", "repetitions": "12", "quiet_wait_s": "0"},
    metric="multiply_s",
)
EAGER = Control(
    "an 8-byte message is eager in every library, so a setting for long messages can't change it",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
LATER = Control("padding changes only the first use, not later messages from the same buffer", phase="steady")
SHORT = Control(
    "an 8-byte message lies on a single page, huge or small",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
