# SPDX-License-Identifier: Apache-2.0
"""Secrets are known by their names and by their shapes; settings of MPI are not taken for secrets."""

from __future__ import annotations

import json
import time

import pytest

from slowpath.core.errors import UsageError
from slowpath.core.secrets import HIDDEN, KnownSecrets, clean_text, clean_words, has_secret_name, looks_secret
from slowpath.mpi.recorded_variables import (
    NOT_LISTED,
    NOT_RECORDED,
    VARIABLES,
    clean_machine,
    recorded_variables,
    why_not,
)
from slowpath.plan.campaign import decode
from support.planted_secrets import ENVIRON, PLANTED, random_secrets

SETTINGS = {
    "UCX_TLS": "rc_mlx5,ud_mlx5,cuda_copy,cuda_ipc,sm,self",
    "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
    "UCX_RNDV_THRESH": "16k",
    "UCX_RKEY_PTR_SEG_SIZE": "512K",
    "UCX_IB_PKEY": "0xffff",
    "UCX_MODULE_DIR": "/home/with blank/lib",
    "UCX_LOG_FILE": "/tmp/ucx-%h-%p.log",
    "FI_PROVIDER": "ofi_rxm;verbs",
    "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE": "-1",
    "I_MPI_PIN": "1",
    "I_MPI_PIN_DOMAIN": "[FF,FF00]",
    "I_MPI_PIN_PROCESSOR_LIST": "0-3,8,10-12",
    "I_MPI_ROOT": "/opt/intel/oneapi/mpi/2021.18",
    "OMPI_MCA_btl": "^openib,smcuda",
    "OMPI_MCA_rmaps_base_mapping_policy": "ppr:2:node:PE=4",
    "PMIX_MCA_gds": "hash",
    "CUDA_VISIBLE_DEVICES": "GPU-8dbd4ef1-1c4f-4d12-9b1a-0f8f00aa1c11,GPU-8dbd4ef1-1c4f-4d12-9b1a-0f8f00aa1c12",
    "LD_PRELOAD": "/opt/spack/linux-x86_64/gcc-12.3.0/ucx-1.15.0-k3v7xq2mzqabcdefghijklmnop234567/lib/libucp.so.0",
    "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=128:glibc.malloc.check=3",
    "OMP_PLACES": "{0:4}:8:4",
    "MKL_DYNAMIC": "FALSE",
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NODELIST": "nid[001234-001299,002000]",
    "SLURM_TASKS_PER_NODE": "2(x4)",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x0000000F,0x000000F0",
    "SLURM_DISTRIBUTION": "block:cyclic",
    "PBS_JOBID": "1234[7].server-01",
}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            ("SLURM_JWT", True),
            ("slurm_step_key", True),
            ("authToken", True),
            ("--api-key", True),
            ("PGPASSWORD", True),
        ),
        *(("PBS_JOBCOOKIE", True), ("X_PASS", True), ("SSHPASS", True), ("KEYS", True), ("OAUTH", True)),
        *(("I_MPI_PIN", False), ("UCX_IB_PKEY", False), ("UCX_RKEY_PTR_SEG_SIZE", False), ("UCX_KEEPALIVE", False)),
        *(("OMPI_MCA_btl", False), ("MPICH_OFI_BYPASS", False), ("KEYBOARD", False), ("PATH", False)),
    ],
)
def test_names(name: str, secret: bool) -> None:
    assert has_secret_name(name) == secret


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_recorded_as_they_are(name: str) -> None:
    assert not looks_secret(SETTINGS[name])
    assert why_not(name, SETTINGS[name]) is None


@pytest.mark.parametrize(("name", "value", "secret"), PLANTED)
def test_secrets_have_a_name_and_a_reason_but_no_value(name: str, value: str, secret: str) -> None:
    kept, hidden = recorded_variables({name: value, "UCX_TLS": "tcp"})
    assert kept == {"UCX_TLS": "tcp"}
    if name.startswith(("AWS", "CI_", "HIP")):
        assert hidden == {}  # steers nothing: not even the name
    else:
        assert list(hidden) == [name]
        assert secret not in json.dumps(hidden)


def test_what_is_not_listed_is_named() -> None:
    kept, hidden = recorded_variables({"SLURM_WHATEVER": "1", "SLURM_NTASKS": "2", "HOME": "/h", "UCX_X": "a b\x00c"})
    assert kept == {"SLURM_NTASKS": "2"}
    assert hidden["SLURM_WHATEVER"] == NOT_LISTED
    assert hidden["UCX_X"].startswith("its value is not a number")


def test_random_secrets_are_in_no_record() -> None:
    secrets = random_secrets(2000, seed=14)
    kept, _ = recorded_variables(secrets)
    assert kept == {}
    printed = "".join(f"{name}={value}\n" for name, value in secrets.items())
    cleaned = KnownSecrets(secrets).text(printed)
    assert [value for value in secrets.values() if value in cleaned] == []


