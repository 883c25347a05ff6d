# SPDX-License-Identifier: Apache-2.0
"""Shared parts of all HTML pages: templates, style, scripts, and the typesetting of numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slowpath.core import guard
from slowpath.report import format as fmt
from slowpath.report.svg import marks
from slowpath.report.svg.element import element

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
LEVELS = {
    "slow": ("slower", "Slow"),
    "ok": ("same", "OK"),
    "info": ("info", "Note"),
    "warning": ("undecided", "Warning"),
}
_MICRO = re.compile(r"(?<=[\d\]]) us\b")
_PRE = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
_TIMES = re.compile(r"(?<=\d)x(?=$|[\s.,;:)])")


def render(template: str, folder: Path = HERE, **shown: Any) -> str:
    """Return a page. All text passes `typeset`, except text with the filter `verbatim`.

    Args: template: name of a file in `folder`, or in the templates of this package.
    """
    page = _environment(folder).get_template(template)
    return page.render(style=_inline("style.css"), copy_script=_inline("copy.js"), **shown)


def script(name: str) -> Markup:
    """Return a script of the templates, to embed in a page."""
    return _inline(name)


def style(name: str) -> Markup:
    """Return a style sheet of the templates, to embed in a page."""
    return _inline(name)


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
def _environment(folder: Path) -> Environment:
    loader = FileSystemLoader([TEMPLATES, HERE, folder])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, finalize=typeset,
                       trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    made.filters["verbatim"] = Verbatim
    made.globals.update(badge=badge, levels=LEVELS, missing=fmt.MISSING)
    return made


def badge(verdict: str) -> Markup:
    """Return the marker of a verdict, to place next to its word."""
    d = marks.SHAPES.get(verdict, "M-2-7H2V-3H-2zM-2-1H2V7H-2z")
    path = element("path", d=d, class_=f"mark {verdict}")
    return Markup(element("svg", path, class_="badge", width=16, height=16, viewBox="-8 -8 16 16", aria_hidden="true"))


def embedded_json(text: str) -> Markup:
    """Return JSON that is safe in a script element, where no `</script>` or `<!--` can end or open anything."""
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _inline(name: str) -> Markup:
    lines = (TEMPLATES / name).read_text(encoding="utf-8").splitlines()
    return Markup("\n".join(line.strip() for line in lines if "SPDX" not in line))
