# SPDX-License-Identifier: Apache-2.0
"""What UCX itself reports of its protocols (UCX_PROTO_INFO=y, UCX 1.15 and later). Pure.

It prints a table for each kind of operation between two ends of a kind, for some kinds as soon as an endpoint is made:
MPICH 5.0.2 on one node has tables of tagged messages and sends none by UCX. So a table shows how UCX would send, and
mpi.message_path whether it does.

    | ucp_context_0 intra-node cfg#1                                      |
    | tagged message by ucp_tag_send* from host memory                    |
    |   Range   |                Description                |   Config    |
    |     0..92 | eager short                               | sysv/memory |
    | 5029..inf | (?) rendezvous zero-copy read from remote | cma/memory  |
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Asks for the tables, into files of their own: two ranks that write to one terminal may cut each other's lines.
VARIABLES = {"UCX_PROTO_INFO": "y"}
LOG_FILE = "UCX_LOG_FILE"
DIRECT_TRANSPORTS = ("cuda_ipc", "rocm_ipc", "ze_ipc")

_SCOPE = re.compile(r"\|\s*\S+ (self|intra-node|inter-node) cfg#\d+[^|]*\|\s*$")
_TITLE = re.compile(r"\|\s*([^|]*\S)\s*\|\s*$")
_ROW = re.compile(r"\|\s*(\d+\w?)(?:\.\.(\w+))?\s*\|([^|]*)\|([^|]*)\|\s*$")
_SCALES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Protocol:
    """One row: from first_bytes to last_bytes (math.inf: any) messages of `operation` go `how` on `transports`.

    scope: self, intra-node or inter-node, as UCX sees the other end.
    """

    scope: str
    operation: str
    first_bytes: float
    last_bytes: float
    how: str
    transports: str

    @property
    def direct(self) -> bool:
        """Whether it moves data straight from GPU memory to GPU memory of another process."""
        return any(name in self.transports for name in DIRECT_TRANSPORTS)


def protocols(text: str) -> list[Protocol]:
    """Return all rows of all tables in `text`, in order; other lines are passed over."""
    found: list[Protocol] = []
    scope, operation = "", ""
    for line in text.splitlines():
        if match := _SCOPE.search(line):
            scope, operation = match[1], ""
        elif scope and (match := _ROW.search(line)):
            first, last = _bytes(match[1]), _bytes(match[2] or match[1])
            how = match[3].replace("(?)", "").strip()
            found.append(Protocol(scope, operation, first, last, how, match[4].strip()))
        elif scope and not operation and (match := _TITLE.search(line)):
            operation = match[1]
    return found


def moving(found: Sequence[Protocol], message_bytes: int) -> list[Protocol]:
    """Return the protocols that carry the data of a message of this length to another process."""
    return [
        protocol
        for protocol in found
        if protocol.scope != "self"
        and protocol.first_bytes <= message_bytes <= protocol.last_bytes
        and protocol.how != "no data fetch"
    ]


def in_words(found: Sequence[Protocol]) -> str | None:
    """Return each way once, `rendezvous zero-copy read from remote on cuda_ipc/cuda`; None where there is none."""
    return "; ".join(dict.fromkeys(f"{protocol.how} on {protocol.transports}" for protocol in found)) or None


def _bytes(text: str) -> float:
    if text == "inf":
        return math.inf
    return int(text[:-1]) * _SCALES[text[-1]] if text[-1] in _SCALES else int(text)
