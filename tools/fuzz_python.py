#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libFuzzer for the reader in Python that SLOWPATH_FUZZ_TARGET names, by Atheris. Started by tools/fuzz."""

from __future__ import annotations

import importlib
import os
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["slowpath"]):
    from fuzz_target import Target, refused
from fuzz_values import with_hostile

TABLES = ("machine", "run", "watch")  # fuzz_targets.py has them all; to instrument the whole package takes long


def _target(name: str) -> Target:
    for table in TABLES:
        with atheris.instrument_imports(include=["slowpath"]):
            module = importlib.import_module(f"fuzz_{table}_targets")
        for target in getattr(module, f"{table.upper()}_TARGETS"):
            if target.name == name:
                found: Target = target
                return found
    raise ValueError(f"no target {name}")


def _mutated(target: Target, data: bytes, most_bytes: int, seed: int) -> bytes:
    """Half of all JSON inputs get a value that an attacker would take, which bytes seldom become."""
    if target.is_json and seed % 2:
        try:
            made = with_hostile(data.decode(), random.Random(seed)).encode(errors="surrogatepass")
        except (ValueError, RecursionError):
            made = b""
        if 0 < len(made) <= most_bytes:
            return made
    return bytes(atheris.Mutate(data, most_bytes))


def main() -> None:
    """Does not return: libFuzzer ends the process."""
    target = _target(os.environ["SLOWPATH_FUZZ_TARGET"])
    folder = Path(tempfile.mkdtemp())  # in TMPDIR, which tools/fuzz removes

    def read(data: bytes) -> None:
        refused(target, data, folder)

    def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
        return _mutated(target, data, most_bytes, seed)

    atheris.Setup(sys.argv, read, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
