# SPDX-License-Identifier: Apache-2.0
"""Lists of processors, read and written."""

from __future__ import annotations

import pytest

from slowpath.core.machine import format_cpu_list, parse_cpu_list


@pytest.mark.parametrize(("numbers", "text"), [([0], "0"), ([0, 1, 2, 5, 7, 8], "0-2,5,7-8"), ([10, 11], "10-11")])
def test_a_list_is_written_and_read_back(numbers: list[int], text: str) -> None:
    assert format_cpu_list(numbers) == text
    assert parse_cpu_list(text) == set(numbers)


def test_nothing_is_the_empty_list() -> None:
    assert format_cpu_list([]) == ""
    assert parse_cpu_list(None) == parse_cpu_list("") == frozenset()
    assert parse_cpu_list(" 0-1, 4\n") == {0, 1, 4}  # blanks are harmless


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1,,2", "0-2,x", "1-2-3", "\u00b2"])
def test_of_what_cannot_be_read_nothing_is_taken(text: str) -> None:
    assert parse_cpu_list(text) == frozenset()
