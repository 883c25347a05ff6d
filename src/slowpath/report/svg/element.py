# SPDX-License-Identifier: Apache-2.0
"""The SVG writer: elements as strings, with every text and attribute escaped."""

from __future__ import annotations

from html import escape

from markupsafe import Markup

from slowpath.core import guard

Attribute = str | float | int | None


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, which keeps the page small."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, content: str = "", /, **attributes: Attribute) -> str:
    """Return an element around `content`, which is markup. `class_` becomes class, `text_anchor` text-anchor."""
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            text = number(value) if isinstance(value, float) else escape(guard.text(str(value)))
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{text}"')
    opened = " ".join(parts)
    return f"<{opened}>{content}</{name}>" if content else f"<{opened}/>"


def text(words: str, x: Attribute, y: Attribute, anchor: str | None = None, class_: str | None = None) -> str:
    """Return a label. `anchor` is start (None), middle or end."""
    return element("text", escape(guard.text(words)), x=x, y=y, text_anchor=anchor, class_=class_)


def picture(
    content: str, title: str, description: str, *, height: int, width: int | None = None, class_: str = ""
) -> Markup:
    """Return a whole picture. Without `width` it is as wide as its box, with x in percent and text in CSS pixels."""
    words = element("title", escape(guard.text(title))) + element("desc", escape(guard.text(description)))
    across = "100%" if width is None else str(width)
    box = None if width is None else f"0 0 {width} {height}"
    return Markup(
        element("svg", words + content, class_=class_ or None, role="img", width=across, height=height, viewBox=box)
    )


def as_file(drawn: Markup) -> str:
    """Return a picture as a file of its own: browsers draw it only with the name space of SVG."""
    return str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"
