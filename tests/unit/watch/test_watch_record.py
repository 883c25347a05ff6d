# SPDX-License-Identifier: Apache-2.0
"""Records of watched ranks: read back as written, torn, cut off, made up."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slowpath
from slowpath.core.errors import RecordError
from slowpath.core.files import data_folder
from slowpath.findings.program_pattern import Code
from slowpath.watch.events import MOST_GATHERED, events_of
from slowpath.watch.folder import RANKS_FOLDER, WatchInfo, is_watch, read_watch, record_files, write_watch
from slowpath.watch.proof import write_proof
from slowpath.watch.record import sites as symbols
from slowpath.watch.record.job import MOST_RANKS, read_job
from slowpath.watch.record.layout import EventKind, Peer, RecordState, watch_layout
from slowpath.watch.record.reader import read_rank
from slowpath.watch.record.sites import Maps, Object, SourcePlace, demangled, named_sites, sampled_code
from slowpath.watch.report.api import Watch
from slowpath.watch.report.write import write_watch as write_derived
from slowpath.watch.start.session import MAGIC
from support.watch_record import Job, Rank
from support.watch_results import a_proof, results


def planted() -> Rank:
    rank = Rank(1, 4)
    rank.allocation(2_000_001)
    site = rank.site(0x401234, 0x401400)
    rank.datatype(800, 1600, blocks=100)
    rank.communicator(77, size=2, rank=0, members=[1, 3])
    rank.send(3, tag=9, start_s=0.1, end_s=0.2, message_bytes=1000, communicator=1, site=site, allocation=0)
    request = rank.irecv(0, start_s=0.3, end_s=0.31, message_bytes=64)
    rank.wait(request, start_s=0.4, end_s=0.5)
    rank.say("map", "00400000-00500000 r-xp 00000000 08:01 17 /opt/app/app")
    return rank


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_record_is_read_back_as_written(tmp_path: Path) -> None:
    record = read_rank(written(tmp_path / "a.watch", planted().content()))
    assert (record.rank, record.size, record.words("host"), record.state) == (1, 4, "node1", RecordState.FINALIZED)
    assert record.notes == ()
    send, post, wait, done = record.events
    assert (send["bytes"], send["peer"], send["tag"], send["communicator"]) == (1000, 3, 9, 1)
    assert send["end_ticks"] - send["start_ticks"] == 100_000_000
    assert [EventKind(int(event["kind"])) for event in (post, wait, done)] == [
        EventKind.RECEIVE | EventKind.POST,
        EventKind.WAIT,
        EventKind.RECEIVE | EventKind.DONE,
    ]
    assert record.call_names == ["MPI_Send", "MPI_Irecv", "MPI_Waitall"]
    assert record.members.tolist() == [1, 3]
    assert record.text == {"map": ("00400000-00500000 r-xp 00000000 08:01 17 /opt/app/app",)}
    assert record.profile["count"].sum() == 3
    assert record.lanes["calls"].tolist() == [3]


def test_calls_that_are_only_counted_take_what_one_takes_so_many_times(tmp_path: Path) -> None:
    rank = Rank(0, 2, header={"local_call_ticks": 12.5})
    rank.send(1, start_s=0.1, end_s=0.2)
    rank.local_row("MPI_Comm_rank", 4_000_000, site=rank.site(0x401234))
    rank.local_row("MPI_Comm_size", 8)
    record = read_rank(written(tmp_path / "a.watch", rank.content()))
    assert dict(zip(record.call_names, record.calls["calls"].tolist(), strict=True)) == {
        "MPI_Send": 1,
        "MPI_Comm_rank": 4_000_000,
        "MPI_Comm_size": 8,
    }
    assert record.profile["ticks"].tolist() == [100_000_000, 50_000_000, 100]
    assert record.lanes["call_ticks"].tolist() == [150_000_100]
    assert record.lanes["calls"].tolist() == [1], "those that the watch timed"


@pytest.mark.parametrize("ticks", [float("nan"), float("inf"), -1.0, 3e38])
def test_a_made_up_time_of_such_calls_is_none(tmp_path: Path, ticks: float) -> None:
    rank = Rank(0, 2, header={"local_call_ticks": ticks})
    rank.local_row("MPI_Comm_rank", 2**30)
    record = read_rank(written(tmp_path / "a.watch", rank.content()))
    assert record.profile["ticks"][0] <= 2**30 * 10**6


def test_names_of_bits_and_numbers_are_those_of_the_schema() -> None:
    schema = json.loads((data_folder("schema") / "watch.json").read_text(encoding="utf-8"))
    kinds = {int(bit): meaning.split(":")[0].split(" ")[0] for bit, meaning in schema["event_kinds"].items()}
    assert set(kinds) == {int(kind) for kind in EventKind}
    renamed = {"one-sided": "one_sided", "probe": "nothing"}
    assert {renamed.get(word, word) for word in kinds.values()} == {(kind.name or "").lower() for kind in EventKind}
    assert {int(state) for state in RecordState} == {int(state) for state in schema["states"]}
    assert {int(peer) for peer in Peer} == {int(peer) for peer in schema["peers"]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a whole record of a watched rank"),
        (b"#!/bin/sh\n" * 1000, "is not a whole record of a watched rank"),
        (b"SPWATCH1" + bytes(100), "is not a whole record of a watched rank"),
        (b"SPWATCH1" + (9).to_bytes(4, "little") + bytes(4096), "newer than 1"),
    ],
)
def test_what_is_no_record_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(RecordError, match=says) as raised:
        read_rank(written(tmp_path / "a.watch", content))
    assert "\n" not in str(raised.value)


def test_a_record_that_was_cut_off_keeps_what_is_whole(tmp_path: Path) -> None:
    rank = Rank(0, 2)
    for i in range(100):
        rank.send(1, start_s=i * 0.01, end_s=i * 0.01 + 0.001)
    content = rank.content()
    section = next(row for row in table_of(content) if row["kind"] == 3)
    cut = int(section["offset"]) + 50 * 64 + 17
    record = read_rank(written(tmp_path / "a.watch", content[:cut]))
    assert record.events.size == 50
    assert any("50 events are damaged or cut off" in note for note in record.notes)


def table_of(content: bytes) -> np.ndarray:
    known = watch_layout()
    return np.frombuffer(content[2048:4096], known.row)


def changed(content: bytes, section: int, **fields: int) -> bytes:
    """The table's first row of this kind with other values."""
    table = table_of(content).copy()
    row = np.flatnonzero(table["kind"] == section)[0]
    for name, value in fields.items():
        table[name][row] = value
    return content[:2048] + table.tobytes() + content[4096:]


