# SPDX-License-Identifier: Apache-2.0
"""Text from elsewhere (labels, notes, file names, what programs printed) made safe for each kind of output: the one
place. Whatever a terminal, a spreadsheet or a Markdown reader would act on is written so that it is seen instead.

What is escaped: C0 and C1 controls, DEL, marks and overrides of writing direction, invisible and zero-width
characters, line and paragraph separators, tags, and halves of surrogate pairs: as `\\u001b`, as in JSON. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import chain
from typing import Any, ParamSpec, Protocol, TextIO, TypeVar, cast, runtime_checkable

P = ParamSpec("P")
T = TypeVar("T")

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SURROGATES = "\ud800-\udfff"
_STREAM = re.compile(f"[{_UNSEEN}\udc80-\udc9f]")
_TEXT = re.compile(f"[{_UNSEEN}{_SURROGATES}]")
_LINE = re.compile(f"[\t\n{_UNSEEN}{_SURROGATES}]")
# What makes a spreadsheet take a field for a formula, the full-width forms included; a field begins behind these
# separators, too, where the spreadsheet's own is another than the comma.
_FORMULA = re.compile("(^|[;\t\n])(?=\\s*[=+@\uff1d\uff0b\uff0d\uff20-])")
_MARKUP = re.compile(r"[\\`*_\[\]<>|~$]|&(?=[#\w])")
_OF_LINES = ("shell", "modulefile", "code", "output", "log")  # fields that several lines are shown of
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ENTITIES = {"<": "&lt;", ">": "&gt;"}  # also where a reader takes the line for HTML
_BLOCK = re.compile(r"(\d{1,9})([.)](?:\s|$))|[#>+=-]")
_MAIL = re.compile(r"(?<=\S)@(?=\w)")
_LINK = re.compile(r"(?i)\b((?:https?|ftp|mailto|xmpp))(:)|\b(www)(\.)")


def text(words: str) -> str:
    """Return text for plain text and HTML: line feeds and tabs are kept."""
    return words if words.isascii() and words.isprintable() else _TEXT.sub(_seen, words)


def line(words: str) -> str:
    """Return text for a single line: line feeds and tabs are escaped as well."""
    return words if words.isprintable() else _LINE.sub(_seen, words)


def stream(words: str) -> str:
    """For what is written to a terminal or a pipe. Of halves of surrogate pairs, which stand for bytes of file names,
    those that stand for a control are escaped, and others left to the stream's own encoding.
    """
    return words if words.isascii() and words.isprintable() else _STREAM.sub(_seen, words)


@runtime_checkable
class Cleaning(Protocol):
    """A stream that cleans what it is given."""

    uncleaned: TextIO


def drawn_on(to: TextIO) -> TextIO:
    """The stream for a bar, which moves the cursor: what it draws has to be clean already."""
    return to.uncleaned if isinstance(to, Cleaning) else to


def one_line(value: T) -> T:
    """The same struct with each of its strings one line, at any depth: no label can forge a line of its own. Snippets
    and what programs printed stay as they are.
    """
    return cast(T, _one_line(value))


def cleaned(render: Callable[P, str]) -> Callable[P, str]:
    """A renderer of plain text, whose text is clean, and whose structs are as `one_line` makes them."""

    @wraps(render)
    def clean(*args: P.args, **kwargs: P.kwargs) -> str:
        return text(cast(Callable[..., str], render)(*map(_one_line, args), **kwargs))

    return clean


def csv_field(words: str) -> str:
    """A field of a CSV file. What a spreadsheet would take for a formula gets `'` in front; a number does not."""
    field = text(words)
    return field if _is_number(field) else _FORMULA.sub(r"\1'", field)


def markdown(words: str) -> str:
    """One line of Markdown that shows these words: they make no image, link, HTML, code, table cell or heading.

    A comment parts what GitHub would take for a mail address, whose `@` no backslash protects.
    """
    escaped = _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), line(words).strip(" "))
    escaped = _MAIL.sub("@<!-- -->", escaped)
    escaped = _LINK.sub(lambda found: f"{found[1] or found[3]}\\{found[2] or found[4]}", escaped)
    begins = _BLOCK.match(escaped)  # a heading, a quotation, a list
    if begins is None:
        return escaped
    number = begins[1] or ""
    return f"{number}\\{escaped[len(number) :]}"


def shell_assignments(variables: Mapping[str, str]) -> list[str]:
    """`NAME=value` words to stand before a command in a shell, quoted; a name that a shell would read as something
    else is given to `env`.
    """
    if all(_VARIABLE.fullmatch(name) for name in variables):
        return [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return ["env", *(shlex.quote(f"{name}={value}") for name, value in variables.items())]


def _is_number(words: str) -> bool:
    try:
        float(words)
    except ValueError:
        return False
    return words.isascii() and "_" not in words


def _with(value: object, changed: dict[str, object]) -> object:
    from msgspec import structs  # not for the help of a command, which shows no structs

    return structs.replace(cast(Any, value), **changed)


def escape(character: str) -> str:
    r"""Return the character as JSON escapes it: `\u001b`; a pair for what lies above U+FFFF."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def _one_line(value: object) -> object:
    if isinstance(value, str):
        return line(value)
    if fields := getattr(value, "__struct_fields__", ()):
        before = {name: field for name in fields if name not in _OF_LINES and (field := getattr(value, name))}
        after = {name: _one_line(value_text) for name, value_text in before.items()}
        changed = {name: value_text for name, value_text in after.items() if value_text is not before[name]}
        return _with(value, changed) if changed else value
    if isinstance(value, dict):
        flat = [_one_line(item) for pair in value.items() for item in pair]
        same = all(a is b for a, b in zip(flat, chain.from_iterable(value.items()), strict=True))
        return value if same else dict(zip(flat[::2], flat[1::2], strict=True))
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        flat = [_one_line(item) for item in value]
        same = all(a is b for a, b in zip(flat, value, strict=True))
        return value if same else type(value)(flat)
    return value


def _seen(found: re.Match[str]) -> str:
    return escape(found[0])
