# SPDX-License-Identifier: Apache-2.0
"""Rules of paths and places: single copy, faces, the place of a run."""

from __future__ import annotations

import errno

import pytest
from msgspec.structs import replace
from planted_results import KIB, MIB, Planted
from plants import ONE_WAY, transfer_s

from slowpath.core.machine import PlaceFacts
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import RunFacts, conclude
from slowpath.mpi import place as checks
from slowpath.mpi.place import PLACE_CHECKS, PlaceCheck, PlaceJob, faults, judged
from slowpath.slowpaths.evaluate import findings

LENGTHS = (64 * KIB, MIB, 16 * MIB)


def paths(**slower: float) -> Planted:
    """The default against single copy off; slower: by how much the default takes longer, `at_LENGTH`."""
    run = Planted(1)
    off = run.environment("no single copy", "single_copy_off", MPIR_CVAR_CH4_CMA_ENABLE="0")
    for length in LENGTHS:
        factor = slower.get(f"at_{length}", 1.0)
        a = run.cell({ONE_WAY: {"steady": transfer_s(length) * factor}}, message_bytes=length)
        b = run.cell({ONE_WAY: {"steady": transfer_s(length)}}, message_bytes=length, environment=off)
        run.contrast("environment", ONE_WAY, (a, "default"), (b, "no single copy"), usual="a")
    return run


@pytest.mark.parametrize(
    ("slower", "is_named"),
    [
        ({f"at_{16 * MIB}": 1.15}, False),
        ({f"at_{16 * MIB}": 1.15, f"at_{MIB}": 1.15}, True),
        ({f"at_{16 * MIB}": 1.6}, True),
    ],
)
def test_a_default_that_is_slower_at_one_length_has_to_be_clearly_so(slower: dict[str, float], is_named: bool) -> None:
    named = findings(paths(**slower).results(), ROLES)
    assert [finding.rule for finding in named] == (["SP009"] if is_named else [])


MIB_OF_PLACE = 2**20
FINE = PlaceFacts(
    copy_errno=0,
    apart_errno=errno.EPERM,
    seccomp=2,
    ptrace_scope=0,
    shm_bytes=64 * MIB_OF_PLACE,
    shm_free_bytes=64 * MIB_OF_PLACE,
    memory_limit_bytes=2**34,
    memory_used_bytes=2**30,
    processors="0-3",
    online=4,
    processor_quota=4.0,
    numa_nodes=1,
    numa_balancing=True,
    gpu_driver="570.12",
)
MPICH, OPENMPI = PlaceJob(2, "mpich"), PlaceJob(2, "openmpi")
REFUSED = replace(FINE, copy_errno=errno.EPERM, apart_errno=None)


@pytest.mark.parametrize("job", [MPICH, OPENMPI, PlaceJob(4, "openmpi"), PlaceJob(2)])
def test_a_place_that_is_fine_has_no_line(job: PlaceJob) -> None:
    assert judged(FINE, job) == []
    assert judged(PlaceFacts(), job) == []


WRONG = [
    (checks.single_copy, replace(REFUSED, own_errno=errno.EPERM), "a seccomp filter", "SYS_PTRACE"),
    (checks.single_copy, replace(REFUSED, own_errno=0, ptrace_scope=2), "ptrace_scope 2", "sysctl"),
    (checks.single_copy, replace(REFUSED, own_errno=0), "a security module", "administrator"),
    (checks.single_copy, replace(FINE, user_namespaces=2), "2 user namespaces", "one container"),
    (checks.shared_memory, replace(FINE, shm_bytes=64 * 1024), "/dev/shm has 64 KiB", "--shm-size"),
    (checks.allowed_processors, replace(FINE, processors="2"), "processor 2 of 4", "taskset"),
    (checks.processor_limit, replace(FINE, processor_quota=1.5), "1.5 processors for 2 ranks", "--cpus=2"),
    (checks.memory_limit, replace(FINE, memory_limit_bytes=100 * MIB_OF_PLACE), "100 MiB", "--memory"),
    (checks.numa_balancing, replace(FINE, numa_nodes=2), "2 NUMA nodes", "numa_balancing=0"),
    (checks.virtual_machine, replace(FINE, virtual=True), "hypervisor", "medians"),
    (checks.driver_of_gpus, replace(FINE, gpu_driver="580.65.06"), "driver 580.65.06", "MPIR_CVAR_ENABLE_GPU=0"),
]


@pytest.mark.parametrize(("check", "place", "words", "do"), WRONG)
def test_what_is_wrong_is_named_with_what_to_do(check: PlaceCheck, place: PlaceFacts, words: str, do: str) -> None:
    fault = check(place, MPICH)
    assert fault is not None
    assert words in fault.text
    assert do in fault.do
    assert judged(place, MPICH) == [fault]
    assert fault.sentence.endswith(".")
    assert fault.action.endswith(".")
    assert ".." not in fault.sentence


def test_every_check_is_tested() -> None:
    assert {check for check, *_ in WRONG} == set(PLACE_CHECKS)


def test_a_copy_that_goes_when_it_is_asked_for_is_no_fault() -> None:
    asked = replace(REFUSED, own_errno=0, ptrace_scope=1, asked_errno=0)
    assert faults(asked, MPICH) == []
    assert faults(replace(asked, asked_errno=errno.EPERM), MPICH)


def test_the_quota_says_for_how_long_it_stopped_processes() -> None:
    tried = replace(FINE, processor_quota=1.5, tried=2, tried_s=0.25, still_s=0.05)
    (fault,) = faults(tried, MPICH)
    assert "2 processes that compute stood still for 50.0 ms of 250 ms" in fault.text
    (quiet,) = faults(replace(tried, still_s=0.001), MPICH)
    assert "stood still" not in quiet.text


@pytest.mark.parametrize(("ranks", "is_wrong"), [(2, False), (12, False), (13, True)])
def test_shared_memory_is_judged_by_the_number_of_ranks(ranks: int, is_wrong: bool) -> None:
    """Docker's 64 MiB: MPICH 5.0.2 takes 5.3 MiB a rank."""
    assert (checks.shared_memory(FINE, PlaceJob(ranks, "mpich")) is not None) is is_wrong


def test_it_speaks_first_in_the_verdict_of_a_run() -> None:
    wrong = tuple(faults(replace(FINE, shm_bytes=65536), MPICH))
    verdict = conclude([], [], RunFacts(place="n1", measured=1, cells=1, wrong_place=wrong)).verdict
    assert verdict.answer is not None
    assert verdict.answer.startswith(wrong[0].sentence)
    assert verdict.actions[0] == wrong[0].action
    assert verdict.state == "slow"
