# SPDX-License-Identifier: Apache-2.0
"""Pages as HTML: one template for all of them, its style and script, and the typesetting of numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slowpath.core import guard
from slowpath.report import format as fmt
from slowpath.report.draw import SHAPES, Drawing, element, shape_id, style_of
from slowpath.report.figure import Page, Quantity, Shown

PAGE_BYTES = 940_000
FEWER = (80, 40, 20, 8)  # cells that a page shows at most: the first with which it is no larger than it may be
LEVELS = {
    "slow": ("slower", "Slow"),
    "ok": ("same", "OK"),
    "info": ("info", "Note"),
    "warning": ("undecided", "Warning"),
}
_TEMPLATES = Path(__file__).parent / "templates"
_MICRO = re.compile(r"(?<=[\d\]]) us\b")
_PRE = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
_TIMES = re.compile(r"(?<=\d)x(?=$|[\s.,;:)])")


def render(page: Page) -> str:
    """Return a page as one file that needs no network. All text passes `typeset`, except lines to copy."""
    drawing = Drawing()
    return _environment().get_template("page.html.j2").render(
        page=page, draw_rows=drawing.rows, draw_plot=drawing.plot, draw_matrix=drawing.matrix
    )  # fmt: skip


class Verbatim(str):
    """Text that a page shows unchanged: lines to copy, or output of a program."""


def typeset(value: object) -> object:
    """Replace `us` and `x` in plain text by `µs` and `×`.

    Macros pass their output once more when they are called. `pre` elements in that output stay unchanged.
    """
    if isinstance(value, Markup):
        return Markup("".join(part if part.startswith("<pre") else _set(part) for part in _PRE.split(value)))
    if not isinstance(value, str):
        return value
    return guard.text(value) if isinstance(value, Verbatim) else _set(guard.text(value))


def _set(text: str) -> str:
    return _TIMES.sub("×", _MICRO.sub(" µs", text))


@cache
def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
                              finalize=typeset, trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    environment.filters["verbatim"] = Verbatim
    shapes = "".join(element("path", d=path, id=shape_id(name)) for name, path in SHAPES.items())
    environment.globals.update(
        badge=badge, cell=_cell, missing=fmt.MISSING, style=_inline("style.css"), copy_script=_inline("copy.js"),
        shapes=Markup(shapes), style_of=style_of,
    )  # fmt: skip
    return environment


def badge(style: str) -> Markup:
    """Return the marker of a verdict or the key of a style, to place next to its word."""
    if style in SHAPES:
        mark = element(
            "use", href=f"#{shape_id(style)}", class_=f"mark {'point ' if style[1:].isdigit() else ''}{style}"
        )
    else:
        mark = element("path", d="M-7-5H7V5H-7z", class_=style)
    return Markup(element("svg", mark, class_="badge", width=16, height=16, viewBox="-8 -8 16 16", aria_hidden="true"))


def _cell(value: str | Quantity | Shown) -> tuple[str, str, float | None]:
    """Return words, note and share of a table's cell."""
    if isinstance(value, str):
        return value, "", None
    return value.text, value.note, value.share if isinstance(value, Shown) else None


@cache
def _inline(name: str) -> Markup:
    lines = (_TEMPLATES / name).read_text(encoding="utf-8").splitlines()
    return Markup("\n".join(line.strip() for line in lines if "SPDX" not in line))
