# SPDX-License-Identifier: Apache-2.0
"""docs/reference/metrics.md defines every metric that results can hold."""

from __future__ import annotations

import re

import pytest
from docs_pages import built_pages

from slowpath.experiments.experiment import RATES, Metric
from slowpath.experiments.registry import EXPERIMENTS, METRICS, ROLES

PAGE = built_pages()["reference/metrics.md"]


@pytest.mark.parametrize("metric", [*METRICS.values(), *RATES], ids=lambda metric: metric.name)
def test_every_metric_has_its_row(metric: Metric) -> None:
    rows = [line for line in PAGE.splitlines() if re.match(rf"\|? ?\[?`{metric.name}`", line)]
    assert rows
    assert metric.meaning.replace("|", "\\|") in rows[0]


def test_every_pattern_is_named() -> None:
    rows = [(experiment.name, pattern.name) for experiment in EXPERIMENTS for pattern in experiment.patterns]
    assert not [f"`{' '.join(dict.fromkeys(row))}`" for row in rows if f"`{' '.join(dict.fromkeys(row))}`" not in PAGE]


def test_a_name_is_one_metric() -> None:
    for experiment in EXPERIMENTS:
        for metric in (*experiment.metrics, *experiment.counted):
            assert METRICS.get(metric.name, metric) == metric


def test_a_name_of_a_parameter_has_one_role() -> None:
    for experiment in EXPERIMENTS:
        assert {name: ROLES[name] for name in experiment.roles} == dict(experiment.roles)
