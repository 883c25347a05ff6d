# SPDX-License-Identifier: Apache-2.0
"""The documents of tests/support, each made anew for every test, so that a test may change them."""

from __future__ import annotations

import pytest

from slowpath.core.results import Results
from support import checkup, report_studies


@pytest.fixture
def puts() -> Results:
    """Puts under two MPIs."""
    return report_studies.put_results()


@pytest.fixture
def cannon() -> Results:
    """Cannon's algorithm on 2 x 2 ranks."""
    return report_studies.cannon_results()


@pytest.fixture
def results() -> Results:
    """A complete check-up."""
    return checkup.results()


@pytest.fixture
def imported() -> Results:
    """Logs of one launch."""
    return checkup.imported()
