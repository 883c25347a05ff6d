# SPDX-License-Identifier: Apache-2.0
"""What is never recorded: values whose name says that they are secret, and values that look like a secret. Pure.

Shapes of credentials are those that their issuers document: JSON Web Tokens (RFC 7519), PEM (RFC 7468), munge(1),
user information in addresses (RFC 3986, 3.2.1), and tokens with a prefix of their issuer.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence

HIDDEN = "(not recorded)"
BY_NAME = "its name says that it is a secret"
BY_VALUE = "its value looks like a secret"

_ANYWHERE_IN_WORD = re.compile("PASSW|PASSPHRASE|PASSCODE|SECRET|TOKEN|CREDENTIAL|COOKIE|JWT|BEARER|PRIVATE|APIKEY")
_WHOLE_WORD = frozenset(("CRED", "CREDS", "NONCE", "SALT", "OTP", "HMAC", "SIGNATURE"))
# RDMA's and MPI's own words: keys of memory regions and of partitions, which are numbers without worth elsewhere.
_NO_SECRET_WORD = frozenset(("PKEY", "PKEYS", "RKEY", "RKEYS", "LKEY", "LKEYS", "MKEY", "MKEYS", "BYPASS"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")
_YES_NO = re.compile(r"[01]|y|n|yes|no|on|off|true|false|enabled?|disabled?", re.IGNORECASE)

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|\Z)")
_ISSUED = (
    r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}"  # JSON Web Token
    r"|\bMUNGE:[A-Za-z0-9+/=]{8,}:?"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|hf_|npm_|pypi-|dckr_pat_|shpat_)[\w-]{10,}"
    r"|\bsk-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|(?<![\w.@-])(?=[\w.@-]*\d)[\w.@-]+;tcp[46]?://[^\s'\"]+"  # where a job's daemon listens (Open MPI, PRRTE)
    r"|(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[A-Za-z0-9+/=]{8,}"
)
_USER_INFORMATION = r"(?<=://)[^\s/@'\"]*:[^\s/@'\"]+(?=@)"
_SHAPED = re.compile(f"{_ISSUED}|{_USER_INFORMATION}")
_HIDDEN = re.escape(HIDDEN)  # which a value may hold already: it is taken whole, although there is a blank in it
# A name with its value, as shells, launchers, options, headers and JSON write it. What may begin at every letter has a
# bound: the end of a longer name decides.
_ASSIGNED = re.compile(
    r"(?P<quoted>(?P<quote>['\"])(?P<name_1>[A-Za-z_][\w.-]*)=)(?P<value_1>[^'\"\n]*)(?=(?P=quote))"
    r"|(?P<shell>(?P<name_2>[A-Za-z_][\w.-]{0,99})\s?=\s?)"
    rf"(?P<value_2>(?:\"[^\"\n]*\"|'[^'\n]*'|{_HIDDEN}|[^\s'\",;\\])(?:{_HIDDEN}|[^\s'\",;\\])*)"
    r"|(?P<option>(?<![\w-])(?P<name_3>--?[A-Za-z][\w-]*)[ \t]+)"
    rf"(?P<value_3>(?:{_HIDDEN}|[^\s'\"\\-])(?:{_HIDDEN}|[^\s'\"\\])*)"
    r"|(?P<json>\"(?P<name_4>[A-Za-z_][\w.-]*)\"\s*:\s*\")(?P<value_4>[^\"\\\n]*)"
    r"|(?P<header>(?<![\w-])(?P<name_5>[A-Za-z][\w-]*): +)"
    rf"(?P<value_5>(?:Bearer |Basic )?(?={_HIDDEN}|[^\s'\"\\]{{6}})(?:{_HIDDEN}|[^\s'\"\\])+)"
)
_FORMS = ("quoted", "shell", "option", "json", "header")
# Paths are at most 4096 characters long; in more without a blank nothing can be looked for in bounded time.
_ENDLESS = re.compile(r"\S{8193,}")
_MOST_ROUNDS = 8  # two are the most that random texts took, and a third that sees it
_MOST_LEVELS = 8  # of assignments within a value
# Options of launchers that take the name of a variable and its value as two words.
_NAME_AND_VALUE = re.compile(r"--?(?:g?env|[a-z]*mca)")
_PADDED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{14,}={1,6}(?:$|[\s,;])")  # base64, padded
_PIECES = re.compile(r"[A-Za-z0-9+_=-]{16,}")
_NAMED_DEVICE = re.compile(r"(?:GPU|MIG)-[0-9a-f-]+(?:/\d+)*")
_PATH_PART = re.compile(r"[A-Za-z][A-Za-z+_]+[-.].*|[\w.+-]+-[a-z][a-z0-9+._-]*")


def is_yes_or_no(value: str) -> bool:
    """Whether a value is one bit, which is no secret whatever its name."""
    return _YES_NO.fullmatch(value) is not None


def has_secret_name(name: str) -> bool:
    """Whether a name says that its value is a secret: `SLURM_JWT`, `OMPI_MCA_secret_key`, `--api-token`."""
    return any(_is_secret_word(word.upper()) for word in _WORD.findall(name))


def _is_secret_word(word: str) -> bool:
    if word in _NO_SECRET_WORD:
        return False
    ends = word.endswith(("KEY", "KEYS", "PASS", "AUTH"))
    return ends or word.startswith("AUTH") or word in _WHOLE_WORD or _ANYWHERE_IN_WORD.search(word) is not None


def has_credential(text: str) -> bool:
    """Whether something in it has the shape of a known kind of credential."""
    return _PEM.search(text) is not None or _SHAPED.search(text) is not None


def looks_secret(value: str) -> bool:
    """Whether a value has the shape of a credential, or a part that no person and no program's table would write."""
    if has_credential(value) or _PADDED.search(value):
        return True
    if value.startswith(("/", "~", "./", "../")):
        parts = [part for part in re.split(r"[/:]", value) if not _PATH_PART.fullmatch(part)]
        return any(_is_random(part) for part in parts)
    plain = _NAMED_DEVICE.sub("", value)
    return any(_is_random(piece) for piece in _PIECES.findall(plain.replace("/", "+")))


