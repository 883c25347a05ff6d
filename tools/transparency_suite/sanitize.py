# SPDX-License-Identifier: Apache-2.0
"""The preloads built with AddressSanitizer and UBSan."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from slowpath.mpi.mpi import Mpi

ENGINE: Final = Path(__file__).resolve().parents[2] / "engine"
_FLAGS: Final = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
_TARGETS: Final = ("slowpath-coll", "slowpath-coll-parts", "slowpath-watch")


def sanitized(mpi: Mpi, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """A folder with both preloads, and the libraries that must come before them."""
    build = folder / f"sanitized-{mpi.name}-{mpi.version}"
    environ = {**mpi.environ(os.environ), "CXX": "g++", "CC": "gcc"}
    configure = ["cmake", "-S", ENGINE, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    configure += [f"-DCMAKE_CXX_FLAGS={_FLAGS}", f"-DMPI_CXX_COMPILER={mpi.mpicxx}"]
    # Symbols of the sanitizer are in the library that comes first.
    configure += ["-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,undefs"]
    subprocess.run(configure, env=environ, check=True, capture_output=True)
    subprocess.run(
        ["cmake", "--build", build, "-j", "2", "--target", *_TARGETS], env=environ, check=True, capture_output=True
    )
    libraries = build / "preloads"
    libraries.mkdir(exist_ok=True)
    for target in _TARGETS:
        (made,) = build.rglob(f"lib{target}.so")
        if made.parent != libraries:
            (libraries / made.name).unlink(missing_ok=True)
            (libraries / made.name).symlink_to(made)
    first = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=1:handle_segv=0:verify_asan_link_order=0"
    return libraries, tuple(str(Path(name).resolve()) for name in first)
