# SPDX-License-Identifier: Apache-2.0
"""Which commands this user watched: a folder may come from anybody, and must not decide what `slowpath prove` runs.

A list of hashes lies next to the engines, in a folder that nobody else may write; watch.json is only believed where its
command, its working folder and its stdin are on it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import append_at_once
from slowpath.core.owners import make_place, require_place, why_not_trusted
from slowpath.run.engine.cache import VARIABLE, engines_folder
from slowpath.watch.folder import WatchInfo

FILE = "commands"
_FOLDER = "watch"


def remember(info: WatchInfo, environ: Mapping[str, str]) -> None:
    """Put a command on the list; where that can't be written, nothing is: proving it then takes --trust."""
    path = _path(environ)
    with contextlib.suppress(OSError, EnvironmentFailure):
        require_place(path.parent, "commands", VARIABLE, environ)
        make_place(path.parent)
        if not is_known(info, environ):
            append_at_once(path, _hash(info) + "\n")


def is_known(info: WatchInfo, environ: Mapping[str, str]) -> bool:
    """Whether this user watched exactly this command there, and nobody else could have put it on the list."""
    path = _path(environ)
    try:
        require_place(path.parent, "commands", VARIABLE, environ)
        if why_not_trusted(path.stat(), environ) is not None:
            return False
        return _hash(info) in path.read_text(encoding="ascii").split()
    except (OSError, UnicodeError, EnvironmentFailure):
        return False


def _path(environ: Mapping[str, str]) -> Path:
    return engines_folder(environ).parent / _FOLDER / FILE


def _hash(info: WatchInfo) -> str:
    return hashlib.sha256(msgspec.json.encode([info.command, info.working_folder, info.stdin])).hexdigest()