def _is_random(piece: str) -> bool:
    """Long, and its kinds of characters (small, capital, digit) follow one another without order."""
    plain = re.sub("[^A-Za-z0-9]", "", piece)
    digits = sum(c.isdigit() for c in plain)
    if len(plain) < 16 or digits == len(plain):
        return len(plain) > 20
    if re.fullmatch(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)", plain):
        return digits > 1 and len(set(plain)) > 6
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in plain]
    changes = sum(a != b for a, b in itertools.pairwise(kinds)) / (len(plain) - 1)
    if len(plain) >= 24 and digits > 0 and not re.search("[_-]", piece):
        return True
    if digits < 2:
        return changes >= 0.35 or len(plain) > 64
    return changes >= (0.3 if len(plain) < 20 else 0.2)


def clean_text(text: str) -> str:
    """Output of a program without what has a credential's shape, and without values that a secret name is given.

    What is hidden can bring a name together with another value, so a text is cleaned until nothing changes.
    """
    for _ in range(_MOST_ROUNDS):
        before, text = text, _cleaned_once(text)
        if text == before:
            return text
    return HIDDEN


def _cleaned_once(text: str) -> str:
    shorter = _ENDLESS.sub(lambda found: f"(left out: {len(found[0])} characters without a blank)", text)
    return _SHAPED.sub(HIDDEN, _ASSIGNED.sub(_assigned, _PEM.sub(HIDDEN, shorter)))


def _assigned(found: re.Match[str], level: int = 1) -> str:
    number = next(n for n, form in enumerate(_FORMS, 1) if found[form] is not None)
    before, name, value = (found[group] for group in (_FORMS[number - 1], f"name_{number}", f"value_{number}"))
    if has_secret_name(name) and not is_yes_or_no(value):
        return before + HIDDEN
    return before + (_inner(value, level) if number < 3 else value)


def _inner(value: str, level: int) -> str:
    """`--export=ALL,TOKEN=...`: a value that holds assignments itself; one that holds too many is not looked into."""
    if "=" not in value:
        return value
    return HIDDEN if level == _MOST_LEVELS else _ASSIGNED.sub(lambda found: _assigned(found, level + 1), value)


def clean_words(words: Sequence[str]) -> list[str]:
    """A command line without secrets: values of options and variables with a secret name, words that look secret."""
    found: list[str] = []
    hide_next = False
    for before, word in zip(["", *words], words, strict=False):
        if hide_next and not word.startswith("-"):
            found.append(HIDDEN)
            hide_next = False
            continue
        found.append(_clean_word(word))
        named = word.startswith("-") or _NAME_AND_VALUE.fullmatch(before) is not None
        hide_next = named and "=" not in word and has_secret_name(word)
    return found


def _clean_word(word: str) -> str:
    name, equals, value = word.partition("=")
    if equals and has_secret_name(name) and not is_yes_or_no(value):
        return f"{name}={HIDDEN}"
    is_path = (value if equals else word).startswith(("/", "~", ".")) or "/" in name
    cleaned = clean_text(word)
    if cleaned == word and not is_path and looks_secret(value or word):
        return f"{name}={HIDDEN}" if equals else HIDDEN
    return cleaned


# The secrets that a process was given in its environment, taken out of what programs print.
#
# A program under a launcher may print its whole environment (Hydra's -verbose, a crash handler): their output is kept,
# so it is searched for these very values.

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
