# SPDX-License-Identifier: Apache-2.0
"""Which remedies a command asks for."""

from __future__ import annotations

import pytest

from slowpath.core.errors import UsageError
from slowpath.watch.prove.remedies import ProgramMpi, by_name, of_library, ready, screened, suggested_by
from support.watch_results import a_finding

FINDINGS = [a_finding(rule="SP024", prove=None, remedies=()), a_finding(rule="SP008", prove="--remedy pad-host")]


def test_first_the_first_remedy_of_each_finding_then_the_second_ones() -> None:
    keys = [one.key for one in suggested_by(FINDINGS)]
    assert keys[:2] == ["keep-freed-memory", "pad-host"]
    assert len(set(keys)) == len(keys)
    assert {"huge-pages", "keep-huge-pages", "two-copies"} <= set(keys)


def test_names_are_taken_as_given_and_all_means_what_findings_suggest() -> None:
    assert [one.key for one in by_name(["two-copies", "huge-pages", "two-copies"], [])] == ["two-copies", "huge-pages"]
    assert by_name(["all"], FINDINGS) == by_name([], FINDINGS) == suggested_by(FINDINGS)


@pytest.mark.parametrize(
    ("findings", "words"), [([], "has no finding yet"), ([a_finding(rule="SP015")], "without code")]
)
def test_nothing_suggested_says_what_to_do(findings: list[object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        by_name([], findings)  # type: ignore[arg-type]


def test_what_can_not_be_tried_here_has_its_reason() -> None:
    chosen = ready(screened(), ["./app"], ProgramMpi("mpich", "5.0.2"), {"PATH": "/bin"}, ())
    reasons = dict(chosen.left_out)
    assert reasons["bind-cores"] == "the command has no launcher in front that could bind ranks"
    assert "keep-freed-memory" in [one.key for one in chosen.found]


def test_other_choices_of_the_library_are_ready_as_remedies_of_a_program() -> None:
    found = of_library(ProgramMpi("openmpi", "5.0.11"), None, {"OMPI_MCA_pml": "ob1"})
    chosen = ready(found, ["./app"], ProgramMpi("openmpi", "5.0.11"), {"OMPI_MCA_pml": "ob1"}, ())
    by_key = {one.key: dict(one.variables) for one in chosen.found}
    assert by_key["smsc-cma"] == {"OMPI_MCA_smsc": "cma"}
    # What the user has set stays, and what is for messages between nodes does nothing on one.
    assert not [key for key, variables in by_key.items() if "OMPI_MCA_pml" in variables]
    assert "tcp-two-links" not in by_key


def test_an_unknown_library_has_no_other_choices() -> None:
    assert of_library(ProgramMpi(), None, {}) == []
