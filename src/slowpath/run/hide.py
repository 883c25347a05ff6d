# SPDX-License-Identifier: Apache-2.0
"""What a launch left behind, without the secrets of the environment that it ran in."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path
from secrets import token_hex

from msgspec.structs import replace

from slowpath.core.guard import KnownSecrets, why_secret
from slowpath.record.folder import LaunchInfo
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES, UCX_LOGS

_WRITTEN = ("stdout", "stderr", "stacks", UCX_LOGS, CONTROL_VARIABLES, PERFORMANCE_VARIABLES, "events.jsonl")


def hide_secrets(folder: Path, secrets: KnownSecrets) -> None:
    """Rewrite the files of a launch that is over, where they hold a secret; others are not touched."""
    for path in (path for pattern in _WRITTEN for path in folder.glob(pattern)):
        with contextlib.suppress(OSError):  # one that can't be read holds nothing to share
            if stat.S_ISREG(path.lstat().st_mode):
                _rewrite(path, secrets)


def _rewrite(path: Path, secrets: KnownSecrets) -> None:
    """Write the file anew line by line, since a program may print much; keep the old one if nothing is hidden."""
    part = path.with_name(f".{path.name}.{token_hex(8)}.part")
    hidden = False
    try:
        with path.open("rb") as given, part.open("xb") as made:
            while piece := given.readline(2**20):
                # surrogateescape: bytes that are no UTF-8 come back as they were.
                words = piece.decode("utf-8", "surrogateescape")
                kept = secrets.text(words)
                hidden |= kept != words
                made.write(kept.encode("utf-8", "surrogateescape"))
        if hidden:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def without_secrets(info: LaunchInfo, secrets: KnownSecrets) -> LaunchInfo:
    """Return launch.json's content without them: in words, in values of variables, in reasons."""
    variables = {
        name: f"({reason})" if (reason := why_secret(name, value)) else secrets.text(value)
        for name, value in info.variables.items()
    }
    failed = [replace(cell, reason=secrets.text(cell.reason)) for cell in info.failed_cells]
    reason = None if info.reason is None else secrets.text(info.reason)
    return replace(info, argv=secrets.words(info.argv), variables=variables, failed_cells=failed, reason=reason)
