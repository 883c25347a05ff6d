# SPDX-License-Identifier: Apache-2.0
"""The command line as users start it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from watchdog import WATCHDOG_S

Slowpath = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def slowpath(tmp_path: Path) -> Slowpath:
    """Runs `slowpath ARGUMENTS` in an empty folder, without a terminal."""

    def call(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "slowpath.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=WATCHDOG_S,
            check=False,
        )

    return call
