# SPDX-License-Identifier: Apache-2.0
"""All checks, in the order in which they are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import msgspec

from slowpath.doctor import gpu, machine, message_path, mpi_gpu, place, toolchain
from slowpath.doctor.check import Ability, Check
from slowpath.doctor.mpi_gpu import Proof, Tell

CHECKS: tuple[Callable[[], Check], ...] = (
    toolchain.mpi_in_use,
    toolchain.first_on_path,
    toolchain.other_mpis,
    machine.own_settings,
    toolchain.compiler,
    toolchain.cmake,
    toolchain.blas,
    machine.allocation,
    gpu.gpus,
    place.gpu_driver,
    place.cma,
    place.seccomp,
    place.ptrace_scope,
    place.xpmem,
    place.knem,
    machine.transparent_huge_pages,
    machine.reserved_huge_pages,
    machine.locked_memory,
    place.shared_memory,
    place.memory_limit,
    machine.cores,
    place.allowed_processors,
    machine.numa,
    place.numa_balancing,
    machine.threads,
    place.processor_limit,
    place.virtual_machine,
    machine.load,
    machine.governor,
    machine.clock,
    machine.kernel,
)


# Checks that start MPI jobs: the caller sets how far they may go, and hears of each job.
PROOFS: tuple[Callable[[Proof, Tell], Check], ...] = (message_path.message_path, mpi_gpu.mpi_and_gpu_memory)


def run_checks(proof: Proof = "none", tell: Tell = lambda _: None) -> list[Check]:
    """Every check's answer. A check that fails itself is an answer, too, and spoils no other."""
    return [*(_guarded(check) for check in CHECKS), *(_guarded(check, proof, tell) for check in PROOFS)]


def _guarded(check: Callable[..., Check], *arguments: object) -> Check:
    try:
        return check(*arguments)
    except Exception as error:  # an unforeseen /proc or /sys must not hide the other answers
        name = check.__name__.replace("_", " ")
        return Check(
            name,
            None,
            "warn",
            f"this check failed itself ({type(error).__name__}: {error}); please report it",
        )


# The doctor's answers as text and as JSON.

MARKS = {"ok": "ok  ", "warn": "WARN", "missing": "MISS"}
WIDTH = 100


def as_text(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """A table of checks with what to do, then what can be measured."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        first = f"{MARKS[check.status]}  {check.name:<{width}}  "
        lines += _wrapped(first, check.value or "unknown")
        lines += _wrapped(" " * len(first), check.means)
        if check.do:
            lines += _wrapped(" " * len(first), f"-> {check.do}")
    lines += ["", "What can be measured here:"]
    for ability in abilities:
        lines += _wrapped("  yes  " if ability.possible else "  no   ", ability.what)
        if ability.why:
            lines += _wrapped(" " * 7, f"because: {ability.why}")
    return "\n".join(lines) + "\n"


def as_json(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """{"checks": [...], "possible": [...]}"""
    content = {"checks": list(checks), "possible": list(abilities)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
