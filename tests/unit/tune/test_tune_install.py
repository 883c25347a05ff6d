# SPDX-License-Identifier: Apache-2.0
"""A tuning installed for a site and taken away: what is written, what is refused, what a stranger's folder can't do."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.core.errors import RecordError, UsageError
from slowpath.diagnose.tune.cells import CellFactor, CollectiveCell, promises, promises_text, read_promises
from slowpath.diagnose.tune.install import MANIFEST, Installation, install, installation, remove
from slowpath.mpi.tuning import Kind, Pick

OPEN_MPI: Any = SimpleNamespace(name="openmpi", version="5.0.11", mpiexec="/opt/bin/mpiexec")
INTEL_MPI: Any = SimpleNamespace(name="intelmpi", version="2021.18", mpiexec="/opt/bin/mpiexec")


def tuned(
    folder: Path, library: str = "openmpi", version: str = "5.0.11", kind: Kind = "algorithm", by: str = "5"
) -> Path:
    """A folder of slowpath tune: bcast of 8 B stays, of 1 KiB and 1 MiB takes another way."""
    folder.mkdir(exist_ok=True)
    pairs = tuple((1e-6, 0.5e-6 * (1 + 0.001 * step)) for step in range(8))
    picks = [Pick("bcast", 2, length, kind, by) for length in (1024, 1048576)]
    factors = [
        CellFactor(CollectiveCell("bcast", 2, 8), pairs),
        *(CellFactor(CollectiveCell("bcast", 2, one.bytes), pairs, one) for one in picks),
    ]
    (folder / "promises.json").write_bytes(promises_text(library, f"{library}-{version}", promises(factors)))
    return folder


def wanted(tmp_path: Path, mpi: Any = OPEN_MPI, preload: Path | None = None, **given: Any) -> Installation:
    """What is to be installed below PREFIX."""
    promised = read_promises(tuned(tmp_path / "tuned", mpi.name, mpi.version, **given))
    return installation(promised, tmp_path / "site", mpi, {}, preload)


def all_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_what_is_installed_is_written_once_and_taken_away_whole(tmp_path: Path) -> None:
    one = wanted(tmp_path)
    new = install(one)
    assert {str(path.relative_to(one.prefix)) for path in new} == set(one.files)
    base = "share/slowpath/tuned/openmpi-5.0.11"
    assert all_files(one.prefix) == {
        *(f"{base}/{name}" for name in ("openmpi-rules.conf", "openmpi-mca-params.conf", "tuning.json")),
        *(f"{base}/{name}" for name in ("environment.sh", "promises.json", MANIFEST)),
        "share/modulefiles/slowpath-tuned/openmpi-5.0.11",
    }
    before = {name: (one.prefix / name).stat().st_mtime_ns for name in one.files}
    assert install(wanted(tmp_path)) == [], "again: nothing is written"
    assert before == {name: (one.prefix / name).stat().st_mtime_ns for name in one.files}
    removed = remove(one.prefix, None)
    assert len(removed.files) == len(one.files)
    assert removed.left == []
    assert list(one.prefix.iterdir()) == [], "no folder is left either"
    with pytest.raises(UsageError, match="no installation of slowpath tune is below"):
        remove(one.prefix, None)


def test_what_is_not_ours_is_not_overwritten_and_not_taken_away(tmp_path: Path) -> None:
    one = wanted(tmp_path)
    module = one.prefix / "share/modulefiles/slowpath-tuned/openmpi-5.0.11"
    module.parent.mkdir(parents=True)
    module.write_text("#%Module1.0 of the site")
    with pytest.raises(UsageError, match="was not made by slowpath tune, or has changed since"):
        install(one)
    assert all_files(one.prefix) == {"share/modulefiles/slowpath-tuned/openmpi-5.0.11"}, "nothing else was written"
    module.unlink()
    install(one)
    one.script.write_text("export MINE=1")
    (one.script.parent / "notes").write_text("of the site")
    with pytest.raises(UsageError, match=r"environment\.sh: was not made by slowpath tune"):
        install(wanted(tmp_path, by="3"))
    removed = remove(one.prefix, None)
    assert removed.left == [one.script]
    assert all_files(one.prefix) == {
        str(path.relative_to(one.prefix)) for path in (one.script, one.script.parent / "notes")
    }
    link = tmp_path / "link"
    link.write_text("of somebody")
    one.script.unlink()
    one.script.symlink_to(link)
    with pytest.raises(UsageError, match="was not made by slowpath tune"):
        install(one)
    assert link.read_text() == "of somebody"


def test_the_script_and_the_module_set_what_the_library_reads(tmp_path: Path) -> None:
    one = wanted(tmp_path)
    install(one)
    rules = f"{one.prefix}/share/slowpath/tuned/openmpi-5.0.11/openmpi-rules.conf"
    command = f". '{one.script}' && printf %s \"$OMPI_MCA_coll_tuned_dynamic_rules_filename\""
    assert subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout == rules
    module = (one.modules / one.module).read_text()
    assert module.startswith("#%Module")
    assert f"setenv OMPI_MCA_coll_tuned_dynamic_rules_filename {{{rules}}}" in module
    parameters = (one.script.parent / "openmpi-mca-params.conf").read_text()
    assert f"coll_tuned_dynamic_rules_filename = {rules}" in parameters
    intel = wanted(tmp_path, INTEL_MPI, by="3")
    install(intel)
    command = f". '{intel.script}' && printf %s \"$I_MPI_ADJUST_BCAST\""
    found = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert found == "3:1024-1048576@2-2"


def test_other_calls_bring_the_library_that_makes_them_and_keep_what_is_preloaded(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("libslowpath-coll.so", "libslowpath-coll-parts.so"):
        (cache / name).write_bytes(name.encode())
    given: Any = {"preload": cache / "libslowpath-coll.so", "kind": "mockup", "by": "scatter+allgather"}
    if " " in str(tmp_path):
        with pytest.raises(UsageError, match="LD_PRELOAD takes no blank"):
            wanted(tmp_path, **given)
        return
    one = wanted(tmp_path, **given)
    install(one)
    library = one.script.parent / "libslowpath-coll.so"
    assert library.read_bytes() == b"libslowpath-coll.so"
    assert (one.script.parent / "libslowpath-coll-parts.so").is_file()
    assert f"prepend-path LD_PRELOAD {{{library}}}" in (one.modules / one.module).read_text()
    text = one.script.read_text()
    assert text.endswith(f'export LD_PRELOAD={library}"${{LD_PRELOAD:+:$LD_PRELOAD}}"\n')
    rows = json.loads((one.script.parent / "tuning.json").read_text())["rows"]
    assert rows == [{"collective": "bcast", "ranks": [2, 2], "bytes": [1024, 1048576], "mockup": "scatter+allgather"}]


def test_a_strangers_manifest_takes_nothing_else_away(tmp_path: Path) -> None:
    one = wanted(tmp_path)
    install(one)
    victim = tmp_path / "victim"
    victim.write_text("")
    manifest = one.script.parent / MANIFEST
    content = json.loads(manifest.read_text())
    for name in ("../victim", f"share/slowpath/tuned/{one.identity}/../../../../../victim", str(victim)):
        content["files"] = {name: [hashlib.sha256(b"").hexdigest()]}
        manifest.write_text(json.dumps(content))
        with pytest.raises(RecordError, match="is no file of an installation"):
            remove(one.prefix, None)
    content["files"], content["folders"] = {}, ["../other"]
    manifest.write_text(json.dumps(content))
    with pytest.raises(RecordError, match="is no folder of an installation"):
        remove(one.prefix, None)
    content["folders"] = []
    content["files"] = {f"share/slowpath/tuned/{one.identity}/notes": [hashlib.sha256(b"").hexdigest()]}
    manifest.write_text(json.dumps(content))
    elsewhere = tmp_path / "elsewhere"
    one.script.parent.rename(elsewhere)
    (elsewhere / "notes").write_text("")
    one.script.parent.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="no installation of slowpath tune"):
        remove(one.prefix, None)
    assert victim.exists()
    assert (elsewhere / "notes").exists()
