# SPDX-License-Identifier: Apache-2.0
"""What is started, with which variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.studies.counting.start import (
    LIBRARY,
    NAMER,
    TRACER,
    Tools,
    Wish,
    command_line,
    find_tools,
    prepare_folder,
    run,
    variables,
)

FOLDER = Path("/counts")
TRAP = Wish("MPI_Put", 8, 2, "trap")
PTRACE = Wish("MPI_Put", 8, 2, "ptrace", most=1000)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    for name in (LIBRARY, TRACER):
        (tmp_path / name).touch()
    return Tools(tmp_path)


def test_trap_preloads_and_leaves_the_command(tools: Tools) -> None:
    assert command_line(TRAP, ["mpiexec", "a"], FOLDER, tools) == ["mpiexec", "a"]
    made = variables(TRAP, FOLDER, tools, {"LD_PRELOAD": "/other.so"})
    assert made["LD_PRELOAD"] == f"{tools.folder / LIBRARY}:/other.so"
    assert made["SLOWPATH_COUNT_CALLS"] == "8"
    assert made["SLOWPATH_COUNT_FOLDER"] == "/counts"
    assert "SLOWPATH_COUNT_MOST" not in made
    assert variables(TRAP, FOLDER, tools, {})["LD_PRELOAD"] == str(tools.folder / LIBRARY)


def test_ptrace_wraps_the_command_and_sets_nothing(tools: Tools) -> None:
    assert variables(PTRACE, FOLDER, tools, {}) == {}
    words = command_line(PTRACE, ["mpiexec", "--calls"], FOLDER, tools)
    assert words[0] == str(tools.folder / TRACER)
    assert words[words.index("--") + 1 :] == ["mpiexec", "--calls"]
    assert words[words.index("--most") + 1] == "1000"


def test_a_tool_that_was_not_built_names_the_other_method(tools: Tools) -> None:
    (tools.folder / LIBRARY).unlink()
    with pytest.raises(EnvironmentFailure, match="--method ptrace"):
        variables(TRAP, FOLDER, tools, {})


def test_a_folder_with_counts_is_refused(tmp_path: Path) -> None:
    made = prepare_folder(tmp_path / "new" / "folder")
    assert made.is_dir()
    (made / "n0-1.jsonl").touch()
    with pytest.raises(UsageError, match="already contains counts"):
        prepare_folder(made)
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFailure, match="can't be made"):
        prepare_folder(tmp_path / "file")


def test_the_program_gets_its_environment_and_its_exit_code_is_told() -> None:
    words = ["/bin/sh", "-c", 'exit "$CODE"']
    assert run(words, {"CODE": "3", "PATH": "/bin"}, output_to_stderr=True) == 3
    assert run(["/bin/sh", "-c", "kill -9 $$"], {"PATH": "/bin"}, output_to_stderr=True) == -9
    with pytest.raises(UsageError, match="no such program"):
        run(["no-such-program"], {"PATH": "/bin"}, output_to_stderr=True)


def test_names_come_from_the_tool(tmp_path: Path) -> None:
    namer = tmp_path / NAMER
    line = """'{"library": "l", "function": "f"}'"""
    namer.write_text(f"#!/bin/sh\nwhile read -r x; do echo {line}; done\n")
    namer.chmod(0o755)
    tools = find_tools(["mpiexec"], {"SLOWPATH_COUNT_TOOLS": str(tmp_path)}, lambda _: None)
    assert tools.name_all([("/a", 1), ("/b\nc", 2)]) == {("/a", 1): ("l", "f")}
    namer.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    with pytest.raises(EnvironmentFailure, match="broken"):
        tools.name_all([("/a", 1)])
