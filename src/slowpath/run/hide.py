# SPDX-License-Identifier: Apache-2.0
"""What a launch left behind, without the secrets of the environment that it ran in."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.secrets import BY_NAME, BY_VALUE, KnownSecrets, has_secret_name, is_yes_or_no, looks_secret
from slowpath.record.folder import LaunchInfo
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES, UCX_LOGS

PRINTED = ("stdout", "stderr", "stacks", UCX_LOGS)
MOST_BYTES = 64 * 2**20  # of one file that is held whole


def hide_secrets(folder: Path, secrets: KnownSecrets, found: bool = False) -> None:
    """Rewrite the files of a launch that is over, where they hold a secret; others are not touched.

    Args: found: whoever made the launch; a file above MOST_BYTES is left as it is, since it may be endless.
    Raises: EnvironmentFailure: the disk refuses.
    """
    for path in (path for pattern in PRINTED for path in folder.glob(pattern)):
        _rewrite(path, secrets.text, by_lines=not found)
    for name in (CONTROL_VARIABLES, PERFORMANCE_VARIABLES):
        _rewrite(folder / name, lambda text: secrets.record(_variables(text)))
    _rewrite(folder / "events.jsonl", secrets.record, by_lines=not found)


def without_secrets(info: LaunchInfo, secrets: KnownSecrets) -> LaunchInfo:
    """launch.json's content without them: in words, in values of variables, in reasons."""
    variables = {
        name: f"({BY_NAME})" if has_secret_name(name) and not is_yes_or_no(value) else secrets.words([value])[0]
        for name, value in info.variables.items()
    }
    failed = [msgspec.structs.replace(cell, reason=secrets.text(cell.reason)) for cell in info.failed_cells]
    reason = None if info.reason is None else secrets.text(info.reason)
    return msgspec.structs.replace(
        info, argv=secrets.words(info.argv), variables=variables, failed_cells=failed, reason=reason
    )


def _rewrite(path: Path, clean: Callable[[str], str], by_lines: bool = False) -> None:
    with contextlib.suppress(OSError, RecordError):  # one that is missing or can't be read holds nothing to share
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return
        if status.st_size > MOST_BYTES:
            if by_lines:
                _rewrite_lines(path, clean)
            return
        before = read_bytes(path)
        after = _cleaned(before, clean)
        if after != before:
            write_atomically(path, after)


def _rewrite_lines(path: Path, clean: Callable[[str], str]) -> None:
    """Rewrite a file that is too large to be held whole; a line is searched in pieces of a MiB."""
    part = path.with_name(f".{path.name}.{token_hex(8)}.part")
    try:
        with path.open("rb") as given, part.open("xb") as made:
            while piece := given.readline(2**20):
                made.write(_cleaned(piece, clean))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _cleaned(content: bytes, clean: Callable[[str], str]) -> bytes:
    # surrogateescape: bytes that are no UTF-8 come back as they were.
    return clean(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _variables(text: str) -> str:
    """The library's own variables, of which a secret one has its reason and no value."""
    try:
        found = msgspec.json.decode(text)
        rows = found["variables"]
        hidden = [(row, reason) for row in rows if (reason := _why_hidden(row))]
    except (msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError):
        return text
    for row, reason in hidden:
        row |= {"value": None, "reason": f"not recorded: {reason}"}
    return msgspec.json.encode(found).decode() + "\n" if hidden else text


def _why_hidden(row: Mapping[str, Any]) -> str | None:
    name, value = row["name"], row.get("value")
    if not isinstance(value, str) or not value or is_yes_or_no(value):
        return None
    return BY_NAME if has_secret_name(name) else BY_VALUE if looks_secret(value) else None
