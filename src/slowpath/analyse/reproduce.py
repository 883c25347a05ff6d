# SPDX-License-Identifier: Apache-2.0
"""The command line that measures one cell again, alone, without Python. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from slowpath.core.clean import shell_assignments
from slowpath.experiments.experiment import Experiment


def command_line(
    argv: Sequence[str], variables: Mapping[str, str], experiment: Experiment, parameters: Mapping[str, str]
) -> str | None:
    """`UCX_TLS=tcp mpiexec -n 2 .../slowpath-engine p2p --message-bytes 8`, from the argv of a launch of that cell.

    Returns: None when the argv does not hold the program that measures the experiment (an imported log).
    """
    program = experiment.program
    position = next((i for i, word in enumerate(argv) if word.rsplit("/", 1)[-1] == program.name), None)
    if position is None:
        return None
    words = [*argv[: position + 1], *([experiment.name] if program.takes_experiment else []), *_options(parameters)]
    return " ".join([*shell_assignments(variables), shlex.join(words)])


def _options(parameters: Mapping[str, str]) -> list[str]:
    return [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]
