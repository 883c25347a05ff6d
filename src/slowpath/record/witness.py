# SPDX-License-Identifier: Apache-2.0
"""What a witnessed launch wrote beside its events: the library's variables and UCX's tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

CONTROL_VARIABLES = "control_variables.json"
PERFORMANCE_VARIABLES = "performance_variables.json"
UCX_LOGS = "ucx-*.log"


class Variable(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """A variable of the MPI tool information interface. value: null with a reason, or truth, number, numbers or text.

    kind: what MPI-4.1 section 15.3.7 calls the class of a performance variable.
    """

    name: str
    value: bool | int | float | str | list[int | float] | None
    type: str
    description: str = ""
    reason: str | None = None
    kind: str | None = None


class Variables(msgspec.Struct, frozen=True):
    """One file. reason: why it has none at all."""

    variables: list[Variable] = []
    reason: str | None = None


def read_variables(path: Path) -> tuple[Variables | None, str | None]:
    """The file's variables, or why there are none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None, f"{path.name}: is missing"
    except OSError as error:
        return None, f"{path.name}: cannot be read: {error.strerror}"
    try:
        return msgspec.json.decode(content, type=Variables), None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, f"{path.name}: cannot be read: {error}"


def read_logs(paths: Iterable[Path]) -> str:
    """The text of all logs that can be read, one after the other."""
    texts = []
    for path in sorted(paths):
        try:
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return "\n".join(texts)
