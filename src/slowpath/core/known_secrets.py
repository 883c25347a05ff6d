# SPDX-License-Identifier: Apache-2.0
"""The secrets that a process was given in its environment, taken out of what programs print.

A program under a launcher may print its whole environment (Hydra's -verbose, a crash handler): their output is kept,
so it is searched for these very values. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from slowpath.core.secrets import HIDDEN, clean_text, clean_words, has_secret_name, is_yes_or_no, looks_secret

SHORTEST = 6  # characters; a shorter value may be any word or number
# Of at least two folders, the first in small letters: base64 may begin with a slash, too.
_PATH = re.compile(r"(?:~|\.{1,2})/.*|/[a-z][a-z0-9_.-]*(?:/[\w.+@ -]*)+")


class KnownSecrets:
    """Values of an environment whose name or shape says that they are secret.

    Paths are none of them: a file of keys is secret, its place is not, and commands need it.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        given = sorted({part for name, value in environ.items() for part in _secret_parts(name, value)})
        # In a record of numbers and names only what can't be one of its words.
        mixed = [
            text for text in given if len(text) >= 8 and not re.fullmatch("[A-Za-z][a-z]{,10}|[A-Z]{,11}|[0-9]+", text)
        ]
        self._in_text, self._in_record = _pattern(given), _pattern(mixed)

    def text(self, text: str) -> str:
        """`text` without these values, and without what has a credential's shape or a secret's name."""
        return clean_text(self._in_text.sub(HIDDEN, text) if self._in_text else text)

    def words(self, words: list[str]) -> list[str]:
        """A command line without them."""
        return clean_words([self._in_record.sub(HIDDEN, word) if self._in_record else word for word in words])

    def record(self, text: str) -> str:
        """A JSON text without these values; all else in it is as it was."""
        return self._in_record.sub(HIDDEN, text) if self._in_record else text


def _secret_parts(name: str, value: str) -> Iterator[str]:
    """The value of a secret, and each long line of it; none for other variables."""
    value = value.strip()
    is_path = _PATH.fullmatch(value) is not None and not looks_secret(value)
    if len(value) < SHORTEST or is_path or is_yes_or_no(value):
        return
    if has_secret_name(name) or looks_secret(value):
        yield value
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= 16)


def _pattern(values: list[str]) -> re.Pattern[str] | None:
    """Any of these, as it is or as a JSON string has it, longest first; words only as whole words."""
    forms = {form for value in values for form in (value, json.dumps(value)[1:-1])}
    words = "|".join(_whole(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(words) if words else None


def _whole(value: str) -> str:
    return rf"(?<!\w){re.escape(value)}(?!\w)" if value.isalnum() else re.escape(value)
