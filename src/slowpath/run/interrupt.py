# SPDX-License-Identifier: Apache-2.0
"""Whatever asks the program to stop becomes KeyboardInterrupt: Ctrl-C, a batch system's SIGTERM, a closed terminal."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

from slowpath.core.signals import Action, handled

STOPPING = (signal.SIGTERM, signal.SIGHUP)
# A session that closes sends both, one after the other; the second must not cut what the first one made us save.
ONE_REQUEST_S = 2.0


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise KeyboardInterrupt as SIGINT does; afterwards all is as before.

    One that is ignored stays so: `nohup slowpath run` outlives its terminal. Ctrl-C is heard, too, where a preloaded
    library has a handler for SIGINT, which keeps Python from installing its own.
    """
    last_s = -ONE_REQUEST_S

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s, before_s, last_s = time.monotonic(), last_s, time.monotonic()
        if now_s - before_s >= ONE_REQUEST_S:
            raise KeyboardInterrupt

    actions: dict[signal.Signals, Action] = {
        number: stop for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN
    }
    if signal.getsignal(signal.SIGINT) is None:
        actions[signal.SIGINT] = signal.default_int_handler
    with handled(actions):
        yield
