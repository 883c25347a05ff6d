# SPDX-License-Identifier: Apache-2.0
"""slowpath gate --self-test: how often gates are wrong on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from slowpath.cli.options import Decorator, grouped
from slowpath.cli.values import EFFECT


@dataclass(frozen=True)
class SelfTestOptions:
    """launches: on each side of a gate.  trials: gates of a kind.  slowdown: planted in one cell, relative."""

    self_test: bool
    launches: int
    trials: int
    slowdown: float
    seed: int


def self_test_options(name: str) -> Decorator:
    """The options, as one argument of this name."""
    return grouped(
        name,
        SelfTestOptions,
        click.option(
            "--self-test", is_flag=True, help="How often gates on launches of RUN are wrong; needs no baseline."
        ),
        click.option(
            "--launches",
            type=click.IntRange(3),
            default=8,
            show_default=True,
            help="--self-test: on each side of a gate.",
        ),
        click.option(
            "--trials", type=click.IntRange(1), default=400, show_default=True, help="--self-test: gates of a kind."
        ),
        click.option(
            "--slowdown", type=EFFECT, default="8%", show_default=True, help="--self-test: planted in one cell."
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="--self-test: of the splits."
        ),
    )


def run_self_test(run: Path, options: SelfTestOptions, minimum_effect: float, as_json: bool) -> int:
    """Exit code: 0 both rates meet their goal, 1 one does not."""
    import msgspec

    from slowpath.compare.read import read_source
    from slowpath.compare.self_test import self_test
    from slowpath.compare.self_test_text import render_self_test

    source = read_source(run)
    found = self_test(source, options.launches, options.slowdown, options.trials, minimum_effect, options.seed)
    shown = msgspec.json.format(msgspec.json.encode(found), indent=1).decode() if as_json else render_self_test(found)
    click.echo(shown.rstrip("\n"))
    return 0 if found.met else 1
