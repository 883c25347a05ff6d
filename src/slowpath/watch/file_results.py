# SPDX-License-Identifier: Apache-2.0
"""What results.json of a watch says of MPI-IO and of the start of MPI."""

from __future__ import annotations

from typing import Annotated

from slowpath.core.result import Count, Name, NotNegative, Result, Share, Text, means


class FileTime(Result, frozen=True, kw_only=True):
    """MPI-IO: how long it takes, and by which module. No rule judges it."""

    seconds: Annotated[NotNegative, means("in MPI_File calls, a rank")]
    share: Annotated[Share, means("of the run")]
    calls: Annotated[Count, means("all ranks")]
    call: Annotated[Name, means("that takes most of it")]
    module: Annotated[Name | None, means("of the library: ompio or ROMIO; null: not known")]
    module_reason: Annotated[Text, means("what says so: no library reports which one it took")]
    text: Annotated[Text, means("one line")]


Files = Annotated[FileTime | None, means("MPI-IO; null: the program makes no such call, or an older version wrote it")]
StartTime = Annotated[
    NotNegative | None, means("in MPI_Init, a rank, before the run; null: not recorded, or an older version wrote it")
]
