#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shell completion of slowpath for bash, zsh and fish: python packaging/completion/make.py SHARE

SHARE is the `share` folder of an installation; each file goes where its shell looks. They are made by click from the
commands themselves when the package is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from slowpath.cli.main import slowpath

VARIABLE = "_SLOWPATH_COMPLETE"
PLACES: tuple[tuple[type[ShellComplete], str], ...] = (
    (BashComplete, "bash-completion/completions/slowpath"),
    (ZshComplete, "zsh/site-functions/_slowpath"),
    (FishComplete, "fish/vendor_completions.d/slowpath.fish"),
)


def script(shell: type[ShellComplete]) -> str:
    """The text that this shell sources. It asks the program for the words when a key is pressed."""
    complete = shell(slowpath, {}, "slowpath", VARIABLE)
    # Not source(): for bash it starts one to look at its version, and the shell of this machine may be another one.
    return complete.source_template % complete.source_vars()


def main(arguments: list[str]) -> int:
    """Writes the three files below the folder named first."""
    if len(arguments) != 1:
        print("usage: make.py SHARE: writes the completion of bash, zsh and fish below it", file=sys.stderr)
        return 2
    for shell, place in PLACES:
        path = Path(arguments[0]) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(shell), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
