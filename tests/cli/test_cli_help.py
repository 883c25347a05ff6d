# SPDX-License-Identifier: Apache-2.0
"""Help is quick, complete and current."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import click
import pytest
from docs_pages import cli_page

from slowpath.cli.main import COMMANDS, GROUPS, STUDIES
from slowpath.cli.main import slowpath as program
from slowpath.core.files import data_folder
from watchdog import WATCHDOG_S

Slowpath = Callable[..., subprocess.CompletedProcess[str]]
# Imported by commands that need them, never for help.
HEAVY = ("numpy", "scipy", "rich", "jinja2", "msgspec", "platformdirs", "tomllib", "subprocess")


def all_commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, help_option_names=["-h", "--help"])
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from all_commands(child, f"{path} {name}")


EVERY = list(all_commands(program, ""))


def imported(*arguments: str) -> set[str]:
    """Top-level modules that a call imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "slowpath.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=True,
    )
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.split(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert "click" in modules
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[path or "slowpath" for path, _ in EVERY])
def test_every_command_explains_itself(path: str, command: click.Command) -> None:
    text = command.get_help(click.Context(command, info_name="x", help_option_names=["-h", "--help"]))
    assert command.help
    assert command.epilog or path.startswith(" engine list")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.name} has no help"
    assert "Usage:" in text


@pytest.mark.parametrize(("name", "module", "summary"), COMMANDS)
def test_summary_is_the_commands_own(name: str, module: str, summary: str) -> None:
    command: click.Command = getattr(importlib.import_module(module), f"{name}_command")
    assert command.name == name
    assert (command.help or "").splitlines()[0] == summary


def test_help_has_headings_by_use_and_begins_with_the_check_up_and_the_studies() -> None:
    text = program.get_help(click.Context(program, info_name="slowpath", terminal_width=100))
    headings = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *(heading for heading, _ in GROUPS)]
    assert headings[1:3] == ["Start", "Studies"]
    assert [name for name, _, _ in GROUPS[0][1]] == ["run", "diagnose", "watch", "doctor"]
    for study, _ in STUDIES:
        assert f"  {study} " in text
        assert (data_folder("campaigns") / f"{study.removeprefix('run ')}.toml").is_file()


def test_an_option_of_several_commands_is_described_once_and_named_by_each() -> None:
    page = cli_page()
    for option in ("--cell-timeout", "--dry-run", "--quiet"):
        texts = {
            path: parameter.help or ""
            for path, command in EVERY
            for parameter in command.params
            if option in parameter.opts and isinstance(parameter, click.Option)
        }
        ((shared, _),) = Counter(texts.values()).most_common(1)
        paths = [path for path, text in texts.items() if text == shared]
        assert len(paths) >= 5
        assert page.count(shared) == 1
        for path in paths:
            (section,) = re.findall(rf"\n## slowpath{path}\n(.*?)\n## ", page, re.DOTALL)
            assert re.search(rf"Of several commands: .*{option}\b", section)


def test_version(slowpath: Slowpath) -> None:
    done = slowpath("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("slowpath, version ")
