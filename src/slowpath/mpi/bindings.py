# SPDX-License-Identifier: Apache-2.0
"""What bindings make of one call: mpi4py's lower-case methods pickle an object, and send its length and its bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

# Of mpi4py 4, commimpl.pxi and msgpickle.pxi: `allreduce` of an object is a reduction by messages and a broadcast, each
# of a length and then of the pickled bytes. The methods with a capital letter are one MPI call on a buffer.
_OBJECT_COLLECTIVE: Final = re.compile(r"mpi4py\.MPI\.(?:Comm|Intracomm|Intercomm)\.(allreduce|reduce|bcast)")


def object_collective(functions: Sequence[str]) -> str | None:
    """Return the function of a binding that works on objects and made this call, such as mpi4py.MPI.Comm.allreduce.

    Args: functions: names of the call's function and of its callers, the innermost first.  None: there is no such one.
    """
    return next((name for name in functions if _OBJECT_COLLECTIVE.fullmatch(name)), None)
