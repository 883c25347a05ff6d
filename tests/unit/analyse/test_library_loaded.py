# SPDX-License-Identifier: Apache-2.0
"""A run whose ranks loaded another library than it was planned for says so."""

from __future__ import annotations

import pytest

from slowpath.analyse.build import library_lines
from slowpath.core.results import MpiResult

CRAY_9 = "MPI VERSION    : CRAY MPICH version 9.0.0.113 (ANL base 4.1.2)"


def test_another_version_is_a_warning() -> None:
    (line,) = library_lines([MpiResult(name="craympich", version="8.1.32", library=CRAY_9)])
    assert (line.level, line.text) == ("warning", f"Cray MPICH 8.1.32 was asked for, and the ranks loaded {CRAY_9}.")


def test_another_library_is_a_warning() -> None:
    (line,) = library_lines([MpiResult(name="mpich", version="5.0.2", library=CRAY_9)])
    assert "MPICH 5.0.2 was asked for" in line.text


@pytest.mark.parametrize(
    ("name", "version", "library"),
    [
        ("craympich", "9.0.0", CRAY_9),
        ("intelmpi", "2021.18.1", "Intel(R) MPI Library 2021.18 for Linux* OS"),
        ("mpich", "5.0.2", "MPICH Version:      5.0.2"),
        ("parastation", "5.9.2", "MPICH Version:      4.1.1"),  # the first line of a text that says more
        ("openmpi", None, "Open MPI v5.0.11, package: Open MPI"),
        ("unknown", None, "Some Other MPI"),
        (None, None, None),
    ],
)
def test_what_was_asked_for_is_none(name: str | None, version: str | None, library: str | None) -> None:
    assert library_lines([MpiResult(name=name, version=version, library=library)]) == []
