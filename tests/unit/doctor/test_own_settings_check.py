# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of the user's settings."""

from __future__ import annotations

from slowpath.doctor.registry import own_settings_check
from slowpath.mpi.own_settings import OwnSetting, own_settings


def test_none() -> None:
    assert own_settings_check(own_settings({"PATH": "/bin", "PMI_RANK": "0"}), "mpich").value == "none"


def test_each_with_its_place_and_those_of_another_library() -> None:
    found = own_settings_check([OwnSetting("UCX_TLS", "tcp"), OwnSetting("OMPI_MCA_btl", "tcp", "/a", 3)], "openmpi")
    assert (found.status, found.value) == ("ok", "UCX_TLS=tcp, OMPI_MCA_btl=tcp (line 3 of /a)")
    found = own_settings_check(own_settings({"I_MPI_FABRICS": "shm", "UCX_TLS": "tcp"}), "mpich")
    assert found.status == "warn"
    assert found.means == "I_MPI_FABRICS: ignored: Intel MPI reads it, and this is MPICH"
