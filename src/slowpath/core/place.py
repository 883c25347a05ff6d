# SPDX-License-Identifier: Apache-2.0
"""The place where ranks run: what was read and tried there, and what is wrong with it. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slowpath.core.limits import LARGEST, Name, Number, Text
from slowpath.core.result import Result, means

_Count = Annotated[int, Meta(ge=0, le=LARGEST)]


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a place gives to ranks. None: it can't be read or tried there.

    copy_errno     errno of copying 8 KiB from one process to another that is neither its parent nor its child, as ranks
                   are; 0: it went.  asked_errno: the same where the other one allowed it (PR_SET_PTRACER); None: no
                   need.  own_errno: the same from a process to itself, which only a seccomp filter refuses.
                   rank_errno: of the first such copy that a watched program's library tried and the kernel refused.
                   apart_errno: between two processes that each have a user namespace of their own
    copy_s         wall time of these copies, with the processes that they need
    ptrace_scope   of Yama.  seccomp: 0 none, 1 strict, 2 a filter.  user_namespaces: how many the ranks have
    shm_bytes, shm_free_bytes   of /dev/shm
    memory_limit_bytes, memory_used_bytes   of the control group that leaves least; None: no limit
    processors     that may be used, as 0-3,8.  online: how many the machine has
    processor_quota  processors' worth of time that the control group grants.  None: no limit
    tried_s        of which `tried` processes spun.  still_s: of it each stood still on average because of the quota
    numa_nodes     of the machine.  numa_balancing: whether the kernel moves pages between them by itself
    virtual        whether this is a virtual machine
    gpu_driver     version
    ranks          of the largest job that was to run there, on all its nodes
    """

    copy_errno: _Count | None = None
    asked_errno: _Count | None = None
    own_errno: _Count | None = None
    apart_errno: _Count | None = None
    rank_errno: _Count | None = None
    copy_s: Number | None = None
    ptrace_scope: _Count | None = None
    seccomp: _Count | None = None
    user_namespaces: _Count = 1
    shm_bytes: _Count | None = None
    shm_free_bytes: _Count | None = None
    memory_limit_bytes: _Count | None = None
    memory_used_bytes: _Count | None = None
    processors: Text | None = None
    online: _Count | None = None
    processor_quota: Number | None = None
    tried: _Count | None = None
    tried_s: Number | None = None
    still_s: Number | None = None
    numa_nodes: _Count | None = None
    numa_balancing: bool | None = None
    virtual: bool | None = None
    gpu_driver: Name | None = None
    ranks: _Count | None = None


CheckName = Literal[
    "single copy",
    "/dev/shm",
    "processor limit",
    "allowed processors",
    "memory limit",
    "NUMA balancing",
    "virtual machine",
    "GPU driver",
]


class PlaceFault(Result, frozen=True, kw_only=True):
    """What is wrong with a place."""

    check: Annotated[CheckName, means("which found it")]
    text: Annotated[Text, means("what is wrong, with its evidence; no full stop")]
    do: Annotated[Text, means("what to do, one sentence without a full stop")]
    is_fault: Annotated[bool, means("it costs every program there; else some, and only the doctor says it")] = True

    @property
    def sentence(self) -> str:
        """The text with a capital and a full stop."""
        return f"{_capital(self.text)}."

    @property
    def action(self) -> str:
        """What to do, with a capital and a full stop."""
        return f"{_capital(self.do)}."


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
