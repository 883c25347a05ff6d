# SPDX-License-Identifier: Apache-2.0
"""Two real PID namespaces that want one folder: numbers of processes mean nothing there, stamps do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.run.ownership import owned, take
from watchdog import WATCHDOG_S

TAKE = """
import sys
from pathlib import Path
from slowpath.core.errors import SlowpathError
from slowpath.run.ownership import take
try:
    print(take(Path(sys.argv[1]), "slowpath run --resume", take_over=len(sys.argv) > 2).number)
except SlowpathError as error:
    print(error)
"""


def in_a_namespace_of_its_own(folder: Path, *more: str) -> str:
    words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", TAKE, str(folder), *more]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=WATCHDOG_S).stdout


@pytest.mark.needs("root")
def test_a_process_in_another_namespace_is_refused_and_so_is_this_one(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        assert "(last sign " in in_a_namespace_of_its_own(tmp_path)
    assert in_a_namespace_of_its_own(tmp_path) == "2\n"
    # It is gone, but nothing here can know that.
    with pytest.raises(Exception, match=r"by process 1 \(slowpath run --resume\) .* at once with --take-over"):
        take(tmp_path, "slowpath run --resume")
    assert in_a_namespace_of_its_own(tmp_path, "--take-over") == "3\n"
