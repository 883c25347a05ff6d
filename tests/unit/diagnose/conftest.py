# SPDX-License-Identifier: Apache-2.0
"""What tests of diagnoses share."""

from __future__ import annotations

from typing import Any

import pytest
from made_results import cell, results

from slowpath.core.results import Results


@pytest.fixture(scope="session")
def ping_pong(description: dict[str, Any]) -> dict[str, str]:
    """Parameters of the ping-pong of the survey."""
    entry = next(experiment for experiment in description["experiments"] if experiment["name"] == "p2p")
    return {parameter["name"]: parameter["default"] for parameter in entry["parameters"]} | {"pattern": "ping_pong"}


@pytest.fixture
def survey(ping_pong: dict[str, str]) -> Results:
    """A slow cell just below the switch and a fast one behind it."""
    lengths = {49152: 27e-6, 65536: 8e-6}
    return results(
        [
            cell(number, {**ping_pong, "message_bytes": str(length)}, [time_s] * 5)
            for number, (length, time_s) in enumerate(lengths.items())
        ]
    )
