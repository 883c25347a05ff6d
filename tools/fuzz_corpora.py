# SPDX-License-Identifier: Apache-2.0
"""Kept inputs of each target, tests/data/corpora/TARGET.tar.xz: read, written the same each time, and bounded."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

CORPORA = Path(__file__).resolve().parents[1] / "tests" / "data" / "corpora"
LARGEST_BYTES = 20 * 1024  # of one archive; all together stay below 1 MiB
MOST_WORDS = 400
_WORD = re.compile(rb"[A-Za-z_][\w.-]{2,40}")
_TELLING = (
    b"0", b"-1", b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
    b"1e308", b"nan", b"inf", b"-0.0", b"9" * 40, "\u0663".encode(), b"true", b"null", b'""', b"[]", b"{}", b"..", b"+",
    b"*", b":", b",", b"=", b"#", b"[", b"]", b"\n", b"\r\n", b"\0", b"\xff", b"SPB1", b"\x7fELF", b"../..", b"\x1b[2J",
)  # fmt: skip


def read_corpus(target: str) -> list[bytes]:
    """The kept inputs; none if there is no archive."""
    path = CORPORA / f"{target}.tar.xz"
    if not path.is_file():
        return []
    with tarfile.open(path) as archive:
        return [file.read() for member in archive if (file := archive.extractfile(member)) is not None]


def write_corpus(target: str, inputs: Iterable[bytes]) -> int:
    """Replace the kept inputs; the largest are left out until the archive is small enough.

    Returns: how many are kept.
    """
    kept = sorted(set(inputs), key=lambda content: (len(content), content))
    while len(data := _archive(kept)) > LARGEST_BYTES and len(kept) > 1:
        kept = kept[: max(1, min(len(kept) - 1, len(kept) * LARGEST_BYTES // len(data)))]
    CORPORA.mkdir(parents=True, exist_ok=True)
    (CORPORA / f"{target}.tar.xz").write_bytes(data)
    return len(kept)


def unpack(inputs: Iterable[bytes], folder: Path) -> None:
    """One file each, named as libFuzzer names them."""
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        (folder / _name(content)).write_bytes(content)


def dictionary(inputs: Sequence[bytes]) -> str:
    """libFuzzer's dictionary: words of the inputs, and values that an attacker would take."""
    words: dict[bytes, None] = dict.fromkeys(_TELLING)
    for content in inputs:
        words |= dict.fromkeys(_WORD.findall(content))
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in list(words)[:MOST_WORDS])


def _name(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _archive(inputs: Iterable[bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:xz", format=tarfile.USTAR_FORMAT) as archive:
        for content in inputs:
            member = tarfile.TarInfo(_name(content))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return raw.getvalue()
