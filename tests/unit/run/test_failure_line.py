# SPDX-License-Identifier: Apache-2.0
"""The line that says why, out of real failures."""

from __future__ import annotations

import pytest

from slowpath.run.process import failure_line, signal_in

HYDRA_ABORT = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 7551 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
INTEL_ABORT = """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 0 PID 7570 RUNNING AT vm
=   KILLED BY SIGNAL: 9 (Killed)
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 7571 RUNNING AT vm
=   KILLED BY SIGNAL: 6 (Aborted)
"""
OPEN_MPI_ABORT = """[vm:07560] *** Process received signal ***
[vm:07560] Signal: Aborted (6)
[vm:07560] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f8859e5a050]
[vm:07560] *** End of error message ***
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 7560 on node vm exited on
signal 6 (Aborted).
"""
INTEL_INIT = """Abort(337265551) on node 0 (rank 0 in comm 0): Fatal error in internal_Init: Other MPI error, stack:
internal_Init(43633).........: MPI_Init(argc=0x7ffc, argv=0x7ffc) failed
"""
OPEN_MPI_PREFIX = """--------------------------------------------------------------------------
A prefix was supplied to mpiexec that only contained slashes.

This is a fatal error; mpiexec will now abort.  No processes were launched.
--------------------------------------------------------------------------
"""
ENGINE = "warning: something failed before\nslowpath-engine: error: MPI_Send: truncated (rank 0 of 2 on vm, a.cpp:3)\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (ENGINE, "slowpath-engine: error: MPI_Send"),
        (INTEL_INIT, "Fatal error in internal_Init"),
        (OPEN_MPI_ABORT, "Signal: Aborted (6)"),
        (INTEL_ABORT, "KILLED BY SIGNAL: 6"),
        (OPEN_MPI_PREFIX, "A prefix was supplied to mpiexec that only contained slashes."),
        (HYDRA_ABORT, "EXIT STRING: Terminated"),
        ("x: error while loading shared libraries: libmpi.so.12: cannot open\nmore\n", "loading shared libraries"),
        ("just this\n\n", "just this"),
    ],
)
def test_failure_line(text: str, part: str) -> None:
    assert part in (failure_line(text) or "")


@pytest.mark.parametrize(
    ("code", "text", "name"),
    [
        (-11, "", "SIGSEGV"),
        (139, "", "SIGSEGV"),
        (134, OPEN_MPI_ABORT, "SIGABRT"),
        (255, INTEL_ABORT, "SIGABRT"),
        (15, HYDRA_ABORT, None),
        (1, "", None),
        (4, "", None),
    ],
)
def test_signal(code: int, text: str, name: str | None) -> None:
    assert signal_in(code, text) == name
