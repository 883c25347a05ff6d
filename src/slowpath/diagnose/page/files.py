# SPDX-License-Identifier: Apache-2.0
"""What is derived from diagnosis.json: the text and the page. Both can be deleted and made again."""

from __future__ import annotations

from pathlib import Path

from slowpath.core.files import write_atomically
from slowpath.diagnose.page.html import page
from slowpath.diagnose.page.text import render
from slowpath.diagnose.records import Diagnosis


def write_derived(folder: Path, diagnosis: Diagnosis) -> None:
    """report.txt and report.html.  Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / "report.txt", render(diagnosis, str(folder)))
    write_atomically(folder / "report.html", page(diagnosis))
