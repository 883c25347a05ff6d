# SPDX-License-Identifier: Apache-2.0
"""Whether counting came to something."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from slowpath.core.errors import EnvironmentFailure
from slowpath.studies.counting.model import ProcessCount

DONE = 0


def exit_code(counts: Sequence[ProcessCount], function: str, ended: int) -> int:
    """DONE, where something was counted or nothing was called.

    ended: the program's exit code, negative for a signal.
    Raises: EnvironmentFailure: the program failed, no process had the function, or no call could be counted.
    """
    if ended != 0:
        how = f"was ended by {_signal(-ended)}" if ended < 0 else f"ended with exit code {ended}"
        raise EnvironmentFailure(f"the program {how}; what was counted until then is shown")
    if not counts:
        raise EnvironmentFailure(
            f"no process that was started here loads a library with a function {function}: is the name right (Fortran "
            "programs call mpi_put_, C programs MPI_Put), is the program linked statically and stripped, or does the "
            "launcher start it elsewhere or without LD_PRELOAD? Then try: LAUNCHER slowpath count ... -- PROGRAM"
        )
    hopeless = [count for count in counts if not count.counted and (count.troubles or count.calls)]
    if hopeless and not any(count.counted for count in counts):
        raise EnvironmentFailure(f"no call of {function} could be counted; the reasons are shown above")
    return DONE


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
