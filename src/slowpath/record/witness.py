# SPDX-License-Identifier: Apache-2.0
"""What a witnessed launch wrote beside its events: the library's variables and UCX's tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import decoded, read_bytes
from slowpath.core.result import FILE_BYTES, LOG_BYTES, LongText, Name, Number

CONTROL_VARIABLES = "control_variables.json"
PERFORMANCE_VARIABLES = "performance_variables.json"
UCX_LOGS = "ucx-*.log"


class Variable(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """A variable of the MPI tool information interface. value: null with a reason, or truth, number, numbers or text.

    kind: what MPI-4.1 section 15.3.7 calls the class of a performance variable.
    """

    name: Name
    value: bool | int | Number | LongText | list[int | Number] | None
    type: Name
    description: LongText = ""
    reason: LongText | None = None
    kind: Name | None = None


class Variables(msgspec.Struct, frozen=True):
    """One file. reason: why it has none at all."""

    variables: list[Variable] = []
    reason: str | None = None


def read_variables(path: Path) -> tuple[Variables | None, str | None]:
    """The file's variables, or why there are none."""
    if not path.exists():
        return None, f"{path.name}: is missing"
    try:
        content = read_bytes(path, FILE_BYTES[CONTROL_VARIABLES], within=path.parent)
        return decoded(content, Variables, path), None
    except RecordError as error:
        return None, str(error)


def read_logs(paths: Iterable[Path]) -> str:
    """The text of all logs that can be read, one after the other."""
    texts = []
    for path in sorted(paths):
        with contextlib.suppress(RecordError):
            texts.append(read_bytes(path, LOG_BYTES, within=path.parent).decode(errors="replace"))
    return "\n".join(texts)
