# SPDX-License-Identifier: Apache-2.0
"""The table of alternatives: what holds for each row, and which rows apply to a job."""

from __future__ import annotations

import os
from collections import Counter

from slowpath.mpi.alternatives import PlaceFacts, all_alternatives, alternatives_of
from slowpath.mpi.mpi import Mpi, listed_by
from slowpath.mpi.own_settings import why_not

MEASURED = ("short messages", "long messages", "MPI_Allreduce", "one-sided")
OPEN_MPI = {"osc_sm_priority", "coll_han_priority", "coll_tuned_priority", "part_persist_free_list_num"}


def rows_of(library: str, version: str, facts: PlaceFacts, transport: str | None = None) -> dict[str, dict[str, str]]:
    """Names of the rows that apply, and their variables."""
    found = alternatives_of(library, version, transport, facts, {}, MEASURED)
    return {row.name: dict(row.variables) for row in found.rows}


def test_every_library_has_rows() -> None:
    counts = Counter(row.applies.library or row.applies.transport for row in all_alternatives())
    assert all(counts[name] >= 5 for name in ("openmpi", "mpich", "intelmpi", "craympich", "ucx"))


def test_names_are_unique_in_a_library() -> None:
    counts = Counter((row.applies.library, row.name) for row in all_alternatives())
    assert [name for name, count in counts.items() if count > 1] == []


def test_names_fit_an_environment_of_a_campaign() -> None:
    assert max(len(row.name) for row in all_alternatives()) <= 60


def test_each_row_says_what_it_does_and_how_one_sees_it() -> None:
    for row in all_alternatives():
        assert all((row.variables, row.does, row.operations, row.seen)), row.name
        assert row.source.startswith("https://"), row.name


def test_each_value_may_be_recorded() -> None:
    unfit = [
        (row.name, name) for row in all_alternatives() for name, value in row.variables.items() if why_not(name, value)
    ]
    assert unfit == []


def test_a_module_that_is_not_built_is_left_out() -> None:
    found = alternatives_of("openmpi", "5.0.11", None, PlaceFacts(2, listed=frozenset(OPEN_MPI)), {}, MEASURED)
    names = {row.name for row in found.rows}
    assert {"osc sm", "coll ^han", "part ^persist"} <= names
    assert "osc ucx" in found.left_out
    assert "osc_ucx_priority" in found.left_out["osc ucx"]
    assert "osc ucx" in found.left_out


def test_a_library_that_can_not_be_asked_may_have_every_module() -> None:
    assert "osc ucx" in rows_of("openmpi", "5.0.11", PlaceFacts(2))


def test_rows_for_networks_need_nodes() -> None:
    one, two = PlaceFacts(2), PlaceFacts(2, nodes=2)
    found = alternatives_of("mpich", "5.0.2", None, two, {}, (*MEASURED, "messages between nodes"))
    names = {row.name for row in found.rows}
    assert "netmod ofi" in names
    assert "netmod ofi" not in rows_of("mpich", "5.0.2", one)
    assert "CMA on" not in names
    assert "CMA on" in rows_of("mpich", "5.0.2", one)


def test_rows_for_gpu_memory_need_a_gpu() -> None:
    listed = frozenset({"coll_accelerator_priority"})
    assert "coll ^accelerator" not in rows_of("openmpi", "5.0.11", PlaceFacts(2, listed=listed))
    assert "coll ^accelerator" in rows_of("openmpi", "5.0.11", PlaceFacts(2, gpus=1, listed=listed))


def test_what_nothing_measures_is_left_out() -> None:
    found = alternatives_of("mpich", "5.0.2", None, PlaceFacts(2), {}, ("MPI_Allreduce",))
    assert "long messages" in found.left_out["CMA on"]
    assert "shared collectives at once" in {row.name for row in found.rows}


def test_a_variable_of_the_user_stays() -> None:
    found = alternatives_of("openmpi", "5.0.11", None, PlaceFacts(2), {"OMPI_MCA_btl": "self,tcp"}, MEASURED)
    assert found.left_out["btl self,sm"] == "you set OMPI_MCA_btl yourself"
    assert not [row.name for row in found.rows if "OMPI_MCA_btl" in row.variables]


def test_ucx_is_for_libraries_that_it_carries() -> None:
    assert "ucx protocols v1" in rows_of("openmpi", "5.0.11", PlaceFacts(2), "ucx")
    assert "ucx protocols v1" not in rows_of("openmpi", "5.0.11", PlaceFacts(2))


def test_an_installed_library_has_the_names_of_its_rows(mpi: Mpi) -> None:
    listed = listed_by(mpi, os.environ)
    rows = [
        row for row in all_alternatives() if row.applies.library == mpi.name and row.applies.fits(mpi.name, mpi.version)
    ]
    built = [row for row in rows if row.why_not(PlaceFacts(64, 2, 1, listed)) is None]
    own = {name for row in built for name in row.variables if not name.startswith(("FI_", "UCX_"))}
    assert len(built) > 7
    if mpi.name == "intelmpi":
        text = next(mpi.prefix.glob("lib/**/libmpi.so.12")).read_bytes()
        assert [name for name in own if name.encode() not in text] == []
    else:
        assert listed is not None
        assert [name for name in own if name.removeprefix("OMPI_MCA_") not in listed] == []
