# SPDX-License-Identifier: Apache-2.0
"""slowpath campaigns"""

from __future__ import annotations

import click


@click.command("campaigns", epilog="Example: slowpath campaigns checkup > mine.toml; slowpath run mine.toml")
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """List the campaigns that come with Slowpath, or print one.

    A printed campaign is a file to start your own from.
    """
    from slowpath.core.campaign_file import recorded
    from slowpath.run.prepare import campaign_named, shipped_campaigns

    if name is not None:
        click.echo(recorded(campaign_named(name)).decode().rstrip("\n"))
        return 0
    names = shipped_campaigns()
    width = max((len(name) for name in names), default=0)
    for name in names:
        click.echo(f"{name:<{width}}  {campaign_named(name).title}")
    return 0
