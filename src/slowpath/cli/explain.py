# SPDX-License-Identifier: Apache-2.0
"""slowpath explain"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("explain", epilog="Example: slowpath explain SP001")
@click.argument("code", required=False)
@click.option(
    "--markdown",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every rule's page as Markdown into this folder.",
)
def command(code: str | None, folder: Path | None) -> int:
    """Explain a slow path on one screen, or list all slow paths.

    Shows its symptoms, its cause, how Slowpath detects it, how to fix it, and what can be mistaken for it.
    """
    from slowpath.core.errors import UsageError
    from slowpath.findings.page import markdown_files, table, text_page
    from slowpath.slowpaths.registry import SLOW_PATHS, find

    if folder is not None:
        if code is not None:
            raise UsageError("--markdown writes the pages of all rules: leave the code out")
        _write(folder, markdown_files(SLOW_PATHS))
        click.echo(f"{len(SLOW_PATHS)} rules written to {folder}")
        return 0
    click.echo(text_page(find(code)) if code else table(SLOW_PATHS))
    return 0


def _write(folder: Path, pages: dict[str, str]) -> None:
    from slowpath.core.errors import EnvironmentFailure

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot write {folder}: {error.strerror or error}; free space or name another place"
        ) from error
