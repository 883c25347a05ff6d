# SPDX-License-Identifier: Apache-2.0
"""Real runs on two H200s (docs/results/gpu.md): every later change of statistics and report meets them again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.core.results import ContrastResult, Results

pytestmark = pytest.mark.needs("minutes")

Runs = dict[str, Results]  # by the name of the folder
RUNS = Path(__file__).parents[2] / "data" / "gpu"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("gpu")
    built = {}
    for archive in sorted(RUNS.glob("*.tar.xz")):
        shutil.unpack_archive(archive, folder)
        name = archive.name.removesuffix(".tar.xz")
        built[name] = build_results(folder / name)
    return built


def find(results: Results, group: str, b: str, **parameters: str) -> ContrastResult:
    """The contrast of a group with this b whose cells have these parameters."""
    cells = {cell.cell: cell for cell in results.cells}
    for c in results.contrasts:
        cell = cells[c.b.cell]
        known = {**cell.parameters, "environment": cell.environment}
        if c.group == group and c.b.value == b and all(known[k] == v for k, v in parameters.items()):
            return c
    raise AssertionError(f"no contrast {group}: {b}, {parameters}")


def test_every_cell_was_measured(results: Runs) -> None:
    for name, run in results.items():
        # One was stopped after 29 of 35 launches; MPICH 5.0.1 can't send what it can't export.
        wanted = {"pinned-host": "partial", "gpu-kinds-mpich": "failed"}.get(name, "ok")
        assert wanted in {cell.status for cell in run.cells} <= {"ok", wanted}
        assert run.notes == [] or not any("damaged" in note for note in run.notes)


def test_one_byte_too_many_costs_the_first_message_a_factor(results: Runs) -> None:
    group = "first message, both over-allocated"
    ratios = {}
    for b in ("1 B", "4 KiB", "64 KiB", "1 MiB", "2 MiB"):
        pair = find(results["overalloc"], group, b, message_bytes="1048576")
        ratios[b] = pair.ratio
        if b != "2 MiB":
            assert pair.verdict == "slower"
            assert pair.interval[0] > 4
        else:
            assert pair.verdict != "slower"
    assert ratios["1 B"] > ratios["64 KiB"] > ratios["2 MiB"]


def test_mpich_pays_for_the_whole_allocation_from_1_kib_on(results: Runs) -> None:
    for message_bytes in ("1024", "1048576"):
        group, mpich = "first message, both over-allocated", results["overalloc-mpich"]
        long, pages = (find(mpich, group, b, message_bytes=message_bytes) for b in ("1 B", "64 KiB"))
        assert long.interval[0] > 4
        assert long.ratio > pages.ratio > 4
        assert find(mpich, group, "2 MiB", message_bytes=message_bytes).verdict == "same"


def test_the_padding_library_takes_the_cost_from_the_reproducer(results: Runs) -> None:
    first = [c for c in results["pad-logs"].contrasts if c.group == "over-allocation, the first message"]
    for kind, slower in (("pad-log-1-plain", True), ("pad-log-1-padded", False)):
        verdicts = [c.verdict for c in first if c.b.label.startswith(kind)]
        assert len(verdicts) == 6
        assert ("slower" in verdicts) == slower


def test_the_remainder_decides_the_granule(results: Runs) -> None:
    """512 MiB and a remainder: 4 KiB granules below 64 KiB, 64 KiB granules from there on, 2 MiB from 2 MiB on."""
    ratios = {
        b: find(results["gpu-pages"], "remainder", b).ratio
        for b in ("4 KiB", "8 KiB", "32 KiB", "64 KiB", "128 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB")
    }
    for granule in (("4 KiB", "8 KiB", "32 KiB"), ("64 KiB", "128 KiB", "512 KiB", "1 MiB")):
        assert max(ratios[b] for b in granule) / min(ratios[b] for b in granule) < 1.02
    assert ratios["32 KiB"] > 1.1 * ratios["64 KiB"]
    assert ratios["1 MiB"] > 2 * ratios["2 MiB"]


def test_the_allocation_that_is_mapped_by_the_other_side_is_the_one_that_counts(results: Runs) -> None:
    sender, receiver = "first message, sender over-allocated", "first message, receiver over-allocated"
    fetched = find(results["overalloc"], sender, "1 B:0 B", environment="receiver fetches")
    written = find(results["overalloc"], receiver, "0 B:1 B", environment="sender writes")
    assert fetched.interval[0] > 4
    assert written.interval[0] > 4
    for group, b, environment in (
        (sender, "1 B:0 B", "sender writes"),
        (receiver, "0 B:1 B", "receiver fetches"),
    ):
        assert find(results["overalloc"], group, b, environment=environment).ratio < 1.5


def test_single_copy_loses_at_128_mib_and_wins_at_1_mib(results: Runs) -> None:
    for size, faster in ((1 << 27, True), (1 << 20, False)):
        pair = find(
            results["pinned-host"], "single copy", "no single copy", message_bytes=str(size), memory="pinned_host"
        )
        assert (pair.interval[1] < 0.9) if faster else (pair.interval[0] > 1.1)


def test_padding_is_promised_what_padded_lengths_take(results: Runs) -> None:
    run = results["overalloc-devices"]
    # Between the GPUs 64 KiB more are 1.6 times as fast as 1 B more, which no padding to 2 MiB gives.
    assert find(run, "padding, by devices", "64 KiB", device="0:1").verdict == "faster"
    (advised,) = (finding for finding in run.findings if finding.rule == "SP001")
    assert "within one GPU" in advised.where
