# SPDX-License-Identifier: Apache-2.0
"""What is planted: a scene, a faulty set of switches and its remedied twin, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Plant:
    """Words of examples/halo. rules, wait: one of these rules, or this kind of wait, has to name the fault."""

    kind: str
    scene: tuple[str, ...]
    faulty: tuple[str, ...]
    remedied: tuple[str, ...]
    rules: tuple[str, ...] = ()
    wait: str | None = None


def _rows(draw: random.Random, least: int, most: int) -> tuple[str, ...]:
    """Two ranks over each other; the message is one long row."""
    columns = int(2 ** draw.uniform(least, most))
    return ("--grid", "2x1", "--size", f"{draw.choice((1, 2, 4))}x{columns}")


def _pages(draw: random.Random) -> Plant:
    iterations = ("--iterations", str(draw.randint(800, 1600)))
    return Plant("pages", _rows(draw, 17.5, 19.5) + iterations, ("--pages", "small"), ("--pages", "huge"), ("SP008",))


def _fresh(draw: random.Random) -> Plant:
    scene = (*_rows(draw, 17, 19), "--pages", "small", "--iterations", str(draw.randint(300, 600)))
    return Plant("fresh", scene, ("--fresh",), (), ("SP005", "SP006", "SP012"))


def _blocks(draw: random.Random) -> Plant:
    size = f"{int(2 ** draw.uniform(13, 17))}x{draw.choice((2, 4, 8))}"
    scene = ("--grid", "1x2", "--size", size, "--iterations", str(draw.randint(300, 700)))
    return Plant("blocks", scene, ("--blocks", "8"), ("--blocks", "packed"), ("SP015",))


def _window(draw: random.Random) -> Plant:
    scene = (*_rows(draw, 9, 13), "--iterations", str(draw.randint(800, 1600)))
    return Plant("window", scene, ("--window", "each"), ("--window", "once"), ("SP019",))


def _late(draw: random.Random) -> Plant:
    scene = (*_rows(draw, 10, 14), "--iterations", str(draw.randint(300, 600)))
    late = f"{draw.randrange(2)}:{draw.uniform(0.0005, 0.003):.4f}"
    return Plant("late", scene, ("--late", late), (), wait="late sender")


def _flood(draw: random.Random) -> Plant:
    scene = ("--grid", "2x1", "--size", "64x64", "--note-bytes", str(draw.choice((1024, 2048, 4096))))
    notes = str(draw.randint(100, 300))
    scene += ("--iterations", str(draw.randint(200, 400)))
    return Plant("flood", scene, ("--flood", notes), ("--notes", notes), ("SP020",), "unexpected copy")


KINDS: Final[dict[str, Callable[[random.Random], Plant]]] = {
    "pages": _pages,
    "fresh": _fresh,
    "blocks": _blocks,
    "window": _window,
    "late": _late,
    "flood": _flood,
}
