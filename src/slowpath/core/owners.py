# SPDX-License-Identifier: Apache-2.0
"""Whether what lies in a cache may be run: who owns it, and who else could have changed it.

A file system only shows who could change a file now. So each part of the way from the cache's own folder to the files
of an engine has to belong to this user, to root or to a user that SLOWPATH_TRUST_OWNERS names, and nobody else may
write there. What lies above the cache's folder is the system's and the user's own matter.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Mapping

VARIABLE = "SLOWPATH_TRUST_OWNERS"
ROOT = 0


def why_not_trusted(status: os.stat_result, environ: Mapping[str, str]) -> str | None:
    """Why a file or folder with this status could have been changed by somebody else; None: it could not."""
    if status.st_uid not in trusted_owners(environ):
        return f"it belongs to {_user(status.st_uid)}"
    sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)  # entries are their owners' then
    if status.st_mode & stat.S_IWOTH and not sticky:
        return "everybody can write there"
    if status.st_mode & stat.S_IWGRP and not sticky and not is_private_group(status.st_gid, status.st_uid):
        return f"the group {_group(status.st_gid)} can write there"
    return None


def trusted_owners(environ: Mapping[str, str]) -> frozenset[int]:
    """Numbers of the users whose files are run: this one, root, and those that SLOWPATH_TRUST_OWNERS names."""
    named = (_number(word.strip()) for word in environ.get(VARIABLE, "").split(",") if word.strip())
    return frozenset({os.geteuid(), ROOT, *(number for number in named if number is not None)})


def is_private_group(group: int, owner: int) -> bool:
    """Whether a group is its owner's own, as user-private groups are: of the same name, primary, and without others.

    With those, a umask of 002 is usual. The rule is that of USERGROUPS_ENAB in login.defs(5), and of who else is in it.
    """
    try:
        user, members = pwd.getpwuid(owner), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and members.gr_name == user.pw_name and set(members.gr_mem) <= {user.pw_name}


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


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
