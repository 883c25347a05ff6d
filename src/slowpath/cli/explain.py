# SPDX-License-Identifier: Apache-2.0
"""slowpath explain"""

from __future__ import annotations

import click


@click.command("explain", epilog="Example: slowpath explain SP001")
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Explain a slow path on one screen, or list all slow paths.

    Shows what it is, what to do, and how Slowpath finds and proves it.
    """
    from slowpath.findings.page import table, text_page
    from slowpath.slowpaths.registry import SLOW_PATHS, find

    click.echo(text_page(find(code)) if code else table(SLOW_PATHS))
    return 0
