# SPDX-License-Identifier: Apache-2.0
"""The one line of a failed job's output that says why, as MPI libraries and launchers put it. Pure."""

from __future__ import annotations

import re
import signal

MAX_CHARACTERS = 300

# Best first: what the engine says itself, then what MPI libraries, launchers and the loader are known to say.
PATTERNS = (
    re.compile(r"slowpath-engine: error: .*"),
    re.compile(r"error while loading shared libraries.*"),
    re.compile(r"No components were able to be opened.*"),
    re.compile(r"unsupported PMI version.*"),
    re.compile(r"A prefix was supplied to .*"),
    re.compile(r"not enough slots.*|binding more processes.*|Out of memory.*|No space left on device.*", re.I),
    re.compile(r"KILLED BY SIGNAL: (?!9\b).*|exited on signal.*|Signal: \w.*"),
    re.compile(r"Fatal error in .*"),
    re.compile(r"Assertion .*failed.*", re.I),
    re.compile(r"(?:\[proxy|\[mpiexec)[^\]]*\] (?!.*(?:BAD TERMINATION)).*(?:fail|error|unable|cannot).*", re.I),
    re.compile(r"terminate called.*|Segmentation fault.*|Bus error.*|Killed\b.*|Abort\(\d+\).*"),
    re.compile(r".*\b(?:error|fatal|failed|cannot|unable|not found|no such|refus|denied)\b.*", re.I),
    re.compile(r".*EXIT STRING: .*|.*KILLED BY SIGNAL.*"),
)
# Frames and pleasantries: never the reason.
EMPTY = re.compile(
    r"^[-=*\s#|]*$|YOU CAN IGNORE|CLEANING UP|typically refers|FAQ page|End of error message"
    r"|This is a fatal error; \S+ will now abort"
)


def failure_line(text: str) -> str | None:
    """The line that says why a job failed; its last line that says anything if none is known; None if empty."""
    lines = [line.strip() for line in text.splitlines() if not EMPTY.search(line)]
    for pattern in PATTERNS:
        for line in lines:
            if pattern.search(line):
                return line[:MAX_CHARACTERS]
    return lines[-1][:MAX_CHARACTERS] if lines else None


def signal_in(code: int, text: str) -> str | None:
    """Name of the signal that ended the job, from its return code or what the launcher says; None if none did.

    Hydra's own code for a rank's death is not reliable: it reports the SIGTERM or SIGKILL that it sent to the other
    ranks itself, so those two are believed only from the return code.
    """
    if code < 0:
        return _name(-code)
    if 128 < code < 128 + 65:
        return _name(code - 128)
    for found in re.finditer(r"(?:signal|Signal:?|SIGNAL:)\s*(?:\w+ \()?(\d+)\b", text):
        if int(found.group(1)) not in (signal.SIGTERM, signal.SIGKILL):
            return _name(int(found.group(1)))
    return None


def _name(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None