@pytest.mark.parametrize(
    "fields",
    [
        {"used": 2**32 - 1},
        {"used": 2**32 - 1, "capacity": 2**32 - 1},
        {"offset": 2**64 - 1},
        {"offset": 0},
        {"element_bytes": 0},
        {"element_bytes": 3},
        {"element_bytes": 2**32 - 1},
    ],
)
@pytest.mark.parametrize("kind", range(1, 10))
def test_a_made_up_table_is_held_to_the_file(tmp_path: Path, kind: int, fields: dict[str, int]) -> None:
    record = read_rank(written(tmp_path / "a.watch", changed(planted().content(), kind, **fields)))
    assert record.notes
    assert record.events.size <= 4


def test_events_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    content = planted().content()
    section = next(row for row in table_of(content) if row["kind"] == 3)
    offset = int(section["offset"])
    events = np.frombuffer(content[offset : offset + 4 * 64], watch_layout().sections["events"].element).copy()
    events["call"][1] = 5000
    events["end_ticks"][2] = events["start_ticks"][2] - 1
    record = read_rank(written(tmp_path / "a.watch", content[:offset] + events.tobytes() + content[offset + 4 * 64 :]))
    assert record.events.size == 2
    assert any("2 events are damaged" in note for note in record.notes)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(st.tuples(st.integers(8, 7000), st.integers(0, 255)), max_size=40), cut=st.integers(0, 7000))
