# SPDX-License-Identifier: Apache-2.0
"""The user's own settings: what reaches the MPI in use, and what is another library's."""

from __future__ import annotations

import os
from collections.abc import Sequence

from slowpath.core.errors import SlowpathError
from slowpath.doctor.check import Check
from slowpath.mpi.find import find_mpi
from slowpath.mpi.ignored import why_ignored
from slowpath.mpi.own_settings import OwnSetting
from slowpath.mpi.parameter_files import settings_of

NAME = "own settings"


def own_settings() -> Check:
    """Variables and lines of parameter files."""
    try:
        mpi = find_mpi(None)
    except SlowpathError as error:
        return Check(NAME, None, "missing", str(error))
    return judged(settings_of(mpi, os.environ), mpi.name)


def judged(settings: Sequence[OwnSetting], library: str) -> Check:
    """What is said of these settings under this library."""
    reported = [setting for setting in settings if setting.left_in is None]
    if not reported:
        return Check(NAME, "none", "ok", "no variable or parameter file of yours reaches the MPI library")
    ignored = [
        f"{setting.name}: {why}" for setting in reported if (why := why_ignored(setting, library, {}, {})) is not None
    ]
    value = ", ".join(setting.words for setting in reported)
    if ignored:
        return Check(NAME, value, "warn", "; ".join(ignored), "unset them, or name the library that reads them: --mpi")
    return Check(NAME, value, "ok", "slowpath diagnose compares your environment with one without them")
