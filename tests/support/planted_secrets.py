# SPDX-License-Identifier: Apache-2.0
"""Secrets of every shape, under names that environments of clusters and of CI have, to be searched for afterwards."""

from __future__ import annotations

import base64
import random
import string
from pathlib import Path

_HEX = "3fa91c0d7be24486a5d0e91f72c8b643"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3MzIzMDB9.k3Yw0Jt7xQpZ2mN8"
_BASE64 = "qL8vT2xZp0Wd5RkYb7NcHs1JfMe4Ug9A"
# (name of the variable, its value, the part of the value that must not be found).
NAMED = (
    ("SLURM_JWT", _JWT, _JWT),
    ("SLURM_STEP_KEY", "hunter2-step", "hunter2-step"),
    ("OMPI_MCA_secret_key", "s3cr3t-of-a-job", "s3cr3t-of-a-job"),
    ("OMPI_MCA_sec_basic_credential", "basic:Zz9", "basic:Zz9"),
    ("PMIX_SECURITY_TOKEN", "tok-771-pmix", "tok-771-pmix"),
    ("PMIX_SERVER_COOKIE", "ck_0918273645", "ck_0918273645"),
    ("PBS_JOBCOOKIE", "00000000A1B2C3D4", "00000000A1B2C3D4"),
    ("FLUX_AUTH_SIGNATURE", "flux-sign-1x", "flux-sign-1x"),
    ("I_MPI_HYDRA_PASSWORD", "correct horse battery", "correct horse battery"),
    ("MPICH_LICENSE_KEY", "LIC-4242-XYZQ", "LIC-4242-XYZQ"),
    ("UCX_AUTH", "munge-cred-77", "munge-cred-77"),
    ("FI_PRIVATE_DATA", "p71v4t3-d4t4", "p71v4t3-d4t4"),
    ("CUDA_API_TOKEN", "cuda+tok/22=", "cuda+tok/22="),
    ("SLOWPATH_PASSPHRASE", 'pass"phrase\\9', "phrase\\9"),
    ("HYDRA_SSHPASS", "ssh-pass-001", "ssh-pass-001"),
    ("OMP_apiKey", "ak-31415926", "ak-31415926"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzz", "wJalrXUtnFEMI"),
    ("CI_JOB_TOKEN", "glcbt-64-abcdef", "glcbt-64-abcdef"),
)
SHAPED = (
    ("UCX_LABEL", _JWT.replace("exp", "iat"), "k3Yw0Jt7xQpZ2mN8"),
    ("UCX_TRACE_ID", _HEX, _HEX),
    ("FI_EXTRA", _BASE64, _BASE64),
    ("OMPI_MCA_orte_precondition_transports", "9f3c1b7aa0e24d58-c7716be2f04a9d31", "9f3c1b7aa0e24d58"),
    ("OMPI_MCA_mail", "https://bob:pa55w0rd@git.example/x", "pa55w0rd"),
    ("MPICH_NOTE", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----", "MIIEvQIBADANBgkq"),
    ("UCX_NOTE", "ghp_0123456789abcdefghijABCDEFGHIJ", "ghp_0123456789"),
    ("I_MPI_NOTE", "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"),
    ("MPIR_CVAR_NOTE", "MUNGE:AwQDAAAabcdEFGH0123456789=:", "AwQDAAAabcd"),
    ("SLURM_JOB_NAME", "xoxb-123456789012-abcdefABCDEF", "xoxb-123456789012"),
    ("SLURM_JOB_NODELIST", "eyJhbGciOiJIUzI1NiJ9.e30.Zm9vYmFyYmF6", "Zm9vYmFyYmF6"),
    ("FI_PSM3_UUID", "c0ffee00-1234-4321-8888-1a2b3c4d5e6f", "1a2b3c4d5e6f"),
    ("LD_PRELOAD", "/Zk3Vq9Lw2Xs8Bn4Rt6Yp1Md7", "Zk3Vq9Lw2Xs8Bn4Rt6Yp1Md7"),
    ("OMPI_MCA_orte_hnp_uri", "2836201472.0;tcp://10.9.8.7:41935", "2836201472.0"),
)
PLANTED = (*NAMED, *SHAPED)
ENVIRON = {name: value for name, value, _ in PLANTED}
NEVER_WORDS = ("JWT", "TOKEN", "KEY", "SECRET", "PASS", "AUTH", "COOKIE", "CREDENTIAL", "PRIVATE", "PASSWORD")


def random_secrets(number: int, seed: int) -> dict[str, str]:
    """Variables with a never-word somewhere in a name that steers MPI, and a value of a random kind."""
    draw = random.Random(seed)
    made = {}
    for n in range(number):
        prefix = draw.choice(("SLURM_", "OMPI_MCA_", "UCX_", "FI_", "MPIR_CVAR_", "I_MPI_", "PMIX_", "CUDA_", ""))
        words = [draw.choice(("STEP", "job", "A", "RNDV")), draw.choice(NEVER_WORDS), draw.choice(("X", "name", "ID"))]
        draw.shuffle(words)
        raw = draw.randbytes(draw.randrange(9, 40))
        value = draw.choice(
            (
                raw.hex(),
                base64.b64encode(raw).decode(),
                base64.b32encode(raw).decode().lower(),
                f"{n}-" + "".join(draw.choices(string.printable[:94], k=len(raw))),
            )
        )
        name = draw.choice((str, str.lower))("_".join(words))
        made[f"{prefix}{name}_{n}" if prefix else f"V{n}_{name}"] = value
    return made


def found_in(folder: Path, secrets: list[str]) -> list[str]:
    """Which of these are in any byte of any file of the folder, or in a name."""
    content = b"\0".join(
        str(path).encode() + b"\0" + path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    )
    forms = {one: (one, one.replace("\\", "\\\\").replace('"', '\\"')) for one in secrets}
    return [one for one in secrets if any(form.encode() in content for form in forms[one])]
