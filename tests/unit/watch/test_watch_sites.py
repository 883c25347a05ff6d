# SPDX-License-Identifier: Apache-2.0
"""Call sites: from return addresses of a real program to functions, files and lines; and whatever an object may be."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from slowpath.core.errors import RecordError
from slowpath.watch.record import sites as symbols
from slowpath.watch.record.reader import read_rank
from slowpath.watch.record.sites import Maps, Object, SourcePlace, demangled, named_sites
from support.watch_record import Rank

SOURCE = """#include <cstdio>
#include <execinfo.h>
namespace app { struct Halo { void forward(); }; }
__attribute__((noinline)) void app::Halo::forward() {
    void* frames[3];
    int depth = backtrace(frames, 3);
    for (int i = 0; i < depth; ++i) std::printf("frame %p\\n", frames[i]);
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    while (std::fgets(line, sizeof line, maps)) std::fputs(line, stdout);
}
int main() {
    app::Halo halo;
    halo.forward();
    return 0;
}
"""
FORWARD, MAIN = SourcePlace("app::Halo::forward()", "halo.cpp", 6), SourcePlace("main", "halo.cpp", 14)


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
    assert places(compiled / name) == [FORWARD, MAIN]


def test_without_a_table_of_addresses_each_unit_is_asked(compiled: Path, tmp_path: Path) -> None:
    program = tmp_path / "halo"
    subprocess.run(["objcopy", "--remove-section=.debug_aranges", compiled / "pie", program], check=True)
    assert places(program) == [FORWARD, MAIN]


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


def test_when_time_is_up_symbols_are_left(compiled: Path) -> None:
    found = places(compiled / "pie", until=time.monotonic() - 1)
    assert [(place.function, place.line) for place in found] == [("app::Halo::forward()", None), ("main", None)]


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
    named, nowhere, unnamed = named_sites([(record, site), (record, unknown), (record, site)], 2)
    assert (named.path, named.place, named.callers) == (str(compiled / "pie"), FORWARD, ("main",))
    assert (nowhere.path, nowhere.offset, nowhere.place) == ("", 0x10, None)
    assert unnamed.path == named.path


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_what_is_no_object_is_an_error_of_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "app"
    path.write_bytes(content)
    with pytest.raises(RecordError, match="is neither a program nor a library"):
        Object(path)


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
        ("_ZN9CommBrick7forwardEi", "CommBrick::forward(int)"),
        ("__halo_mod_MOD_exchange", "halo_mod::exchange"),
        ("main", "main"),
        ("_Znonsense", "_Znonsense"),
        ("_Z" + "N" * 100_000, ("_Z" + "N" * 100_000)[:4096]),
        ("__pyx_pw_6mpi4py_3MPI_4Comm_77Isend", "mpi4py.MPI.Comm.Isend"),
        ("__pyx_f_6mpi4py_3MPI_bootstrap", "mpi4py.MPI.bootstrap"),
        ("__pyx_f_6mpi4py_3MPI_PyMPI_bcast_p2p.constprop.0", "mpi4py.MPI.PyMPI_bcast_p2p"),
        ("__pyx_pw_99_x", "__pyx_pw_99_x"),
    ],
)
def test_names_are_those_that_people_wrote(symbol: str, name: str) -> None:
    assert demangled(symbol) == name