def test_whatever_the_bytes_are(tmp_path: Path, edits: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(planted().content())
    for offset, value in edits:
        content[offset % len(content)] = value
    content[:8] = watch_layout().magic
    path = written(tmp_path / "a.watch", bytes(content[: len(content) - cut % len(content)]))
    with suppress(RecordError):
        record = read_rank(path)
        assert (record.events["call"] < max(record.calls.size, 1)).all()
        assert (record.events["start_ticks"] <= record.events["end_ticks"]).all()


HUGE = 2**31 - 1
INFO = WatchInfo(slowpath="1", command=("./app",), started="2026-11-22T21:00:00+00:00", wall_s=0.5,
                 working_folder="/", host="n", library="l", exit_code=0)  # fmt: skip


def bounded(folder: Path, *ranks: Rank) -> Path:
    """A watch with these records."""
    (folder / "ranks").mkdir(parents=True)
    for number, rank in enumerate(ranks):
        (folder / "ranks" / f"{rank.host}-{4000 + number}.watch").write_bytes(rank.content(0.5))
    write_watch(folder, INFO)
    return folder


def test_a_made_up_rank_in_a_communicator_makes_no_list_of_its_length(tmp_path: Path) -> None:
    """The fuzzer's timeout: each of such communicators took memory and time in proportion to the number."""
    rank = Rank(0, 2)
    for identity, number in ((77, HUGE), (78, 2 * MOST_GATHERED), (79, 1)):
        rank.communicator(identity, size=3, rank=number)
    _, world = events_of(read_job(bounded(tmp_path / "watch", rank)))
    assert set(world.members) & {77, 78, 79} == {79}
    assert list(world.members[79]) == [-1, 0]


def test_a_record_of_more_ranks_than_any_machine_has_is_left_out(tmp_path: Path) -> None:
    job = read_job(bounded(tmp_path / "watch", Rank(0, HUGE), Rank(0, 2)))
    assert job.size == 2
    assert job.notes == (
        f"node1-4000.watch: left out, because it states a world of {HUGE} ranks, more than {MOST_RANKS}",
    )


SOURCE = """#include <cstdio>
#include <execinfo.h>
# 1 "/usr/include/call.h"
template <class T> __attribute__((always_inline)) inline void call(T& halo) { halo.forward(); }
# 3 "halo.cpp"
namespace app { struct Halo { void forward(); __attribute__((always_inline)) void run() { call(*this); } }; }
__attribute__((noinline)) void app::Halo::forward() {
    void* frames[3];
    int depth = backtrace(frames, 3);
    for (int i = 0; i < depth; ++i) std::printf("frame %p\\n", frames[i]);
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    while (std::fgets(line, sizeof line, maps)) std::fputs(line, stdout);
}
int main() {
    app::Halo().run();
}
"""
FORWARD, MAIN = SourcePlace("app::Halo::forward", "halo.cpp", 6), SourcePlace("main", "halo.cpp", 3)


def run(program: Path) -> tuple[list[int], list[str]]:
    """Return addresses and lines of maps."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    frames = [int(line.removeprefix("frame "), 16) for line in lines if line.startswith("frame ")]
    return frames, [line for line in lines if " r-xp " in line]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the program, position-independent and not, in DWARF 4 and 5."""
    folder = tmp_path_factory.mktemp("sites")
    (folder / "halo.cpp").write_text(SOURCE)
    for name, words in {"pie": ["-fPIE", "-pie", "-gdwarf-5"], "fixed": ["-no-pie", "-gdwarf-4"]}.items():
        argv = ["c++", "-g", "-O1", *words, "-Wl,--build-id", "halo.cpp", "-o", name]
        subprocess.run(argv, cwd=folder, check=True)
    return folder


def places(program: Path, until: float | None = None) -> list[SourcePlace]:
    """Of the program's own two frames."""
    frames, lines = run(program)
    maps = Maps.parsed(lines)
    index, offsets = maps.places(np.array(frames[:2], dtype=np.uint64))
    assert {maps.paths[i] for i in index.tolist()} == {str(program)}
    held = Object(program)
    try:
        return held.places(offsets.tolist(), time.monotonic() + 60 if until is None else until)
    finally:
        held.close()


@pytest.mark.parametrize("name", ["pie", "fixed"])
def test_frames_have_functions_files_and_lines(compiled: Path, name: str) -> None:
    assert (found := places(compiled / name)) == [FORWARD, MAIN]
    assert found[1].within == "Halo::run", "not the function that stands before the class"


def test_debug_files_are_found_by_build_id(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, folder = tmp_path / "halo", tmp_path / "debug"
    notes = subprocess.run(["readelf", "-n", compiled / "pie"], check=True, capture_output=True, text=True).stdout
    build_id = notes.split("Build ID: ")[1].split()[0]
    debug = folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", compiled / "pie", debug], check=True)
    subprocess.run(["objcopy", "--strip-all", compiled / "pie", program], check=True)
    assert [place.line for place in places(program)] == [None, None]
    monkeypatch.setattr(symbols, "DEBUG_FOLDERS", (folder,))
    assert places(program) == [FORWARD, MAIN]


def test_what_is_exported_names_no_code_behind_its_end(tmp_path: Path) -> None:
    source, library = tmp_path / "two.c", tmp_path / "libtwo.so"
    source.write_text(
        'asm(".globl bare\\n.type bare, @function\\nbare: nop\\n");\n'
        "static __attribute__((noinline)) void hidden(volatile int* at) { while (*at) ++*at; }\n"
        "void shown(volatile int* at) { hidden(at); hidden(at + 1); }\n"
    )
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    names = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    subprocess.run(["strip", library], check=True)
    begins = {line.split()[2]: int(line.split()[0], 16) for line in names.splitlines() if len(line.split()) == 3}
    held = Object(library)
    offsets = [begins[name] + 1 for name in ("shown", "hidden", "bare")]  # the text is at its own offset in the file
    assert [place.function for place in held.places(offsets, time.monotonic() + 60)] == ["shown", "", ""]
    held.close()
    assert Code("", "", "libtwo.so", None, None).words == "libtwo.so (no symbol: debug symbols may name it)"


def test_sites_of_a_record_are_named(compiled: Path, tmp_path: Path) -> None:
    frames, lines = run(compiled / "pie")
    rank = Rank(0, 1)
    site = rank.site(*frames)
    unknown = rank.site(0x10)
    for line in lines:
        rank.say("map", line)
    path = tmp_path / "a.watch"
    path.write_bytes(rank.content())
    record = read_rank(path)
    named, nowhere = named_sites([(record, site), (record, unknown)])
    assert (named.path, named.place, named.callers) == (str(compiled / "pie"), FORWARD, ("main",))
    assert (nowhere.path, nowhere.offset, nowhere.place) == ("", 0x10, None)


HOOK = """\
#include <stdio.h>
void copy_bytes(void) { printf("%p %p\\n", __builtin_return_address(0), (void *)copy_bytes); }
"""
COPIES = """\
#include <stdio.h>
void copy_bytes(void);
static inline void pack(void) {
    copy_bytes();
}
int main(void) {
    pack();
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;) putchar(c);
    return printf("%p\\n", (void *)main) < 0;
}
"""


@pytest.mark.parametrize("words", [[], ["-fno-plt"], ["-fcf-protection=full", "-Wl,-z,now"]], ids=["plt", "got", "cet"])
def test_where_a_library_function_is_called_and_which_one_are_known(tmp_path: Path, words: list[str]) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("calls are read as x86-64 has them")
    (tmp_path / "hook.c").write_text(HOOK)
    (tmp_path / "copies.c").write_text(COPIES)
    for name, argv in {"libhook.so": ["-shared", "-fPIC", "hook.c"],
                       "copies": ["copies.c", "-L.", "-lhook", f"-Wl,-rpath,{tmp_path}"]}.items():  # fmt: skip
        subprocess.run(["cc", "-g", "-O2", *words, *argv, "-o", name], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "copies"], check=True, capture_output=True, text=True).stdout.splitlines()
    caller, inside = (int(word, 16) for word in said[0].split())
    main = int(said[-1], 16)
    rank = Rank(0, 1)
    for line in said[1:-1]:
        rank.say("map", line)
    rank.address(0.1, inside, main, caller)  # main's begin on the stack is no call
    rank.address(0.2, caller - 1)
    rank.address(0.3, 0x10)
    rank.say("map", "7f00000-7f01000 r-xp 00000000 00:00 0 /site/mpi4py/MPI.so")
    rank.address(0.4, caller - 1, 0x7F00010)
    rank.say("map", "8f00000-8f01000 r-xp 00000000 00:00 0 /site/numpy/math.cpython-312-x86_64-linux-gnu.so")
    rank.address(0.5, 0x8F00010, 0x7F00010)
    path = tmp_path / "a.watch"
    path.write_bytes(rank.content())
    codes, number = sampled_code([read_rank(path)], [np.arange(5)], [np.ones(5, dtype=bool)])
    called, own, nowhere, below, computes = (codes[i] for i in number.tolist())
    assert below.object == "MPI.so"
    assert computes.object.startswith("math."), "what a call of MPI left on the stack does not call it"
    assert called.words == "copy_bytes, called in pack (copies.c:4)"
    assert (own.called, own.function, own.at) == ("", "pack", "copies.c:4")
    assert (nowhere.function, nowhere.object) == ("", "")
    codes, number = sampled_code([read_rank(path)], [np.arange(1)], [np.zeros(1, dtype=bool)])
    assert codes[number[0]].called == "", "within a call of MPI"


def test_a_word_of_a_call_that_is_over_calls_nothing() -> None:
    """A long frame holds what a shorter one left there; of a copy that runs there is no other."""
    row, called = (("libc", 1), ("app", 2), ("app", 3)), {("app", 2): "memset", ("app", 3): "snprintf"}
    assert [symbols._code(row[:count], {}, called).called for count in (2, 3)] == ["memset", "snprintf"]


def test_the_interpreters_own_source_is_no_place() -> None:
    at = ("/usr/lib/libpython3.11.so.1.0", 5)
    code = symbols._code((at,), {at: SourcePlace("_PyEval_EvalFrameDefault", "Python/ceval.c", 5556)}, {})
    assert code.words == "Python's interpreter (libpython3.11.so.1.0)"


def test_a_damaged_object_costs_its_names_alone(compiled: Path, tmp_path: Path) -> None:
    whole = (compiled / "pie").read_bytes()
    program = tmp_path / "halo"
    for cut in range(0, len(whole), len(whole) // 37):
        program.write_bytes(whole[:cut] + os.urandom(64) + whole[cut + 64 :])
        try:
            held = Object(program)
        except RecordError:
            continue
        assert len(held.places([0x1200], time.monotonic() + 5)) == 1
        held.close()
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN9CommBrick7forwardEi", "CommBrick::forward"),
        ("_Z4packIdEvPT_i", "pack"),
        ("_ZNK1AltERKS_", "A::operator<(A const&) const"),
        ("__halo_mod_MOD_exchange", "halo_mod::exchange"),
        ("main", "main"),
        ("_Znonsense", "_Znonsense"),
        ("_Z" + "N" * 100_000, ("_Z" + "N" * 100_000)[:4096]),
        ("__pyx_pw_6mpi4py_3MPI_4Comm_77Isend", "mpi4py.MPI.Comm.Isend"),
        ("__pyx_f_6mpi4py_3MPI_bootstrap", "mpi4py.MPI.bootstrap"),
        ("__pyx_f_6mpi4py_3MPI_PyMPI_bcast_p2p.constprop.0", "mpi4py.MPI.PyMPI_bcast_p2p"),
        ("exchange.isra.0.constprop.2", "exchange"),
        ("exchange.part.0.cold", "exchange"),
        ("__pyx_pw_99_x", "__pyx_pw_99_x"),
    ],
)
def test_names_are_those_that_people_wrote(symbol: str, name: str) -> None:
    assert demangled(symbol) == name


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    """Two ranks: rank 1 waits 5 ms for a message of 1 KiB."""
    job = Job(ranks=2)
    a, b = job.ranks
    a.send(1, tag=7, start_s=0.010, end_s=0.011, message_bytes=1024)
    b.receive(0, tag=7, start_s=0.005, end_s=0.0112, message_bytes=1024)
    job.write(tmp_path / "ranks")
    info = WatchInfo(slowpath="1", command=("a",), started="", working_folder="/", host="n", library="l")
    write_watch(tmp_path, info)
    write_derived(tmp_path, results())
    (tmp_path / "proof-1").mkdir()
    write_proof(tmp_path / "proof-1", a_proof())
    opened = slowpath.open(tmp_path)
    assert isinstance(opened, Watch)
    return opened


