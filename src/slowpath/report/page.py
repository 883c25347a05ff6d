# SPDX-License-Identifier: Apache-2.0
"""Pages as HTML: one template for all of them, its style and script, and the typesetting of numbers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slowpath.core import guard
from slowpath.report import format as fmt
from slowpath.report.draw import SHAPES, Drawing, element, shape_id, style_of, typeset
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


def render(page: Page) -> str:
    """Return a page as one file that needs no network. All text is typeset, except lines to copy."""
    drawing = Drawing()
    return _environment().get_template("page.html.j2").render(
        page=page, draw_rows=drawing.rows, draw_plot=drawing.plot, draw_matrix=drawing.matrix
    )  # fmt: skip


class Verbatim(str):
    """Text that a page shows unchanged: lines to copy, or output of a program."""


def _typeset(value: object) -> object:
    """Clean and typeset plain text; markup is of macros and of draw.py, whose text is typeset already."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return guard.text(value) if isinstance(value, Verbatim) else typeset(value)


@cache
def _environment() -> Environment:
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
                              finalize=_typeset, trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    environment.filters |= {"verbatim": Verbatim, "kind": lambda block: type(block).__name__.lower()}
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
