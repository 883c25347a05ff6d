# SPDX-License-Identifier: Apache-2.0
"""What CONTRIBUTING says that adding costs: a slow path its file, a remedy, a launcher and a
metric one entry each, and no page by hand. Each is added to a copy and used there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.copies import built_page, changed, copy_of_sources, python

pytestmark = pytest.mark.needs("minutes")

RULE = '''# SPDX-License-Identifier: Apache-2.0
"""SP999: a rule of a test."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import Observation
from slowpath.findings.slow_path import SlowPath


def observe(facts: Facts) -> Sequence[Observation]:
    """Nothing."""
    return []


SLOW_PATH: SlowPath = SlowPath(
    code="SP999",
    name="added",
    title="A slow path that a test added",
    kind="property",
    summary="It is slow.",
    needs="Nothing.",
    remedy="Take it out.",
    observe=observe,
)
'''
REMEDY = """SIT_DOWN = Remedy("sit down", "Sit down and wait.", ("placement",), _CALL, bind="socket")

BIND_TO_CORES ="""
LAUNCHER = """
[launchers.added-exec]
library = "added"
version_line = "added ([0-9.]+)"
ranks = ["--ranks", "{ranks}"]
bind.core = ["--bind", "core"]
bind.none = ["--bind", "none"]
traps = []
verified = "by a test"
"""
METRIC = """        {
          "name": "put_call_s",
"""
ADDED_METRIC = (
    '        {"name": "added_s", "unit": "s", "pattern": "burst", "better": "lower", "meaning": "what a test added",\n'
    '         "definition": "a sample", "bandwidth": false, "message_rate": false},\n' + METRIC
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, with a rule, a remedy, a launcher and a metric more."""
    copy = copy_of_sources(tmp_path_factory.mktemp("copy"))
    package = copy / "src" / "slowpath"
    family = package / "slowpaths"
    (family / "sp999_added.py").write_text(RULE)
    changed(family / "remedies.py", "BIND_TO_CORES =", REMEDY)
    changed(family / "sp011_binding.py", "remedies=(BIND_TO_CORES,)", "remedies=(SIT_DOWN, BIND_TO_CORES)")
    changed(family / "sp011_binding.py", "    BIND_TO_CORES,\n", "    BIND_TO_CORES,\n    SIT_DOWN,\n")
    with (package / "mpi" / "launchers.toml").open("a") as launchers:
        launchers.write(LAUNCHER)
    changed(copy / "schema" / "engine.json", METRIC, ADDED_METRIC)
    return copy


def page(copy: Path, name: str) -> str:
    return built_page(copy, f"reference/{name}")


def test_a_rule_is_asked_and_has_its_page(copy: Path) -> None:
    assert "A slow path that a test added" in python(copy, "-m", "slowpath.cli", "explain", "SP999")
    assert "A slow path that a test added" in page(copy, "rules.md")


def test_a_remedy_is_proposed_and_listed(copy: Path) -> None:
    ask = "from slowpath.slowpaths.registry import find; print(*(one.name for one in find('SP011').remedies), sep='; ')"
    assert "sit down" in python(copy, "-c", ask)
    assert "\nsit down | " in page(copy, "remedies.md")


def test_a_launcher_is_known_and_listed(copy: Path) -> None:
    ask = (
        "from slowpath.mpi.launchers import command, launcher_named; "
        "print(*command(launcher_named('added-exec'), 'added-exec', 'added', 3, 'core', {}, ['./app'], 8).argv)"
    )
    assert python(copy, "-c", ask).split() == ["added-exec", "--ranks", "3", "--bind", "core", "./app"]
    assert "added-exec" in page(copy, "launching.md")


def test_a_metric_is_known_and_listed(copy: Path) -> None:
    ask = "from slowpath.experiments.registry import METRICS; print(METRICS['added_s'].meaning)"
    assert python(copy, "-c", ask).strip() == "what a test added"
    assert "what a test added" in page(copy, "metrics.md")
