# SPDX-License-Identifier: Apache-2.0
"""Recipes ask for what pyproject.toml asks for, pages and completion are those of the program, modulefiles load."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from slowpath import __version__
from slowpath.cli.main import COMMANDS
from slowpath.cli.main import slowpath as program
from watchdog import WATCHDOG_S

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
NEEDED = {
    re.split(r"[><=]", requirement)[0]: requirement.partition(">=")[2]
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
}
SPACK = (PACKAGING / "spack" / "package.py").read_text()
EASYBUILD = next((PACKAGING / "easybuild").glob("*.eb"))
IN_EASYBUILD_BUNDLES = {"click", "jinja2", "platformdirs", "rich", "numpy", "scipy"}


def loaded(folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{folder}_make", PACKAGING / folder / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spack_asks_for_the_same_packages_and_versions() -> None:
    ast.parse(SPACK)
    asked = dict(re.findall(r'depends_on\("(?:py-)?([\w-]+)@([\d.]+):"', SPACK))
    assert {name: asked.get(name) for name in NEEDED} == NEEDED
    assert ("cmake" in NEEDED, "cmake" in asked) == (False, True)  # where engines are compiled alone
    assert f'version("{__version__}")' in SPACK


def test_easybuild_asks_for_the_same_packages() -> None:
    names: dict[str, Any] = {}
    exec(EASYBUILD.read_text(), names)
    given = {word[0].lower() for word in names["dependencies"]} | {word[0] for word in names["exts_list"]}
    assert {*NEEDED, "cmake"} <= given | IN_EASYBUILD_BUNDLES
    assert {"python-bundle-pypi", "scipy-bundle"} <= given
    assert names["version"] == __version__
    assert EASYBUILD.name == f"slowpath-{__version__}-gompi-{names['toolchain']['version']}.eb"


def test_man_pages_hold_every_command_and_option(tmp_path: Path) -> None:
    assert loaded("man").main([str(tmp_path)]) == 0
    assert {f"slowpath-{name}.1" for name, _, _ in COMMANDS} | {"slowpath.1"} <= {p.name for p in tmp_path.iterdir()}
    for name, _, _ in COMMANDS:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        page = (tmp_path / f"slowpath-{name}.1").read_text()
        for option in (parameter for parameter in command.params if isinstance(parameter, click.Option)):
            assert option.opts[-1].replace("-", "\\-") in page, f"{name} {option.opts}"


@pytest.mark.needs("groff")
def test_man_pages_are_sound_roff(tmp_path: Path) -> None:
    loaded("man").main([str(tmp_path)])
    for page in sorted(tmp_path.iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", "-b", str(page)],
            capture_output=True,
            text=True,
            check=False,
            timeout=WATCHDOG_S,
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name
        assert "NAME" in re.sub(".\b", "", done.stdout)  # bold is a letter struck twice


def test_completion_scripts_are_written_where_shells_look(tmp_path: Path) -> None:
    completion = loaded("completion")
    assert completion.main([str(tmp_path)]) == 0
    for _, place in completion.PLACES:
        text = (tmp_path / place).read_text()
        assert "_SLOWPATH_COMPLETE" in text
        assert "slowpath" in text


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    loaded("completion").main([str(tmp_path)])
    script = tmp_path / "bash-completion" / "completions" / "slowpath"
    (tmp_path / "slowpath").write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from slowpath.cli.main import main; main()' \"$@\"\n"
    )
    (tmp_path / "slowpath").chmod(0o755)
    ask = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=(slowpath exp); COMP_CWORD=1; _slowpath_completion slowpath; "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", ask],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=WATCHDOG_S, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "explain", done.stderr


@pytest.mark.needs("tclsh")
def test_the_tcl_modulefile_does_what_it_says() -> None:
    """With the commands of Environment Modules as procedures that print what they are asked."""
    commands = ("module-whatis", "conflict", "prepend-path", "setenv")
    stubs = "\n".join(f"proc {name} args {{ puts [concat {name} $args] }}" for name in commands)
    text = f"{stubs}\nset env(SCRATCH) /scratch/me\n{(PACKAGING / 'modulefiles/slowpath' / __version__).read_text()}"
    environment = {name: value for name, value in os.environ.items() if name != "SLOWPATH_CACHE_DIR"}
    done = subprocess.run(
        ["tclsh"], input=text, env=environment, capture_output=True, text=True, check=True, timeout=WATCHDOG_S
    )
    assert f"prepend-path PATH /opt/slowpath/{__version__}/modulebin" in done.stdout
    assert "setenv SLOWPATH_CACHE_DIR /scratch/me/.cache/slowpath" in done.stdout
    assert done.stderr == ""