def test_a_machine_of_an_older_folder_is_cleaned_when_it_is_read() -> None:
    machine = clean_machine({"host": "h", VARIABLES: {**ENVIRON, "UCX_TLS": "tcp"}, NOT_RECORDED: {"A": "because"}})
    assert machine[VARIABLES] == {"UCX_TLS": "tcp"}
    assert machine[NOT_RECORDED]["A"] == "because"
    assert "SLURM_JWT" in machine[NOT_RECORDED]
    assert clean_machine({"host": "h"}) == {"host": "h"}
    assert clean_machine({VARIABLES: None}) == {VARIABLES: None}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--token=abc", "x"], [f"--token={HIDDEN}", "x"]),
        (["--api-key", "hunter2", "x"], ["--api-key", HIDDEN, "x"]),
        (["-genv", "SLURM_JWT", "zzz", "-n", "2"], ["-genv", "SLURM_JWT", HIDDEN, "-n", "2"]),
        (["--mca", "secret_key", "zzz"], ["--mca", "secret_key", HIDDEN]),
        (["-x", "MY_SECRET=1234567"], ["-x", f"MY_SECRET={HIDDEN}"]),
        (["--export=ALL,TOKEN=q7,A=2"], [f"--export=ALL,TOKEN={HIDDEN},A=2"]),
        (["https://bob:pw@host/x"], [f"https://{HIDDEN}@host/x"]),
        (["--label", "3fa91c0d7be24486a5d0e91f72c8b643"], ["--label", HIDDEN]),
        (["/c/engines/3fa91c0d7be24486a5d0e91f72c8b643/slowpath-engine", "--seed", "7"],) * 2,
        (["slowpath", "run", "checkup", "--mpi", "mpich,openmpi", "--out", "runs/checkup-20261122-140559"],) * 2,
        (["prog", "--auth", "--verbose"],) * 2,
    ],
)
def test_words(words: list[str], expected: list[str]) -> None:
    assert clean_words(words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SLURM_JWT=abc X=1", f"SLURM_JWT={HIDDEN} X=1"),
        ("'MY_PASSWORD=a b c' 'HOME=/root'", f"'MY_PASSWORD={HIDDEN}' 'HOME=/root'"),
        ('{"token": "abc", "n": 1}', f'{{"token": "{HIDDEN}", "n": 1}}'),
        ("Authorization: Bearer abcdefghijk", f"Authorization: {HIDDEN}"),
        ("prog --password swordfish -v", f"prog --password {HIDDEN} -v"),
        ("cannot open /x; key: 5, author is bob; 16 MiB = 2^24",) * 2,
        ("UCX_IB_PKEY=0xffff I_MPI_PIN=1 ENABLE_MR_PROV_KEY=1",) * 2,
    ],
)
def test_output(text: str, expected: str) -> None:
    assert clean_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=TOKEN=x,", f"A=TOKEN={HIDDEN},"),
        ("TOKEN='a'b c", f"TOKEN={HIDDEN} c"),
        ('key: key="="', f"key: {HIDDEN}"),
        ('hf_abcdefghijkl TOKEN=""', f"{HIDDEN} TOKEN={HIDDEN}"),
        ('eyJabcdefgh0=TOKEN=""', f"{HIDDEN}=TOKEN={HIDDEN}"),
        ("MUNGE:abcdefgh--password x", f"{HIDDEN}--password {HIDDEN}"),
    ],
)
def test_a_text_that_was_cleaned_is_clean(text: str, expected: str) -> None:
    assert clean_text(text) == expected
    assert clean_text(expected) == expected


def test_known_values_go_in_whatever_form_they_are_printed() -> None:
    known = KnownSecrets({**ENVIRON, "SSH_KEY_DIR": "/root/.ssh", "AUTH_MODE": "none", "KEY_TIMEOUT": "1"})
    for _, value, secret in PLANTED:
        for printed in (f"is <{value}>", json.dumps({"x": value}), f"['{value}']"):
            if "hnp_uri" not in _ and _ != "FI_PSM3_UUID":
                assert secret not in known.text(printed), printed
    assert KnownSecrets({"X_KEY": "/CMVRSCsnzQ2"}).text("/CMVRSCsnzQ2") == HIDDEN
    assert known.text("in /root/.ssh none 1") == "in /root/.ssh none 1"
    assert known.record('{"library":"none", "k":"hunter2-step"}') == f'{{"library":"none", "k":"{HIDDEN}"}}'


CAMPAIGN = """
[campaign]
name = "x"
title = "X"
ranks = 2
rounds = 2
[[environment]]
name = "e"
variables = {{ {name} = "{value}" }}
[[cells]]
name = "c"
experiment = "p2p"
"""


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("SLURM_JWT", "abc", "its name says"),
        ("UCX_LABEL", "3fa91c0d7be24486a5d0e91f72c8b643", "its value looks"),
        ("MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY", "1", None),
        ("UCX_TLS", "tcp,self", None),
    ],
)
def test_a_campaign_sets_no_secret(name: str, value: str, why: str | None) -> None:
    text = CAMPAIGN.format(name=name, value=value).encode()
    if why is None:
        decode(text, "x.toml")
        return
    with pytest.raises(UsageError, match=f"{name}.*{why}.*export it in your shell") as caught:
        decode(text, "x.toml")
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "piece",
    ["a", "a-", "1-", "a.", "a=", "'", '"a', "-eyJ", "http://", "//a:b", "1;tcp", "MUNGE:", "-----BEGIN A-----"],
)
def test_time_grows_with_the_length_of_a_text_and_not_with_its_square(piece: str) -> None:
    def least_s(pieces: int) -> float:
        text, times = piece * pieces, []
        for _ in range(3):
            begun = time.process_time()
            clean_text(text)
            times.append(time.process_time() - begun)
        return min(times)

    assert least_s(32_000) < 12 * least_s(8_000) + 0.05  # 16 times by the square


def test_assignments_within_assignments_end() -> None:
    assert clean_text("a=" * 4000).endswith(HIDDEN)
    assert clean_text("--export=ALL,A=B=TOKEN=x") == f"--export=ALL,A=B=TOKEN={HIDDEN}"
