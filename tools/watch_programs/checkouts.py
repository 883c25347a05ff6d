# SPDX-License-Identifier: Apache-2.0
"""Programs that no package has: a folder of a public repository at one commit, compiled against an unpacked MPI."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .cases import Case, Checkout

_FORTRAN_MODULES: Final = "-I{lib}/fortran/gfortran-mod-15/openmpi"  # GCC 8 to 14 write modules of this format
_OPENMPI_F08: Final = ("-lmpi_usempif08", "-lmpi_usempi_ignore_tkr", "-lmpi_mpifh", "-lmpi")


def source_of(folder: Path, checkout: Checkout) -> Path:
    """Where its sources are, and what was compiled of them."""
    return folder / "checkouts" / checkout.commit[:12] / checkout.folder


def get_checkouts(folder: Path, cases: Sequence[Case], root: Path, libraries: Path) -> None:
    """Sources and programs of these cases; what is there already is not made again."""
    for checkout in dict.fromkeys(case.checkout for case in cases if case.checkout is not None):
        source = source_of(folder, checkout)
        if (source / checkout.program).is_file():
            continue
        _clone(folder / "checkouts" / checkout.commit[:12], checkout)
        places = {"root": str(root), "lib": str(libraries)}
        for words in _compiles(checkout, libraries):
            subprocess.run([word.format_map(places) for word in words], cwd=source, check=True)


def _clone(into: Path, checkout: Checkout) -> None:
    if not (into / ".git").is_dir():
        argv = ["git", "clone", "--quiet", "--no-checkout", "--filter=blob:none", checkout.url, str(into)]
        subprocess.run(argv, check=True)
    subprocess.run(["git", "-C", str(into), "checkout", "--quiet", checkout.commit, "--", checkout.with_], check=True)


def _compiles(checkout: Checkout, libraries: Path) -> list[list[str]]:
    """C first, each file by itself; then Fortran, in the order of its modules, and the link."""
    of_c = [name for name in checkout.sources if name.endswith(".c")]
    made = [["gcc", "-O2", "-g", "-I{root}/usr/include", "-c", name, "-o", f"{Path(name).stem}.o"] for name in of_c]
    fortran = [name for name in checkout.sources if name not in of_c]
    objects = [f"{Path(name).stem}.o" for name in of_c]
    link = ["-L{lib}", "-L{lib}/openmpi/lib", *_OPENMPI_F08, *checkout.libraries]
    link += [f"-Wl,-rpath-link,{libraries}:{{root}}/lib/x86_64-linux-gnu"]
    compiled = ["gfortran", "-O2", "-g", _FORTRAN_MODULES, *fortran, *objects, "-o", checkout.program, *link]
    return [*made, compiled]
