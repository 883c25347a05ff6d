# SPDX-License-Identifier: Apache-2.0
"""What protects a user: no secret of an environment in a record, and no control character on a terminal. Pure.

Secrets are known by the name of their variable or option, and by shapes that issuers document: JSON Web Tokens
(RFC 7519), PEM (RFC 7468), munge(1), addresses with a password (RFC 3986, 3.2.1), tokens with a prefix of their issuer.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TextIO

P = ParamSpec("P")

HIDDEN = "(not recorded)"
BY_NAME = "its name says that it is a secret"
BY_VALUE = "its value looks like a secret"
SHORTEST = 8  # characters of a value that is looked for in texts: a shorter one may be any word

# RDMA's keys (PKEY, RKEY, LKEY, MKEY) are numbers without worth elsewhere.
_SECRET_NAME = re.compile(
    r"PASSW|PASSPHRASE|PASSCODE|(?<!BY)PASS(?![A-Z])|SECRET|TOKEN|CREDENTIAL|COOKIE|JWT|BEARER|PRIVATE|SIGNATURE"
    r"|AUTH(?!OR)|(?<![_-][PRLM])(?<!^[PRLM])KEYS?(?![A-Z])"
)
_YES_NO = re.compile(r"[01]|y|n|yes|no|on|off|true|false|enabled?|disabled?", re.IGNORECASE)
_CREDENTIAL = re.compile(
    r"-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|\Z)"
    r"|\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}"  # JSON Web Token
    r"|\bMUNGE:[A-Za-z0-9+/=]{8,}:?"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|hf_|npm_|pypi-|dckr_pat_|shpat_)[\w-]{10,}"
    r"|\bsk-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[A-Za-z0-9+/=]{8,}"
    r"|(?<=://)[^\s/@:'\"]{0,256}:[^\s/@'\"]{1,256}(?=@)"
)
# C0 and C1 controls, DEL, marks of direction, invisible characters, separators of lines: escaped as in JSON.
_UNSEEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_TEXT = re.compile(f"[{_UNSEEN}\ud800-\udfff]")
_LINE = re.compile(f"[\t\n{_UNSEEN}\ud800-\udfff]")


def why_secret(name: str, value: str) -> str | None:
    """Return why the value of a variable or option is not recorded, or None if nothing says that it is a secret."""
    if _SECRET_NAME.search(name.upper()) and not _YES_NO.fullmatch(value):
        return BY_NAME
    return BY_VALUE if _CREDENTIAL.search(value) else None


def clean_text(words: str) -> str:
    """Return a text without what has the shape of a credential."""
    return _CREDENTIAL.sub(HIDDEN, words)


def clean_words(words: Sequence[str]) -> list[str]:
    """Return a command line without values of options and variables with a secret name, and without credentials."""
    cleaned: list[str] = []
    named = ""  # the option or variable whose value is the next word
    for before, word in zip(["", *words], words, strict=False):
        name, equals, value = word.partition("=")
        if named and not word.startswith("-") and why_secret(named, word):
            word = HIDDEN
        elif equals and why_secret(name, value) == BY_NAME:
            word = f"{name}={HIDDEN}"
        cleaned.append(clean_text(word))
        takes_value = word.startswith("-") or re.fullmatch(r"--?(?:g?env|[a-z]*mca)", before) is not None
        named = word if takes_value and not equals else ""
    return cleaned


class KnownSecrets:
    """The secrets of an environment, taken out of what programs print: a launcher may print all its variables.

    Paths are none: a file of keys is secret, its place is not, and commands need it. Nor are numbers, which JSON has.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        given = {value.strip() for name, value in environ.items() if why_secret(name, value.strip())}
        given |= {line.strip() for value in given for line in value.splitlines()}
        known = [v for v in given if len(v) >= SHORTEST and not v.startswith(("/", "~", ".")) and not v.isdigit()]
        forms = sorted({form for value in known for form in (value, json.dumps(value)[1:-1])}, key=len, reverse=True)
        whole = (rf"(?<!\w){re.escape(form)}(?!\w)" if form.isalnum() else re.escape(form) for form in forms)
        self._values = re.compile("|".join(whole)) if forms else None

    def text(self, words: str) -> str:
        """Return a text without these values and without credentials."""
        return clean_text(self._values.sub(HIDDEN, words) if self._values else words)

    def words(self, words: Sequence[str]) -> list[str]:
        """Return a command line without them."""
        return clean_words([self.text(word) for word in words])


def text(words: str) -> str:
    """Return text whose control characters are escaped; line feeds and tabs are kept."""
    return words if words.isascii() and words.isprintable() else _TEXT.sub(_escaped, words)


def line(words: str) -> str:
    """Return text for a single line: line feeds and tabs are escaped as well."""
    return words if words.isprintable() else _LINE.sub(_escaped, words)


def cleaned(render: Callable[P, str]) -> Callable[P, str]:
    """Return a renderer of plain text whose text is clean."""

    @wraps(render)
    def clean(*args: P.args, **kwargs: P.kwargs) -> str:
        return text(render(*args, **kwargs))

    return clean


def drawn_on(to: TextIO) -> TextIO:
    """Return the stream for what moves the cursor: what it draws has to be clean already."""
    below: TextIO = getattr(to, "uncleaned", to)
    return below


def shell_assignments(variables: Mapping[str, str]) -> list[str]:
    """Return `NAME=value` words to stand before a command in a shell, quoted."""
    return [f"{name}={shlex.quote(value)}" for name, value in variables.items()]


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
