# SPDX-License-Identifier: Apache-2.0
"""Run a command under a seccomp filter that refuses process_vm_readv and process_vm_writev, as containers do.

Usage: python no_single_copy.py COMMAND...
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
REFUSED = {"x86_64": (310, 311), "aarch64": (270, 271), "ppc64le": (351, 352)}


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse() -> None:
    """Install the filter for this process and what it starts.  Raises: OSError: the kernel has no seccomp."""
    first, second = REFUSED[platform.machine()]
    rows = [
        (LOAD, 0, 0, 0),  # the number of the call
        (EQUAL, 1, 0, first),
        (EQUAL, 0, 1, second),
        (RETURN, 0, 0, ERRNO | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *row) for row in rows)
    library = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(rows), code)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0)):
        if library.prctl(*call) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
