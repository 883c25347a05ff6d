# SPDX-License-Identifier: Apache-2.0
"""The table of what helps a program as it is: keys are unique, names it stands for exist, every line can be tried."""

from __future__ import annotations

import pytest

from slowpath.core.errors import UsageError
from slowpath.findings.library_remedies import variables_for, ways_of
from slowpath.slowpaths.registry import (
    PROGRAM_REMEDIES,
    REMEDIES,
    codes_helped_by,
    find_program_remedy,
    program_remedies_for,
)


def test_keys_are_unique_and_can_be_typed() -> None:
    keys = [one.key for one in PROGRAM_REMEDIES]
    assert len(set(keys)) == len(keys)
    assert all(key.replace("-", "").isalnum() and key.islower() for key in keys)
    assert "all" not in keys


def test_rules_and_remedies_that_it_names_exist() -> None:
    names = {remedy.name for remedy in REMEDIES}
    for one in PROGRAM_REMEDIES:
        assert codes_helped_by(one), one.key
        assert set(one.table) <= names, one.key


@pytest.mark.parametrize("one", PROGRAM_REMEDIES, ids=lambda one: one.key)
def test_each_changes_something_somewhere(one: object) -> None:
    from slowpath.findings.remedy import ProgramRemedy

    assert isinstance(one, ProgramRemedy)
    assert one.variables or one.preload or one.bind or any(way.variables for way in ways_of(one))


def test_a_library_without_a_way_has_none() -> None:
    remedy = find_program_remedy("yield-when-idle")
    assert variables_for(remedy, "openmpi", "5.0.11", None) == {"OMPI_MCA_mpi_yield_when_idle": "1"}
    assert variables_for(remedy, "intelmpi", "2021.18", None) is None
    assert variables_for(find_program_remedy("huge-pages"), None, None, None)


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(UsageError, match="huge-pages"):
        find_program_remedy("hugepages")


def test_the_one_that_a_finding_names_stands_first() -> None:
    assert program_remedies_for("SP012", ("keep freed memory",))[0].key == "keep-freed-memory"
    assert program_remedies_for("SP012")[0].key == "huge-pages"
