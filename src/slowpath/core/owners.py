# SPDX-License-Identifier: Apache-2.0
"""Whether programs that were put somewhere may be run: who owns them, and who else could have changed them.

A file system only shows who could change a file now. So each part of the way from the folder that Slowpath keeps
engines or MPIs in, down to their files, has to belong to this user, to root or to a user that SLOWPATH_TRUST_OWNERS
names, and nobody else may write there. What lies above that folder is the system's and the user's own matter.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure

VARIABLE = "SLOWPATH_TRUST_OWNERS"
ROOT = 0
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def why_not_trusted(status: os.stat_result, environ: Mapping[str, str]) -> str | None:
    """Why a file or folder with this status could have been changed by somebody else; None: it could not."""
    if status.st_uid not in trusted_owners(environ):
        return f"it belongs to {_user(status.st_uid)}"
    sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)  # entries are their owners' then
    return "everybody can write there" if status.st_mode & stat.S_IWOTH and not sticky else None


def require_place(folder: Path, what: str, elsewhere: str, environ: Mapping[str, str]) -> None:
    """Raise EnvironmentFailure if others could change what is run from `folder`, which need not be there.

    Args: what: is kept there.  elsewhere: the variable that names another place.
    """
    for place in (folder.parent, folder):
        try:
            status = place.stat()
        except OSError:
            continue
        if reason := why_not_trusted(status, environ):
            ours = status.st_uid in trusted_owners(environ)
            mend = f"chmod go-w {place}" if ours else f"if you trust that user, name it in {VARIABLE}"
            raise EnvironmentFailure(
                f"{what} in {place} are not run, because {reason}: {mend}, or use another folder with {elsewhere}"
            )


def make_place(folder: Path) -> None:
    """`folder` and the one that it lies in, where they are missing: nobody else writes there.  Raises: OSError."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for place in (folder.parent, folder):
        place.mkdir(mode=0o755, exist_ok=True)


def shut(path: Path) -> None:
    """Take the right to write from all but the owner.  Raises: OSError."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & WRITABLE_BY_OTHERS:
        path.chmod(mode & ~WRITABLE_BY_OTHERS)


def trusted_owners(environ: Mapping[str, str]) -> frozenset[int]:
    """Numbers of the users whose files are run: this one, root, and those that SLOWPATH_TRUST_OWNERS names."""
    named = (_number(word.strip()) for word in environ.get(VARIABLE, "").split(",") if word.strip())
    return frozenset({os.geteuid(), ROOT, *(number for number in named if number is not None)})


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word)
    try:
        return pwd.getpwnam(word).pw_uid
    except (KeyError, ValueError):
        return None


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"