def test_results_are_those_of_the_file(watch: Watch) -> None:
    assert watch.results == results()
    assert [proof.remedy for proof in watch.proofs] == ["huge-pages"]


def test_calls_are_arrays(watch: Watch) -> None:
    events = watch.events
    received = events.call == watch.calls.index("MPI_Recv")
    assert events.rank[received].tolist() == [1]
    np.testing.assert_allclose(events.duration_s[received], [0.0062], rtol=1e-6)
    assert [record.rank for record in watch.records] == [0, 1]
    assert int(watch.records[0].profile["count"].sum()) == 1


def test_messages_have_both_sides(watch: Watch) -> None:
    (message,) = watch.messages
    assert (message["source"], message["destination"], message["tag"], message["bytes"]) == (0, 1, 7, 1024)
    assert message["sent_s"] - message["posted_s"] == pytest.approx(0.005)
    assert message["arrived_s"] - message["sent_s"] == pytest.approx(0.0012)


WRITTEN = WatchInfo(
    slowpath="1.0",
    command=("mpiexec", "-n", "4", "./app", "in put"),
    started="2026-01-31T12:00:00+00:00",
    working_folder="/home/user",
    host="node7",
    library="/cache/libslowpath-watch.so",
    variables={"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
    wall_s=41.2,
    exit_code=0,
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    assert not is_watch(tmp_path)
    write_watch(tmp_path, WRITTEN)
    assert is_watch(tmp_path)
    assert read_watch(tmp_path) == WRITTEN


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "cannot be read"),
        (b'{"schema": 2}', "use the slowpath that wrote it"),
        (b'{"schema": 1, "wall_s": -1}', "cannot be read"),
    ],
)
def test_what_can_not_be_read_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "watch.json").write_bytes(content)
    with pytest.raises(RecordError, match=words):
        read_watch(tmp_path)


