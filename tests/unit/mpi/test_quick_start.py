# SPDX-License-Identifier: Apache-2.0
"""Open MPI's BTL that sleeps a second is left out only where it can't be used and nobody chose BTLs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slowpath.mpi.mpi import Mpi, as_library_is, quick_start

LEFT_OUT = {"OMPI_MCA_btl": "^ofi"}


@pytest.fixture
def bare(tmp_path: Path) -> tuple[Path, ...]:
    """Folders of fabrics of a node that has none."""
    (tmp_path / "infiniband").mkdir()
    return tmp_path / "infiniband", tmp_path / "cxi"


def test_without_a_fabric_it_is_left_out(tmp_path: Path, bare: tuple[Path, ...]) -> None:
    assert quick_start("openmpi", "prterun", tmp_path, {}, bare) == LEFT_OUT
    assert quick_start("openmpi", "orterun", tmp_path, {"HOME": str(tmp_path)}, bare) == LEFT_OUT


@pytest.mark.parametrize("place", ["etc/openmpi-mca-params.conf", ".openmpi/mca-params.conf"])
@pytest.mark.parametrize(
    ("line", "chosen"), [("btl = self,tcp", True), ("btl_tcp_if_include = eth0", False), ("# btl = x", False)]
)
def test_a_parameter_file_that_names_btls_is_obeyed(
    tmp_path: Path, bare: tuple[Path, ...], place: str, line: str, chosen: bool
) -> None:
    file = tmp_path / place
    file.parent.mkdir()
    file.write_text(f"pml = ob1\n{line}\n")
    assert quick_start("openmpi", "prterun", tmp_path, {"HOME": str(tmp_path)}, bare) == ({} if chosen else LEFT_OUT)


def test_as_the_library_is_nothing_starts_it_quickly_and_what_else_it_needs_stays() -> None:
    needed = {"OPAL_PREFIX": "/opt/openmpi"}
    mpi = Mpi(
        "openmpi", "5.0.11", "option", Path("/opt"), Path("/opt/bin/mpiexec"), None, "openmpi", False, "prterun", ""
    )
    assert as_library_is(replace(mpi, env={**needed, **LEFT_OUT})).env == needed
    own = replace(mpi, env={**needed, "OMPI_MCA_btl": "self,sm"})
    assert as_library_is(own) is own
