# SPDX-License-Identifier: Apache-2.0
"""The functions of a library, stripped or not."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.studies.counting.names import ElfFunctions

LIBRARY = """
static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(""); return 3 * x; }
int visible(int x) { return hidden(x) + 2; }
"""


@pytest.fixture(scope="module")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A folder with full.so, bare.so, which is stripped, and symbols.debug; the places of both functions."""
    folder = tmp_path_factory.mktemp("stripped")
    (folder / "library.c").write_text(LIBRARY)
    for words in (
        "gcc -O1 -shared -fPIC -Wl,--build-id -o full.so library.c",
        "objcopy --only-keep-debug full.so symbols.debug",
        "strip -o bare.so full.so",
    ):
        subprocess.run(words.split(), cwd=folder, check=True)
    listed = subprocess.run(["nm", "full.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    at = {line.split()[-1]: int(line.split()[0], 16) for line in listed.splitlines() if line[0] == "0"}
    return folder, [at["hidden"], at["visible"]]


def with_link(folder: Path) -> None:
    subprocess.run(["objcopy", "--add-gnu-debuglink=symbols.debug", "bare.so", "x.so"], cwd=folder, check=True)


def with_another_builds_link(folder: Path) -> None:
    with_link(folder)
    (folder / "symbols.debug").write_bytes((folder / "symbols.debug").read_bytes() + b"other")


def with_debug_data(folder: Path) -> None:
    (folder / "symbols.xz").write_bytes(lzma.compress((folder / "symbols.debug").read_bytes()))
    words = "objcopy --add-section .gnu_debugdata=symbols.xz bare.so x.so"
    subprocess.run(words.split(), cwd=folder, check=True)


def with_debuginfod(folder: Path) -> None:
    shutil.copy(folder / "bare.so", folder / "x.so")
    notes = subprocess.run(["readelf", "-n", "x.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    build = notes.partition("Build ID: ")[2].split()[0]
    (folder / "cache" / build).mkdir(parents=True)
    shutil.copy(folder / "symbols.debug", folder / "cache" / build / "debuginfo")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda folder: shutil.copy(folder / "full.so", folder / "x.so"), ["hidden", "visible"]),
        (lambda folder: shutil.copy(folder / "bare.so", folder / "x.so"), ["+0x", "visible"]),
        (with_link, ["hidden", "visible"]),
        (with_another_builds_link, ["+0x", "visible"]),
        (with_debug_data, ["hidden", "visible"]),
        (with_debuginfod, ["hidden", "visible"]),
    ],
)
def test_functions_of_stripped_libraries_have_names(
    stripped: tuple[Path, list[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], object],
    named: list[str],
) -> None:
    folder = tmp_path / "files"
    shutil.copytree(stripped[0], folder)
    make(folder)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(folder / "cache"))
    functions = ElfFunctions(folder / "x.so")
    names = [functions.function_at(address) for address in stripped[1]]
    assert [function[: len(name)] for function, name in zip(names, named, strict=True)] == named
    assert functions.addresses_named("visible") == stripped[1][1:]
    assert not functions.is_chosen_at_load("visible")


def test_what_is_no_program_has_no_functions(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", Path(__file__)):
        functions = ElfFunctions(path)
        assert (functions.function_at(1), functions.addresses_named("f")) == ("?", [])