def test_records_of_the_folder_alone_count(tmp_path: Path) -> None:
    ranks = tmp_path / "watch" / "ranks"
    ranks.mkdir(parents=True)
    (tmp_path / "secret.watch").write_bytes(b"")
    (ranks / "b-2.watch").write_bytes(b"")
    (ranks / "a-1.watch").write_bytes(b"")
    (ranks / "a-1.watch.part").write_bytes(b"")
    (ranks / "c-3.watch").symlink_to(tmp_path / "secret.watch")
    assert [path.name for path in record_files(tmp_path / "watch")] == ["a-1.watch", "b-2.watch"]


def record(folder: Path, name: str, file_bytes: int, kept_bytes: int) -> None:
    """A record of `file_bytes` by its header, of which `kept_bytes` are left."""
    header = MAGIC + struct.pack("<IIQ", 1, 4096, file_bytes)
    ranks = folder / RANKS_FOLDER
    ranks.mkdir(exist_ok=True)
    (ranks / name).write_bytes((header + bytes(file_bytes))[:kept_bytes])


ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "engine" / "watch" / "calls.txt"
LINES = re.findall(r"^(\w+\*?): ([^:\n]*):(.*)$", TABLE.read_text(), re.MULTILINE)
NAMES = [(f"MPI_{name}", family, roles.split()) for family, names, roles in LINES for name in names.split()]
CALLS = {name.removesuffix("+"): (family, roles) for name, family, roles in NAMES}
CALLS |= {f"{name[:-1]}_c": (f"{family}*", roles) for name, family, roles in NAMES if name.endswith("+")}


