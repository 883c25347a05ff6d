# SPDX-License-Identifier: Apache-2.0
"""The kept corpora of tools/fuzz through every reader in Python, and what tools/fuzz reads of libFuzzer's output.

Those of the engine's readers are CTest's (engine/fuzz). Neither needs clang or Atheris.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import fuzz_corpora
import fuzz_libfuzzer
import pytest
from fuzz_corpora import dictionary, read_corpus, write_corpus
from fuzz_libfuzzer import Fuzzed
from fuzz_target import Target, refused
from fuzz_targets import ENGINE_TARGETS, TARGETS
from fuzz_values import with_hostile

from slowpath.record.imports.log import parse_log

ROOT = Path(__file__).parents[2]
BY_NAME = pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
SLOW = {"watch-job": 10}  # a whole report for each input: these many are enough here


def named(name: str) -> Target:
    return next(target for target in TARGETS if target.name == name)


@BY_NAME
def test_no_reader_breaks_on_its_corpus(target: Target, tmp_path: Path) -> None:
    """Any other exception than a refusal is a defect."""
    inputs = read_corpus(target.name)
    assert inputs, "tools/fuzz --keep makes it"
    for content in inputs[: SLOW.get(target.name)]:
        refused(target, content, tmp_path)


@BY_NAME
def test_seeds_are_accepted(target: Target, tmp_path: Path) -> None:
    """Otherwise no input that is made of them reaches what lies behind the first check."""
    seeds = target.seeds(tmp_path) or read_corpus(target.name)[-1:]
    assert not any(refused(target, seed, tmp_path) for seed in seeds)


def test_there_is_a_corpus_for_each_target_and_all_are_small() -> None:
    names = {path.name.removesuffix(".tar.xz") for path in fuzz_corpora.CORPORA.iterdir()}
    assert names == {*ENGINE_TARGETS, *(target.name for target in TARGETS)}
    assert sum(path.stat().st_size for path in fuzz_corpora.CORPORA.iterdir()) < 2**20


def test_the_engine_has_the_targets_that_are_listed() -> None:
    source = (ROOT / "engine" / "fuzz" / "targets.cpp").read_text()
    assert tuple(re.findall(r'\{"(engine-\w+)"', source)) == ENGINE_TARGETS


def test_a_corpus_is_written_the_same_each_time_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_corpora, "CORPORA", tmp_path)
    assert write_corpus("a", [b"x", b"", b"x"]) == 2
    first = (tmp_path / "a.tar.xz").read_bytes()
    write_corpus("a", [b"", b"x"])
    assert (tmp_path / "a.tar.xz").read_bytes() == first
    assert read_corpus("a") == [b"", b"x"]
    assert read_corpus("b") == []
    monkeypatch.setattr(fuzz_corpora, "LARGEST_BYTES", 1000)
    many = [f"{number:x}{'y' * number}{number * 7919:x}".encode() for number in range(200)]
    assert 1 < write_corpus("c", many) < len(many)
    assert (tmp_path / "c.tar.xz").stat().st_size <= 1000


def test_words_of_inputs_are_in_the_dictionary() -> None:
    text = dictionary([b'{"schema": 1}', b"\xff"])
    assert '"\\x73\\x63\\x68\\x65\\x6d\\x61"\n' in text
    assert all(line.startswith('"\\x') for line in text.splitlines())


SAID = """INFO: Seed: 1
#2\tINITED cov: 12 ft: 15 corp: 1/8b exec/s: 0 rss: 31Mb
#70\tNEW    cov: 14 ft: 18 corp: 2/9b lim: 4 exec/s: 0 rss: 31Mb
"""
BROKEN = """ === Uncaught Python exception: ===
ZeroDivisionError: no x
==1== ERROR: libFuzzer: fuzz target exited
artifact_prefix='w/'; Test unit written to w/crash-1
"""
SLOW_UNIT = """Slowest unit: 15 s:
artifact_prefix='w/'; Test unit written to w/slow-unit-1
"""


def test_libfuzzers_output_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that breaks at first, then has a slow input, which is no crash, and ends by itself."""
    again = tmp_path / "again"
    script = (
        f"import pathlib, sys; again = pathlib.Path({str(again)!r})\n"
        f"sys.stderr.write({SAID!r}); sys.stderr.write({SLOW_UNIT!r} if again.exists() else {BROKEN!r}); again.touch()"
    )
    monkeypatch.setattr(fuzz_libfuzzer, "_command", lambda target, build, options: [sys.executable, "-c", script])
    found = fuzz_libfuzzer.fuzz("hostlist", 60, tmp_path, tmp_path)
    assert found.crashes == [("ZeroDivisionError: no x", "w/crash-1")]
    assert (found.inputs, found.edges_before, found.edges_after) == (140, 12, 14)
    assert [point[1:] for point in found.curve] == [(2, 12, 15), (70, 14, 18), (72, 12, 15), (140, 14, 18)]


def test_the_table_names_what_broke(tmp_path: Path) -> None:
    """tools/fuzz has no suffix, so it is run: without time it fuzzes nothing."""
    words = ["--minutes", "0", "--target", "hostlist", "--out", str(tmp_path)]
    command = [sys.executable, str(ROOT / "tools" / "fuzz"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "hostlist" in done.stdout
    assert done.stdout.endswith("0 inputs, 0 crashes\n")
    assert [one["target"] for one in json.loads((tmp_path / "fuzz.json").read_text())] == ["hostlist"]
    assert (tmp_path / "coverage.csv").read_text() == "target,seconds,inputs,edges,features\n"
    assert Fuzzed("x").crashes == []


def test_a_hostile_value_replaces_one_of_a_document() -> None:
    changed = {with_hostile('{"a": 1, "b": [2, 3]}', random.Random(seed)) for seed in range(50)}
    assert len(changed) > 20


LOG = b"mem_type: host\np2p_size: 8\nDoing MPI_Send/Recv from rank 0 to rank 1, of 8 bytes\n[0:0] time: 0.5\n"
MANY = b"9" * 5000  # int() refuses more than 4300 digits


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("campaign", b"[campaign]\nranks = " + MANY),
        ("log-reproducers", LOG + b"[0:" + MANY + b"] time: 1\n"),
        ("log-reproducers", LOG.replace(b"of 8 bytes", b"of " + MANY + b" bytes")),
        ("log-reproducers", LOG.replace(b"rank 1", b"rank " + MANY)),
    ],
)
def test_numbers_without_end_are_refused(name: str, content: bytes, tmp_path: Path) -> None:
    assert refused(named(name), content, tmp_path)


def test_a_rank_before_a_line_is_no_part_of_its_number(tmp_path: Path) -> None:
    """`srun --label` puts "1: " before a line; in the middle of one it is damage, not a label to be left out."""
    log = parse_log(tmp_path / "log", LOG + b"0: [0:1] time: 0.25\n[0:2] time: 0.01: 234\n")
    assert [time.text for time in log.sections[0].times] == ["0.5", "0.25"]
    assert log.notes == [(6, "[0:2] time: 0.01: 234")]
