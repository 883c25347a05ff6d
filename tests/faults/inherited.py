# SPDX-License-Identifier: Apache-2.0
"""Starting a program with signals ignored, blocked, or handled by a preloaded library, as its user may have them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from watchdog import WATCHDOG_S

WAYS = ("ignored", "blocked", "handled by a library")
SIGNALS = tuple(signal.Signals[f"SIG{name}"] for name in ("CHLD", "PIPE", "INT", "TERM", "HUP", "QUIT", "USR1", "USR2"))
# SIGPIPE and SIGXFSZ are Python's own matter unless they are asked for.
_STARTER = """
import os, signal, sys
ignored, blocked = ({int(word) for word in words.split(",") if word} for words in sys.argv[1:3])
for number in {signal.SIGPIPE, signal.SIGXFSZ} - ignored:
    signal.signal(number, signal.SIG_DFL)
for number in ignored:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_LIBRARY = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static void seen(int number) { (void)number; }
__attribute__((constructor)) static void begin(void) {
    char words[256];
    strncpy(words, getenv("HANDLED") ? getenv("HANDLED") : "", sizeof words - 1);
    words[sizeof words - 1] = 0;
    for (char* word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) signal(atoi(word), seen);
}
"""


@dataclass(frozen=True)
class Inherited:
    """What a program inherits."""

    ignored: tuple[signal.Signals, ...] = ()
    blocked: tuple[signal.Signals, ...] = ()
    handled: tuple[signal.Signals, ...] = ()

    def around(self, argv: Sequence[str]) -> list[str]:
        """The words that start `argv` so."""
        numbers = [",".join(str(int(one)) for one in some) for some in (self.ignored, self.blocked)]
        return [sys.executable, "-S", "-c", _STARTER, *numbers, *argv]

    def variables(self, library: Path) -> dict[str, str]:
        """Where a library of `handler` handles signals."""
        handled = ",".join(str(int(one)) for one in self.handled)
        return {"LD_PRELOAD": str(library), "HANDLED": handled} if handled else {}


def inherited(way: str, number: signal.Signals) -> Inherited:
    """One signal, one of WAYS."""
    return Inherited(*((number,) if way == one else () for one in WAYS))


def handler(folder: Path) -> Path:
    """A library that installs a handler for each signal of the variable HANDLED; `folder`: a path without a blank."""
    source, library = folder / "handler.c", folder / "libhandler.so"
    source.write_text(_LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=WATCHDOG_S)
    return library