def names_of(enum: str) -> set[str]:
    """The enumerators in call.hpp."""
    text = (ROOT / "engine" / "watch" / "call.hpp").read_text()
    body = re.search(rf"enum class {enum} [^{{]*{{(.*?)}};", text, re.DOTALL)
    assert body is not None
    return set(re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", body[1]), re.MULTILINE))


def test_the_table_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate-watch", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_all_large_count_forms_are_there() -> None:
    large = {name for name in CALLS if name.endswith("_c")}
    assert len(large) == 159
    assert all(name.removesuffix("_c") in CALLS for name in large)
    assert {name for name, (family, _) in CALLS.items() if family.endswith("*")} - large == {
        "MPI_Psend_init",
        "MPI_Precv_init",
    }


def test_words_fit_and_are_known() -> None:
    families, roles = names_of("Family"), names_of("Role")
    for name, (family, of_words) in CALLS.items():
        assert family.removesuffix("*") in families, name
        assert set(of_words) <= roles, name
        assert len(of_words) <= 16, name
        assert len(name) < 40, "the record has 40 bytes for it"


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("MPI_Send", "send_buffer send_count send_datatype destination send_tag communicator"),
        ("MPI_Recv_c", "receive_buffer receive_count receive_datatype source receive_tag communicator status"),
        ("MPI_Bcast", "send_buffer send_count send_datatype root communicator"),
        ("MPI_Reduce_scatter", "send_buffer receive_buffer receive_counts send_datatype operation communicator"),
        (
            "MPI_Ialltoallw",
            "send_buffer send_counts send_offsets send_datatypes receive_buffer receive_counts receive_offsets"
            " receive_datatypes communicator request",
        ),
        (
            "MPI_Neighbor_alltoallw",  # its offsets are MPI_Aint whatever the form
            "send_buffer send_counts other send_datatypes receive_buffer receive_counts other receive_datatypes"
            " communicator",
        ),
        (
            "MPI_Get",
            "receive_buffer receive_count receive_datatype target target_offset target_count target_datatype window",
        ),
        ("MPI_Waitsome", "request_count requests out_count indices statuses"),
        ("MPI_Testany", "request_count requests index flag status"),
        ("MPI_Pready", "partition request_value"),
        ("MPI_Cancel", "request"),
        ("MPI_Comm_free", "new_communicator"),
        ("MPI_Comm_split", "communicator color key new_communicator"),
        ("MPI_Win_allocate", "bytes other info communicator address new_window"),
        ("MPI_Type_commit", "new_datatype"),
        ("MPI_Mrecv", "receive_buffer receive_count receive_datatype message status"),
    ],
)
def test_roles(name: str, roles: str) -> None:
    assert CALLS[name][1] == roles.split()
