# SPDX-License-Identifier: Apache-2.0
"""Property tests judge results, never speed, and give the same answer on every run."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
