# SPDX-License-Identifier: Apache-2.0
"""Where an engine is put together before it is renamed into the cache, so that half of one is never seen.

Whoever works there holds a lock, which the kernel takes back however the work ends: what lies there without one is
from a build that was killed, and the next build removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

LOCK = ".lock"
# Between making the folder and locking it; and without a lock at all, as older versions worked.
_UNLOCKED_S = 60.0
_WITHOUT_LOCK_S = 24 * 3600.0

_LOOK_EVERY_S = 0.5


@contextlib.contextmanager
def one_builder(folder: Path, wait: Callable[[], None], limit_s: float) -> Iterator[None]:
    """Hold the right to build `folder`, which one process has at a time.

    Args: wait: called once, before this process waits for another.  limit_s: how long it waits at most; a build that
          takes longer is not waited for.
    Raises: OSError: the file that is locked can't be made. A file system without locks lets everybody build.
    """
    lock = os.open(folder.parent / f"{folder.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end, said = time.monotonic() + limit_s, False
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not said:
                    wait()
                said = True
                time.sleep(_LOOK_EVERY_S)
            except OSError:
                break
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """An empty folder of ours next to `folder`; it is gone afterwards.  Raises: OSError: it can't be made."""
    parent = folder.parent
    remove_abandoned(parent)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    try:
        lock = os.open(work / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield work
        finally:
            os.close(lock)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Remove workplaces in `parent` that nobody works in any more. Raises nothing."""
    with contextlib.suppress(OSError):
        for path in parent.iterdir():
            if path.name.startswith(".") and path.is_dir() and not path.is_symlink() and _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(work: Path) -> bool:
    try:
        status = work.stat()
        age_s = time.time() - status.st_mtime
        if status.st_uid != os.geteuid() or age_s < _UNLOCKED_S:
            return False
        lock = os.open(work / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return age_s > _WITHOUT_LOCK_S
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
