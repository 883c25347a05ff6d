# SPDX-License-Identifier: Apache-2.0
"""An installation whose launcher has defaults of the site: a folder of links, and a launcher that reads a file first.

The file is no parameter file of the library and the variable that names it no variable of one, so that nothing of it is
among the user's own settings. What is set already stays, as where a module sets defaults.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

FILE_VARIABLE = "SITE_DEFAULTS"
LAUNCHERS = ("mpiexec", "mpirun")

_LAUNCHER = """#!/bin/sh
# Starts ranks with the site's defaults: NAME=value, a line each, where the user has set nothing.
if [ -r "${{{variable}:-}}" ]; then
    while IFS='=' read -r name value; do
        eval "given=\\${{$name+x}}"
        [ -n "$given" ] || export "$name=$value"
    done <"${variable}"
fi
exec {real} "$@"
"""


def site_prefix(prefix: Path, site: Path) -> Path:
    """Make `site` an installation like `prefix`, and return it.  Raises: OSError: it is there already."""
    site.mkdir(parents=True)
    for entry in prefix.iterdir():
        if entry.name != "bin":
            (site / entry.name).symlink_to(entry)
    (site / "bin").mkdir()
    for entry in (prefix / "bin").iterdir():
        if entry.name not in LAUNCHERS:
            (site / "bin" / entry.name).symlink_to(entry)
    for name in LAUNCHERS:
        real = prefix / "bin" / name
        if real.exists():
            launcher = site / "bin" / name
            launcher.write_text(_LAUNCHER.format(variable=FILE_VARIABLE, real=shlex.quote(str(real))))
            launcher.chmod(0o755)
    return site


def write_defaults(path: Path, variables: Mapping[str, str]) -> Path:
    """Write the file that the launcher reads, and return its path."""
    path.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    return path
