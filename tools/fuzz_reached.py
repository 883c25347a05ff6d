# SPDX-License-Identifier: Apache-2.0
"""Which lines of the package were reached, looked at after 10, 100, 1000, ... inputs: whether more would find more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

Line = tuple[str, int]
_TOOL = 3  # a number of sys.monitoring that neither debuggers nor profilers take


class Reached:
    """Lines of files whose paths hold `part`. after: inputs -> lines until then."""

    def __init__(self, part: str = "/slowpath/") -> None:
        self._part = part
        self._lines: set[Line] = set()
        self._done: set[CodeType] = set()
        self.after: dict[int, frozenset[Line]] = {}

    def start(self) -> None:
        """From now on lines count. Python 3.12 tells each once; before, a program is several times slower."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(self._call)
            return
        monitoring.use_tool_id(_TOOL, "fuzz")
        monitoring.register_callback(_TOOL, monitoring.events.LINE, self._once(monitoring.DISABLE))
        monitoring.set_events(_TOOL, monitoring.events.LINE)

    def stop(self) -> None:
        """No longer."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(None)
        else:
            monitoring.free_tool_id(_TOOL)

    def look(self, inputs: int) -> None:
        """After so many inputs."""
        if inputs == 10 ** (len(str(inputs)) - 1):
            self.after[inputs] = frozenset(self._lines)

    def _once(self, disable: object) -> Callable[[CodeType, int], object]:
        def line(code: CodeType, number: int) -> object:
            if self._part in code.co_filename:
                self._lines.add((code.co_filename, number))
            return disable

        return line

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if self._part not in code.co_filename or code in self._done:
            return None
        lines = {(code.co_filename, number) for *_, number in code.co_lines() if number is not None}
        if lines <= self._lines | {(code.co_filename, code.co_firstlineno)}:
            self._done.add(code)
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
