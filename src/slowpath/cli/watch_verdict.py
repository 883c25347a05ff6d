# SPDX-License-Identifier: Apache-2.0
"""What `slowpath watch` says at the end: the verdict of the folder, its report, and what its run leaves open."""

from __future__ import annotations

from pathlib import Path


def verdict_lines(folder: Path) -> list[str]:
    """Analyse the record, write results.json and the report, and return the verdict's lines.

    Raises: RecordError: the record can't be read.  EnvironmentFailure: a file can't be written.
    """
    from slowpath.watch.folder import read_watch
    from slowpath.watch.report.write import rebuild

    info = read_watch(folder)
    lines = [*rebuild(folder).verdict, f"report: {folder / 'report.html'}"]
    if info.interrupted:
        lines.append("interrupted: this is what was seen until then")
    elif info.signal is not None or info.exit_code:
        code = f"it ended with exit code {info.exit_code}"
        how = code if info.signal is None else f"signal {info.signal} ended it"
        lines.append(f"the program failed: {how}; this is what was seen until then")
    return lines
