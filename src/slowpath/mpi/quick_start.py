# SPDX-License-Identifier: Apache-2.0
"""What keeps a library from wasting time at its start, where that changes nothing else.

Open MPI's BTL ofi ends with sleep(1) (opal/mca/btl/ofi/btl_ofi_component.c, mca_btl_ofi_component_close, since 4.0). It
is asked and closed again in MPI_Init wherever libfabric has no network with remote memory access: a second in each
launch, of which a diagnosis has a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_BTL = "OMPI_MCA_btl"
# Where Linux lists network cards with remote memory access: InfiniBand, RoCE, Omni-Path and EFA; Slingshot.
FABRICS = (Path("/sys/class/infiniband"), Path("/sys/class/cxi"))


def has_fabric(folders: Sequence[Path] = FABRICS) -> bool:
    """Whether this node has such a card, or may have one: a folder that can't be read."""
    try:
        return any(any(folder.iterdir()) for folder in folders if folder.is_dir())
    except OSError:
        return True


def quick_start(
    library: str, launcher: str, prefix: Path, environ: Mapping[str, str], fabrics: Sequence[Path] = FABRICS
) -> dict[str, str]:
    """Variables that leave the BTL ofi out, where it could not be used and nobody says which BTLs are.

    Args: launcher: by name; those of batch systems start ranks on nodes that this one does not know.
    """
    own = launcher in ("prterun", "orterun")
    if library != "openmpi" or not own or _BTL in environ or has_fabric(fabrics):
        return {}
    home = environ.get("HOME")
    files = [prefix / "etc" / "openmpi-mca-params.conf"]
    files += [Path(home) / ".openmpi" / "mca-params.conf"] if home else []
    return {} if any(_sets_btl(file) for file in files) else {_BTL: "^ofi"}


def _sets_btl(file: Path) -> bool:
    """Whether a parameter file says which BTLs there are; one that can't be read may."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(line.partition("=")[0].strip() == "btl" for line in lines)
