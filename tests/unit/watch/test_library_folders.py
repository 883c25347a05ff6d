# SPDX-License-Identifier: Apache-2.0
"""Where libraries to be preloaded are looked for: next to the engine that the user names, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.engine.cache import Engine, EngineNote
from slowpath.watch.start import library


def test_the_engine_that_the_user_names_comes_first_where_it_is_for_this_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if " " in str(tmp_path):
        tmp_path = Path("/nowhere")
    program = tmp_path / "mine" / "slowpath-engine"
    note = EngineNote("k", "mpich 5.0.2", "mpich", "mpicxx", "c++", "0", "2026-01-31T12:00:00+00:00")
    monkeypatch.setattr(library, "engine_at", lambda path: Engine(path, note))
    monkeypatch.setattr(library, "usable_engines", lambda *_: [])
    monkeypatch.setattr(library, "_ready", lambda _: [])
    environ = {"SLOWPATH_ENGINE": str(program)}
    assert library.library_folders(environ, "mpich 5.0.2") == [program.parent]
    assert library.library_folders(environ, "openmpi 5.0.11") == []
