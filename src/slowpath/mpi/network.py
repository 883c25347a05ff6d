# SPDX-License-Identifier: Apache-2.0
"""Whether this node has a network other than the loopback."""

from __future__ import annotations

from pathlib import Path

ROUTES = (Path("/proc/net/route"), Path("/proc/net/ipv6_route"))


def network_is_up(routes: tuple[Path, Path] = ROUTES) -> bool:
    """Whether some route leads over another interface than lo: UCX takes none of them otherwise.

    True also where the kernel does not report it: then the launch shows it.
    """
    known = [path for path in routes if path.is_file()]
    return not known or any(_leads_out(path, head) for path, head in zip(routes, (1, 0), strict=True) if path in known)


def _leads_out(path: Path, head_lines: int) -> bool:
    rows = [line.split() for line in path.read_text().splitlines()[head_lines:]]
    # The interface is the first word of an IPv4 route and the last one of an IPv6 route.
    names = {row[0] if head_lines else row[-1] for row in rows if row}
    return bool(names - {"lo"})
