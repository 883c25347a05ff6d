# SPDX-License-Identifier: Apache-2.0
"""What carries messages gets from the output of a witnessed launch into the results; of a timed one nothing does."""

from __future__ import annotations

from pathlib import Path

from slowpath.analyse.build import reported_by_library
from slowpath.experiments.measured import LaunchRecord
from slowpath.record.events import LaunchBegin, LaunchEvents
from slowpath.record.folder import LaunchInfo

BTLS = (
    "[vm:{process}] selected ob1 best priority 20\n"
    "[vm:{process}] mca: bml: Using self btl for send to [[7,1],{own}] on node vm\n"
    "[vm:{process}] mca: bml: Using {btl} btl for send to [[7,1],{other}] on node vm\n"
)


def launch(folder: Path, environment: str, witnessed: bool, printed: str) -> LaunchRecord:
    folder.mkdir()
    (folder / "stderr").write_text(printed)
    info = LaunchInfo(launch=1, round=1, environment=environment, placement="bound")
    begin = LaunchBegin(t_ns=1, launch=1, size=2, witnessed=witnessed)
    return LaunchRecord(info, folder, LaunchEvents((begin,)), None, ())


def printed(btl: str) -> str:
    return BTLS.format(process=1, own=0, other=1, btl=btl) + BTLS.format(process=2, own=1, other=0, btl=btl)


def test_each_environment_has_the_paths_of_its_own_witnessed_launch(tmp_path: Path) -> None:
    launches = [
        launch(tmp_path / "timed", "default", False, printed("uct")),
        launch(tmp_path / "own", "default, witnessed", True, printed("sm")),
        launch(tmp_path / "tcp", "tcp, witnessed", True, printed("tcp")),
    ]
    names = ["default", "default, witnessed", "tcp, witnessed"]
    paths = reported_by_library(launches, names, "openmpi").paths
    assert paths is not None
    assert [(path.environment, path.transport, path.pairs) for path in paths] == [
        ("default, witnessed", "btl sm", [(0, 1), (1, 0)]),
        ("tcp, witnessed", "btl tcp", [(0, 1), (1, 0)]),
    ]
    assert reported_by_library(launches[:1], names, "openmpi").paths is None
