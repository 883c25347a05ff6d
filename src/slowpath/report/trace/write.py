# SPDX-License-Identifier: Apache-2.0
"""Which formats a trace can be written in, and the folder that the files go to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.report.trace.model import Trace
from slowpath.report.trace.otf2 import write_otf2
from slowpath.report.trace.perfetto import write_perfetto

FORMATS: dict[str, tuple[Callable[[Trace, Path], Path], str]] = {
    "otf2": (write_otf2, "open it with Vampir, or list it with otf2-print"),
    "perfetto": (write_perfetto, "open it at ui.perfetto.dev, in a browser"),
}


def write_trace(trace: Trace, folder: Path, formats: Sequence[str]) -> list[tuple[Path, str]]:
    """Write `trace` into a folder that is made, or is empty.

    Returns: the file to open of each format, and with what.
    Raises: EnvironmentFailure: the folder can't be made or is not empty.  RecordError: spans overlap.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot make the folder {folder}: {error.strerror or error}; name another one with --out"
        ) from error
    if taken:
        raise EnvironmentFailure(f"{folder}: is not empty; remove it, or name another folder with --out")
    return [(FORMATS[name][0](trace, folder), FORMATS[name][1]) for name in formats]
