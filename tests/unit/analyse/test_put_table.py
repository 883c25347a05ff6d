# SPDX-License-Identifier: Apache-2.0
"""Which puts are compared, and how far each is from the empty call."""

from __future__ import annotations

import pytest

from slowpath.core.results import Results
from slowpath.core.study_results import PutResults, PutRow
from support import report_studies


@pytest.fixture(scope="module")
def document() -> Results:
    return report_studies.put_results()


@pytest.fixture(scope="module")
def found(document: Results) -> PutResults:
    assert document.put is not None
    return document.put


def row(document: Results, design: str, mpi: str, **given: str) -> PutRow:
    assert document.put is not None
    rows = [one for one in document.put.conditions[0].rows if (one.design, one.mpi) == (design, mpi)]
    rows = [one for one in rows if given.items() <= document.cell(one.cell).parameters.items()]
    assert len(rows) == 1
    return rows[0]


def test_rows_differ_in_who_puts_alone(found: PutResults) -> None:
    first, *others = found.conditions
    assert others == []  # the other window has but one design
    assert first.differs == {}
    designs = [one.design for one in first.rows if one.mpi == "mpich"]
    assert designs == ["mpi", "complex", "complex", "shmem_p", "empty_call", "empty_call_5", "store"]
    assert {one.mpi for one in first.rows} == {"mpich", "openmpi"}


def test_every_measured_put_is_named(document: Results, found: PutResults) -> None:
    assert found.cells == [cell.cell for cell in document.cells]


def test_counts_of_each_library(document: Results) -> None:
    assert row(document, "mpi", "mpich").instructions_with_loop == 670
    assert row(document, "mpi", "openmpi").instructions_with_loop == 270
    assert row(document, "store", "mpich").instructions_with_loop == 20  # nothing is called


def test_rate_over_the_empty_call_is_the_contrast(document: Results) -> None:
    """Of the launches of the same MPI; turned over where the empty call is side b, else a ratio of two values."""
    contrast = next(c for c in document.contrasts if c.b.value == "complex")
    assert contrast.ratio is not None
    assert contrast.interval is not None
    share = row(document, "complex", "mpich", call="library").of_empty
    assert share is not None
    assert share.ratio == pytest.approx(1 / contrast.ratio)
    assert share.interval == pytest.approx((1 / contrast.interval[1], 1 / contrast.interval[0]))
    other = [c for c in document.contrasts if c.b.value == "empty_call"][1]
    library = row(document, "mpi", "openmpi").of_empty
    assert library is not None
    assert (library.ratio, library.interval) == (other.ratio, other.interval)
    assert row(document, "empty_call", "mpich").of_empty is None


def test_shares_of_a_call_add_up(found: PutResults) -> None:
    assert [(one.design, one.mpi) for one in found.splits] == [("mpi", "mpich"), ("mpi", "openmpi")]
    for split in found.splits:
        assert sum(part.ratio or 0.0 for part in split.parts) == pytest.approx(1)
