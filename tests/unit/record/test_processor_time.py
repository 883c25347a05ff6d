# SPDX-License-Identifier: Apache-2.0
"""Whether a kernel tells user from system time, by two stretches of known work in each launch."""

from __future__ import annotations

import pytest

from slowpath.record.events import ProcessorTime


def told(user: tuple[int, int], kernel: tuple[int, int]) -> bool:
    """(user_ns, system_ns) of arithmetic alone, and of the kernel's work alone."""
    return ProcessorTime(9, 0, *user, *kernel).is_distinguished


@pytest.mark.parametrize(
    ("user", "kernel", "apart"),
    [
        ((1_500_000, 0), (0, 1_500_000), True),
        ((1_450_000, 50_000), (120_000, 1_380_000), True),
        # Ticks: a process's whole life is shared out, whatever the stretch was.
        ((435_000, 1_065_000), (435_000, 1_065_000), False),
        ((1_290_000, 210_000), (1_290_000, 210_000), False),
        ((1_500_000, 0), (1_500_000, 0), False),
        ((0, 1_500_000), (0, 1_500_000), False),
    ],
)
def test_nearly_all_of_each_is_booked_as_what_it_is(
    user: tuple[int, int], kernel: tuple[int, int], apart: bool
) -> None:
    assert told(user, kernel) == apart
