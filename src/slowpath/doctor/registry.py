# SPDX-License-Identifier: Apache-2.0
"""All checks, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable

from slowpath.doctor import (
    blas,
    clock,
    gpu,
    memory,
    mpi_gpu,
    own_settings,
    processor,
    scheduler,
    single_copy,
    toolchain,
)
from slowpath.doctor.check import Check
from slowpath.doctor.mpi_gpu import Proof, Tell

CHECKS: tuple[Callable[[], Check], ...] = (
    toolchain.mpi_in_use,
    toolchain.other_mpis,
    own_settings.own_settings,
    toolchain.compiler,
    toolchain.cmake,
    blas.blas,
    scheduler.allocation,
    gpu.gpus,
    single_copy.cma,
    single_copy.ptrace_scope,
    single_copy.xpmem,
    single_copy.knem,
    memory.transparent_huge_pages,
    memory.reserved_huge_pages,
    memory.locked_memory,
    processor.cores,
    processor.numa,
    processor.threads,
    processor.cpu_limit,
    processor.load,
    processor.governor,
    clock.clock,
    clock.kernel,
)


# Checks that start MPI jobs: the caller sets how far they may go, and hears of each job.
PROOFS: tuple[Callable[[Proof, Tell], Check], ...] = (mpi_gpu.mpi_and_gpu_memory,)


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
