# SPDX-License-Identifier: Apache-2.0
"""campaigns/guidelines.toml out of the table of guidelines: one group of cells and one question for each collective."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowpath.mpi.guidelines import GUIDELINES, Guideline

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate-docs out of src/slowpath/mpi/guidelines.py; change that.
# Guidelines that any MPI should keep to: is a collective slower than what the library's other calls make of it? Each
# mock-up is a cell in the same launches as the library's own call. `--ranks 8` asks the same of 8 ranks, `--mpi` of
# several libraries. No GPU.

[campaign]
name = "guidelines"
title = "Collectives against what the library's other calls make of them"
ranks = 2
rounds = 12
minimum_effect = 0.05
"""

# Of one message for all ranks; of a block for each rank.
LENGTHS = ("8", "1KiB", "16KiB", "128KiB", "1MiB")
BLOCK_LENGTHS = ("8", "512", "4KiB", "32KiB", "128KiB")
ONE_MESSAGE = ("bcast", "reduce", "allreduce", "scan", "exscan")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
EFFORT = "samples = 30\ntime_limit_s = 0.01\nwarmup_s = 0.002\n"
METRIC = 'metric = "collective_work_s"\n'


CONTROL = """\
# Nothing differs between the two copies.
[[cells]]
name = "control"
experiment = "coll"
copies = 2
[cells.parameters]
collective = "allreduce"
message_bytes = "1KiB"
datatype = "double"
{effort}
[[contrast]]
name = "control"
question = "Do two measurements of the same cell agree?"
cells = "control"
axis = "copy"
a = 1
b = 2
{metric}control = true
"""


def campaign_text(guidelines: Sequence[Guideline] = GUIDELINES) -> str:
    """The whole file."""
    collectives = list(dict.fromkeys(row.collective for row in guidelines))
    parts = [HEAD, *(_mockups(name, guidelines) for name in collectives)]
    parts.append(CONTROL.format(effort=EFFORT, metric=METRIC))
    return "\n".join(parts)


def _mockups(collective: str, guidelines: Iterable[Guideline]) -> str:
    mine = [row for row in guidelines if row.collective == collective]
    ways = list(dict.fromkeys(row.mockup for row in mine))
    lengths = LENGTHS if collective in ONE_MESSAGE else BLOCK_LENGTHS
    return (
        _cells(collective, collective, f"way = {_list(['library', *ways])}\n", lengths)
        + "\n[[contrast]]\n"
        + f'name = "{collective}"\n'
        + f'question = "Is the library\'s own {collective} slower than what its other calls make of it?"\n'
        + f'cells = "{collective}"\naxis = "way"\na = "library"\nb = {_list(ways)}\n'
        + METRIC
    )


def _cells(name: str, collective: str, varied: str, lengths: Sequence[str]) -> str:
    words = f'[[cells]]\nname = "{name}"\nexperiment = "coll"\n'
    words += f'[cells.parameters]\ncollective = "{collective}"\n{varied}'
    if collective != "barrier":
        words += f"message_bytes = {_list(lengths)}\n"
    if collective in REDUCTIONS:
        words += 'datatype = "double"\n'
    return words + EFFORT


def _list(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"
