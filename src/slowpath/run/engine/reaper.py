# SPDX-License-Identifier: Apache-2.0
"""Nothing of a build outlives us, not even when we are killed by SIGKILL, which no handler sees."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator

from slowpath.mpi.child import Child

# It waits until the pipe on its stdin closes, as that does when whoever holds the other end is gone.
_WATCH = "read never_written || kill -s KILL 0"


@contextlib.contextmanager
def group_that_ends_with_us() -> Iterator[int]:
    """A process group to start programs in; all that is in it afterwards is ended, and so it is if this process dies.

    A shell leads it. PR_SET_PDEATHSIG would reach CMake alone, and not the compilers that make started below it.
    """
    theirs, ours = os.pipe()  # neither is inherited by what is started meanwhile
    try:
        watcher = Child(
            ["/bin/sh", "-c", _WATCH],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        yield watcher.pid
    finally:
        os.killpg(watcher.pid, signal.SIGKILL)  # not waited for yet, so that the number is still its own
        watcher.wait()
        os.close(ours)
