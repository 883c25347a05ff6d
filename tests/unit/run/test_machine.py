# SPDX-License-Identifier: Apache-2.0
"""What machine facts name processors and GPUs by."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.machine import gpu_models, machine_facts, processor_model

ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 9654\n", "AMD EPYC 9654"),
        (ARM, "ARM implementer 0x41 part 0xd4f variant 0x0"),
        (
            "processor\t: 0\ncpu\t\t: POWER10 (architected), altivec supported\n",
            "POWER10 (architected), altivec supported",
        ),
        ("processor\t: 0\n", None),
    ],
)
def test_processors_are_named_on_every_architecture(tmp_path: Path, text: str, said: str | None) -> None:
    """Without a name no two runs are from one kind of machine."""
    (tmp_path / "cpuinfo").write_text(text)
    assert processor_model(tmp_path / "cpuinfo") == said


def test_gpus_are_named_by_their_driver_and_unknown_is_not_none(tmp_path: Path) -> None:
    for number in (0, 1):
        folder = tmp_path / "nvidia" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text("Model: \t\t NVIDIA H200\nIRQ: 16\n")
    nowhere = tmp_path / "nowhere"
    assert gpu_models(tmp_path / "nvidia", nowhere) == ["NVIDIA H200", "NVIDIA H200"]
    assert gpu_models(nowhere, nowhere) == []
    assert gpu_models(nowhere, tmp_path) is None
    assert isinstance(machine_facts({})["gpus"], list | None)
