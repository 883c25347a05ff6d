# SPDX-License-Identifier: Apache-2.0
"""Programs of this repository whose names end in no .py, as modules."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType


def module_of(program: Path) -> ModuleType:
    loader = SourceFileLoader(program.name.replace("-", "_"), str(program))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module
