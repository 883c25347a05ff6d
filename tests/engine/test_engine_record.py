# SPDX-License-Identifier: Apache-2.0
"""The engine's record against schema/ and docs/: what it writes is what the reader reads, under a real MPI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ranks import Ranks, described, events_in

from slowpath.core.files import data_folder
from slowpath.experiments.measured import fixed_work
from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.record.events import FixedWork, LaunchEvents, read_events
from slowpath.run.engine.cache import Engine


@pytest.fixture
def recorded(ranks: Ranks, tmp_path: Path) -> Callable[..., tuple[BlockIndex, LaunchEvents]]:
    """Runs cells of p2p and reads what they left."""

    def run(*cells: str, number: int = 2) -> tuple[BlockIndex, LaunchEvents]:
        done = ranks.run_plan(tmp_path, [f"p2p {cell}" for cell in cells], ranks=number)
        assert done.returncode == 0, done.stderr
        index, events = scan(tmp_path / "samples.blk"), read_events(tmp_path / "events.jsonl")
        assert not index.notes
        assert not events.notes
        return index, events

    return run


def test_the_writer_lays_out_blocks_as_the_schema_says(engine: Engine) -> None:
    schema = json.loads((data_folder("schema") / "block.json").read_text())
    written = described(engine)["block"]
    assert written["header_bytes"] == schema["header_bytes"]
    assert written["version"] == schema["version"]
    sizes = [(f["name"], f["offset"], np.dtype(f["type"]).itemsize) for f in schema["fields"]]
    assert [(f["name"], f["offset"], f["bytes"]) for f in written["fields"]] == sizes


def test_each_parameter_has_its_role(engine: Engine) -> None:
    """What is no property of what is measured, and what names a thing though it is spelled as a number."""
    roles: dict[str, set[str]] = {"named": set(), "setting": set(), "covariate": set(), "effort": set()}
    for experiment in described(engine)["experiments"]:
        for parameter in experiment["parameters"]:
            named = parameter["type"] in ("choice", "flag")
            roles["named" if named and parameter["role"] == "setting" else parameter["role"]].add(parameter["name"])
    assert roles["effort"] == {
        *("samples", "repetitions", "warmups", "allocations", "messages", "instructions", "validate"),
        *("time_limit_s", "warmup_s", "quiet_wait_s", "uses", "pauses"),
    }
    assert roles["setting"] == {"device", "only", "pairs", "peer", "stride", "threads", "turn"}
    assert roles["covariate"] >= {"message_bytes", "queue", "live_buffers", "n", "puts"}


def test_each_metric_says_what_it_is(engine: Engine) -> None:
    for experiment in described(engine)["experiments"]:
        names = [(metric["pattern"], metric["name"]) for metric in experiment["metrics"]]  # several yield the same
        assert len(set(names)) == len(names)
        for metric in experiment["metrics"]:
            good = metric["name"].endswith(("_per_s", "_named_ratio"))  # rates, and how much of a time has a name
            assert metric["better"] == ("higher" if good else "lower")
            assert metric["meaning"]
            assert metric["definition"]
            assert metric["unit"]


def test_one_way_stores_both_ends_with_their_starts(recorded: Callable) -> None:
    index, _ = recorded("pattern=one_way message_bytes=4096 allocations=3 messages=5")
    for rank in (0, 1):
        for phase, n in (("first", 1), ("steady", 4)):
            chosen = index.select(rank=rank, phase=phase)
            assert [int(index.headers["allocation"][i]) for i in chosen] == [0, 1, 2]
            for i in chosen:
                samples = read(index, int(i))
                assert len(samples.duration_ns) == n
                assert samples.start_ns is not None
                assert (samples.duration_ns > 0).all()
                assert (np.diff(samples.start_ns) > 0).all()
    assert set(index.headers["launch"]) == {7}
    assert index.flag("witness").all()


def test_a_receive_never_ends_before_its_send_began(recorded: Callable) -> None:
    index, _ = recorded("pattern=one_way message_bytes=65536 allocations=2 messages=20")
    for phase in ("first", "steady"):
        pairs = zip(index.select(rank=0, phase=phase), index.select(rank=1, phase=phase), strict=True)
        for sent, got in pairs:
            s, r = read(index, int(sent)), read(index, int(got))
            end = r.start_ns + r.duration_ns + int(index.headers["t0_ns"][got])
            assert (end > s.start_ns + int(index.headers["t0_ns"][sent])).all()


def test_fresh_allocations_are_recorded_with_address_and_pages(recorded: Callable) -> None:
    _, events = recorded(
        "pattern=one_way pages=small:huge message_bytes=4194304 overalloc_bytes=1 offset_bytes=1 allocations=3"
    )
    seen = events.allocations(0)
    assert len(seen) == 6
    for a in seen:
        assert a.address == a.base + 1
        assert a.allocation_bytes == 4194305
        assert a.mpi_memory_kind == "system"
        assert a.pages_observed != "unknown"
    for rank in (0, 1):
        bases: set[int] = set()
        for a in (a for a in seen if a.rank == rank):
            assert a.reused_address == (a.base in bases)
            bases.add(a.base)
    end = events.cell_ends[0]
    assert end.status == "ok"
    assert end.wrong_bytes == 0
    assert end.validated_bytes


def test_a_batch_is_the_least_power_of_two_that_spans_a_hundred_quanta(recorded: Callable) -> None:
    """Judged by the recorded warm-up, as the engine judges it.

    The median of differences of a coarse clock is biased, sums over 100 quanta are not (docs/internals/statistics.md).
    """
    index, events = recorded("pattern=ping_pong message_bytes=8")
    clocks = [rank.clock for rank in events.ranks]
    wanted_ns = max(100 * max(c.quantum_ns for c in clocks), 50 * max(c.overhead_ns for c in clocks))
    single = next(i for i in index.select(phase="warmup", rank=0) if index.headers["batch"][i] == 1)
    times_ns = read(index, int(single)).duration_ns
    later_ns = np.sort(times_ns[len(times_ns) // 2 :])
    undisturbed_ns = max(1.0, later_ns[: (len(later_ns) + 3) // 4].mean())
    (steady,) = index.select(phase="steady", rank=0)
    batch = int(index.headers["batch"][steady])
    assert batch & (batch - 1) == 0
    assert batch * undisturbed_ns >= wanted_ns
    assert batch == 1 or batch // 2 * undisturbed_ns < wanted_ns


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_last_rank_is_the_peer(recorded: Callable, number: int) -> None:
    index, events = recorded("pattern=one_way message_bytes=64", number=number)
    assert set(index.headers["rank"]) == {0, number - 1}
    assert {a.rank for a in events.allocations(0)} == {0, number - 1}
    assert len(events.ranks) == number
    work = fixed_work(events.of(FixedWork))
    assert [event.rank for event in work] == list(range(number))
    for event in work:
        assert np.bincount(event.visit).tolist() == [300, 300]
        assert (np.diff(event.begin_ns) >= event.duration_ns[:-1]).all()


def test_pairs_store_a_series_for_each_sender(recorded: Callable) -> None:
    index, _ = recorded("pattern=windowed pairs=2 in_flight=4 message_bytes=64 samples=10", number=4)
    assert set(index.headers["rank"]) == {0, 1}


def test_a_memory_kind_that_is_not_there_is_a_skip_with_a_reason(
    recorded: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWPATH_CUDA_DRIVER", "libslowpath-no-such-driver.so")
    _, events = recorded("memory=device", "message_bytes=8")
    ends = events.cell_ends
    assert ends[0].status == "skipped"
    assert "no CUDA driver" in (ends[0].reason or "")
    assert ends[1].status == "ok"


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, stubs: dict[str, Path]) -> None:
    for name, library in stubs.items():
        monkeypatch.setenv(name, str(library))
    monkeypatch.setenv("SLOWPATH_STUB_CUDA_DEVICES", "2")


def notes_on_gpus(folder: Path) -> list[dict]:
    return [event for event in events_in(folder) if event["event"] == "note" and "gpu" in event]


GPU_KINDS = {
    "pinned_host": "cuda:host",
    "pinned_registered": "cuda:host",
    "device": "cuda:device",
    "device_pool": "cuda:device",
    "device_vmm": "cuda:device",
    "managed": "cuda:managed",
}


@pytest.mark.usefixtures("two_gpus")
def test_each_gpu_kind_is_recorded_and_carries_the_right_bytes(recorded: Callable, tmp_path: Path) -> None:
    cells = [f"pattern=one_way memory={kind} message_bytes=5000 allocations=2 messages=3" for kind in GPU_KINDS]
    _, events = recorded(*cells)
    for cell, (_kind, mpi_memory_kind) in enumerate(GPU_KINDS.items()):
        end = events.cell_ends[cell]
        assert (end.status, end.wrong_bytes) == ("ok", 0), end.reason
        assert end.validated_bytes
        seen = events.allocations(cell)
        assert {a.mpi_memory_kind for a in seen} == {mpi_memory_kind}
        assert {(a.rank, a.device) for a in seen} == {(0, 0), (1, 1)}, "the devices of a node in turn"
    for line in (event for event in events_in(tmp_path) if event["event"] == "allocation"):
        granule = 2 << 20 if line["memory"] == "device_vmm" else None
        assert line["granularity_bytes"] == granule
        assert line["range_bytes"] == (granule or 5000)
    assert {(n["cell"], n["rank"]) for n in notes_on_gpus(tmp_path)} == {(c, r) for c in range(6) for r in (0, 1)}


@pytest.mark.usefixtures("two_gpus")
def test_a_side_uses_the_device_that_it_was_given(recorded: Callable, tmp_path: Path) -> None:
    _, events = recorded("memory=device device=1:0", "memory=device device=1", "memory=host:device device=1:auto")
    used = [{a.rank: a.device for a in events.allocations(cell)} for cell in range(3)]
    assert used == [{0: 1, 1: 0}, {0: 1, 1: 1}, {0: None, 1: 1}]
    notes = notes_on_gpus(tmp_path)
    assert len(notes) == 5
    first = notes[0]
    assert first["text"] == "rank 0 uses cuda device 1 of 2, Stub device 1, 0000:01:00.0"
    assert first["gpu"] == {
        "driver": "cuda",
        "ordinal": 1,
        "visible": 2,
        "name": "Stub device 1",
        "bus_id": "0000:01:00.0",
        "bytes": 1 << 30,
        "peers": ["0000:00:00.0"],
    }


@pytest.mark.usefixtures("two_gpus")
def test_a_device_that_is_not_there_skips_the_cell(recorded: Callable) -> None:
    _, events = recorded("memory=device device=0:3", "memory=device", "memory=host device=3")
    assert events.cell_ends[0].status == "skipped"
    assert events.cell_ends[0].reason == "device 3: only 2 devices"
    assert [events.cell_ends[cell].status for cell in (1, 2)] == ["ok", "ok"]


@pytest.mark.usefixtures("two_gpus")
def test_without_a_cuda_device_hip_is_used(monkeypatch: pytest.MonkeyPatch, recorded: Callable) -> None:
    monkeypatch.setenv("SLOWPATH_STUB_CUDA_DEVICES", "0")
    monkeypatch.setenv("SLOWPATH_STUB_HIP_DEVICES", "1")
    kinds = ["pinned_host", "pinned_registered", "managed", "device_vmm"]
    _, events = recorded(*(f"memory={kind}" for kind in kinds))
    assert [events.cell_ends[cell].status for cell in range(4)] == ["ok", "ok", "ok", "skipped"]
    seen = [{a.mpi_memory_kind for a in events.allocations(cell)} for cell in range(3)]
    assert seen == [{"rocm:host"}, {"rocm:host"}, {"rocm:managed"}]
    assert events.cell_ends[3].reason == "memory=device_vmm: device_vmm is not implemented for HIP"


def assert_refused(ranks: Ranks, words: list[str], said: str) -> None:
    done = ranks.run_engine(*words)
    lines = [line for line in done.stderr.splitlines() if "slowpath-engine: error:" in line]
    assert len(lines) == 1, done.stderr
    assert said in lines[0]
    assert done.returncode == 2


def test_the_first_wrong_word_ends_the_job_with_one_line(ranks: Ranks) -> None:
    assert_refused(ranks, ["nosuch"], "nosuch")


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["p2p", "--mesage-bytes", "8"], "message_bytes"),
        (["p2p", "--memory", "hots"], "host"),
        (["p2p", "--message-bytes", "1GB"], "GiB"),
        (["p2p", "--message-bytes", "-1"], "-1"),
        (["p2p", "--message-bytes", "1e9"], "1e9"),
        (["p2p", "--message-bytes="], "message_bytes"),
        (["p2p", "--message-bytes", "9223372036854775808"], "2^63"),
        (["p2p", "--message-bytes", "16", "--buffer-bytes", "8"], "16"),
        (["p2p", "--memory", "device", "--pages", "huge"], "pages"),
        (["p2p", "--memory", "pinned_registered", "--pages", "shared"], "pages"),
        (["p2p", "--device", "first"], "device"),
    ],
)
def test_wrong_words_are_named_in_one_line_and_exit_2(ranks: Ranks, words: list[str], said: str) -> None:
    assert_refused(ranks, words, said)
