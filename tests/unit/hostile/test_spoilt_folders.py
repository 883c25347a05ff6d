# SPDX-License-Identifier: Apache-2.0
"""What fuzzing found: folders that ended a command by a traceback, or never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowpath.core.secrets import KnownSecrets
from slowpath.findings.sweeps import _allocation
from slowpath.run.hide import MOST_BYTES, hide_secrets

SECRETS = KnownSecrets({"SLURM_JWT": "a-secret-of-mine"})


@pytest.mark.parametrize("name", ["allocation_bytes", "overalloc_bytes", "pad_to_bytes"])
@pytest.mark.parametrize("value", ["", "/", "1e9", "first", "\u00b2", "\u0663", "9" * 5000, "a\r\nb"])
def test_a_length_that_is_no_number_is_no_length(name: str, value: str) -> None:
    assert _allocation({"allocation_bytes": "4096", "overalloc_bytes": "1", name: value}) is None


def test_allocations_as_the_engine_makes_them() -> None:
    assert _allocation({"allocation_bytes": "message", "message_bytes": "100", "pad_to_bytes": "4096"}) == 4096
    assert _allocation({"buffer_bytes": "100", "overalloc_bytes": "1"}) == 101


def test_output_that_was_found_is_cleaned_up_to_a_size(tmp_path: Path) -> None:
    large, small = tmp_path / "stdout", tmp_path / "stderr"
    large.write_bytes(b"a-secret-of-mine")
    os.truncate(large, MOST_BYTES + 1)
    small.write_text("x a-secret-of-mine y")
    hide_secrets(tmp_path, SECRETS, found=True)
    assert "a-secret-of-mine" not in small.read_text()
    assert large.stat().st_size == MOST_BYTES + 1


def test_output_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "mine", tmp_path / "launch"
    elsewhere.write_text("a-secret-of-mine")
    folder.mkdir()
    (folder / "stderr").symlink_to(elsewhere)
    (folder / "control_variables.json").write_text("[" * 100_000)
    hide_secrets(folder, SECRETS)
    assert (folder / "stderr").is_symlink()
    assert elsewhere.read_text() == "a-secret-of-mine"
