# SPDX-License-Identifier: Apache-2.0
"""Writing the folder of the user's MPI library into a prebuilt program, over the room that its run path holds for it.

So it finds that library on every node, as a program that was compiled here does, and no variable has to be set.
"""

from __future__ import annotations

import re
from pathlib import Path

# As engine/CMakeLists.txt links it where SLOWPATH_PORTABLE is on.
ROOM_BEGINS = "/slowpath-mpi-library/"
_ROOM = re.compile(ROOM_BEGINS.encode() + b"x+")


def write_library_folder(program: Path, folder: Path) -> bool:
    """Put `folder` where the room is; False: its path is too long, and nothing was written."""
    content = program.read_bytes()
    found, name = _ROOM.search(content), bytes(folder)
    if found is None:
        return True
    if len(name) > len(found[0]) or b":" in name or b"$" in name:
        return False
    mode = program.stat().st_mode
    program.write_bytes(content[: found.start()] + name.ljust(len(found[0]), b"\0") + content[found.end() :])
    program.chmod(mode)
    return True
