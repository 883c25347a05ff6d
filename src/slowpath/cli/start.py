# SPDX-License-Identifier: Apache-2.0
"""The command `slowpath` as a process: whatever moment an interrupt comes at, its exit code is 130.

Nothing is imported above, so that imports are interrupted inside of `main`.
"""


def main() -> None:
    """Run the command line and exit."""
    code: object = 130
    try:
        from slowpath.cli.main import main as command

        command()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:  # while the command line is imported, or after its last line
        _tell_interrupted()
    while _can_be_interrupted():
        code = 130
    # Where an interrupt passed through exec() of a text, as when a dataclass is made, CPython remembers it as unhandled
    # until the next such exec(), and would end this process by SIGINT whatever the code is (Python/pythonrun.c).
    exec("")
    raise SystemExit(code)


def _can_be_interrupted() -> bool:
    """False: from now on what asks this process to stop does nothing. There is only the end left, at which CPython has
    no handlers any more.
    """
    try:
        import signal

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:
        return True
    return False


def _tell_interrupted() -> None:
    import contextlib
    import os

    with contextlib.suppress(OSError):
        os.write(2, b"slowpath: error: interrupted\n")
