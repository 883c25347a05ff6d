# SPDX-License-Identifier: Apache-2.0
"""Whatever asks the program to stop becomes KeyboardInterrupt: Ctrl-C, a batch system's SIGTERM, a closed terminal."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGHUP)
# A session that closes sends both, one after the other; the second must not cut what the first one made us save.
ONE_REQUEST_S = 2.0


@contextlib.contextmanager
def stop_signals() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP raise KeyboardInterrupt as SIGINT does; afterwards all is as before.

    One that is ignored stays so: `nohup slowpath run` outlives its terminal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last_s = -ONE_REQUEST_S

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last_s
        now_s, before_s, last_s = time.monotonic(), last_s, time.monotonic()
        if now_s - before_s >= ONE_REQUEST_S:
            raise KeyboardInterrupt

    heard = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
