# SPDX-License-Identifier: Apache-2.0
"""Settings become variables, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.mpi.find import LIBRARIES
from slowpath.mpi.libraries import EVERYWHERE, AppliesTo, words_of
from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import NAMES, SETTINGS, Setting, resolve


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: f"{row.name}-{words_of(row.applies)}")
def test_row_is_reached_and_says_how_it_was_verified(row: Setting) -> None:
    first = ".".join(map(str, row.applies.first))
    assert resolve(row.name, row.applies.library or "", first, row.applies.transport) == (dict(row.variables), None)
    assert row.does
    assert row.verified
    assert row.applies.library in LIBRARIES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", [*LIBRARIES, "unknown"])
@pytest.mark.parametrize("version", ["0.1", "2", "4.1.4", "5.0.2", "2021.18.1", None])
def test_variables_or_a_reason_never_both_nor_neither(name: str, library: str, version: str | None) -> None:
    variables, reason = resolve(name, library, version)
    assert bool(variables) != bool(reason)


def test_version_decides_open_mpis_spelling() -> None:
    assert "OMPI_MCA_smsc" in resolve("single_copy_off", "openmpi", "5.0.11")[0]
    assert "OMPI_MCA_btl_vader_single_copy_mechanism" in resolve("single_copy_off", "openmpi", "4.1.4")[0]


def test_mpich_over_ucx_needs_a_network_to_be_sent_there(tmp_path: Path) -> None:
    assert resolve("network_path", "mpich", "5.0.2", network=True)[0]["UCX_TLS"] == "^sm"
    assert "lo" in (resolve("network_path", "mpich", "5.0.2", network=False)[1] or "")
    assert resolve("single_copy_off", "mpich", "5.0.2", network=False)[1] is None
    head = "Iface\tDestination\tGateway\n"
    four, six = tmp_path / "route", tmp_path / "ipv6_route"
    assert network_is_up((four, six))
    four.write_text(head)
    assert not network_is_up((four, six))
    six.write_text(f"{'0' * 32} 80 {'0' * 32} 00 {'0' * 32} 00000100 00000001 00000000 80200001       lo\n")
    assert not network_is_up((four, six))
    four.write_text(head + "eth0\t00000000\t0101A8C0\n")
    assert network_is_up((four, six))


@pytest.mark.parametrize(
    ("versions", "inside", "outside"),
    [
        ("", ["0.1", "5.0.2"], [None, "x"]),
        (">=4.2", ["4.2", "4.2.1", "5"], ["4.1.4", "4", None]),
        (">=2,<5", ["2", "4.1.4"], ["1.9", "5", "5.0.11"]),
        ("<5", ["4.9"], ["5"]),
    ],
)
def test_a_range_of_versions(versions: str, inside: list[str | None], outside: list[str | None]) -> None:
    row = AppliesTo("openmpi", versions)
    assert all(row.fits("openmpi", version) for version in inside)
    assert not any(row.fits("openmpi", version) for version in outside)


def test_library_and_transport_have_to_be_the_rows_own() -> None:
    row = AppliesTo("openmpi", ">=5", "ucx")
    assert row.fits("openmpi", "5.0.11", "ucx")
    assert not row.fits("openmpi", "5.0.11")
    assert not row.fits("mpich", "5.0.2", "ucx")
    assert AppliesTo("openmpi").fits("openmpi", "5", "")
    assert not AppliesTo("openmpi").fits("openmpi", "5", "ucx")
    assert EVERYWHERE.fits("unknown", None)
    assert (words_of(row), words_of(EVERYWHERE)) == ("Open MPI from 5, over UCX", "every library")
    with pytest.raises(ValueError, match="range of versions"):
        AppliesTo("mpich", "4.2+")
