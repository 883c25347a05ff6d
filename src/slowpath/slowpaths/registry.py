# SPDX-License-Identifier: Apache-2.0
"""Every slow path and every remedy. Each is declared in a module of its own; this one only lists them. Pure."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import TypeVar

from slowpath import slowpaths
from slowpath.core.errors import UsageError, unknown
from slowpath.findings.program_pattern import ProgramSlowPath
from slowpath.findings.slow_path import ProgramPrice, ProgramRemedy, Refinement, Remedy, SlowPath, fitting
from slowpath.slowpaths.program import calls, excess, managed, outside, waiting

# Each module of this package that is called by its code declares one.
_DECLARED = (module.name for module in pkgutil.iter_modules(slowpaths.__path__) if module.name.startswith("sp"))
_BY_CODE: tuple[SlowPath, ...] = tuple(
    import_module(f"{slowpaths.__name__}.{name}").SLOW_PATH for name in sorted(_DECLARED)
)
_ACCOUNTS: tuple[SlowPath, ...] = tuple(module.SLOW_PATH for module in (calls, excess, managed, outside, waiting))
SLOW_PATHS = tuple(sorted((*_BY_CODE, *_ACCOUNTS), key=lambda path: path.code))
PROGRAM_SLOW_PATHS = tuple(path for path in SLOW_PATHS if isinstance(path, ProgramSlowPath))
_T = TypeVar("_T", Remedy, ProgramRemedy)


def _once(remedies: Iterable[_T]) -> tuple[_T, ...]:
    return tuple({id(remedy): remedy for remedy in remedies}.values())


REMEDIES = _once(remedy for path in SLOW_PATHS for remedy in path.remedies)
PROGRAM_REMEDIES = _once(remedy for path in SLOW_PATHS for remedy in path.program_remedies)


def find_remedy(name: str, axis: str) -> Remedy:
    """Raises: UsageError: nothing of that name helps on the slow side of this axis."""
    fitting = {remedy.name: remedy for remedy in REMEDIES if axis in remedy.axes}
    if name not in fitting:
        raise unknown(f"remedy for axis {axis}", name, fitting)
    return fitting[name]


def remedy_text(name: str) -> str:
    """Return what to do."""
    return next((remedy.text for remedy in REMEDIES if remedy.name == name), name)


PRICES: tuple[ProgramPrice, ...] = tuple(replace(price, rule=path.code) for path in SLOW_PATHS for price in path.prices)


def find(code: str) -> SlowPath:
    """Return the slow path of a code, in upper or lower case: `SP001` or `1`.  Raises: UsageError: there is none."""
    path = known(f"SP{code.strip().upper().removeprefix('SP').zfill(3)}")
    if path is None:
        raise UsageError(f"there is no slow path '{code}'; see slowpath explain")
    return path


def known(code: str) -> SlowPath | None:
    """Return the slow path of exactly this code; None: another version named it."""
    return next((path for path in SLOW_PATHS if path.code == code), None)


def codes_refined_by(refinement: Refinement) -> frozenset[str]:
    """Return the codes of the slow paths that a diagnosis refines in this way."""
    return frozenset(path.code for path in SLOW_PATHS if refinement in path.refinements)


def remedies_for(
    code: str,
    axis: str | None = None,
    library: str | None = None,
    version: str | None = None,
    transport: str | None = None,
) -> tuple[Remedy, ...]:
    """Return the remedies of a slow path that fit; see `slowpath.findings.slow_path.fitting`."""
    path = known(code)
    return fitting(path.remedies, axis, library, version, transport) if path else ()


def find_program_remedy(key: str) -> ProgramRemedy:
    """Return the program remedy of a key, as after --remedy.  Raises: UsageError: there is none."""
    for remedy in PROGRAM_REMEDIES:
        if remedy.key == key:
            return remedy
    raise unknown("remedy", key, [*(remedy.key for remedy in PROGRAM_REMEDIES), "all"])


def codes_helped_by(remedy: Remedy | ProgramRemedy) -> tuple[str, ...]:
    """Return the codes of the slow paths that a remedy may remove."""
    return tuple(
        path.code for path in SLOW_PATHS if any(remedy is own for own in (*path.remedies, *path.program_remedies))
    )


def program_remedies_for(code: str, table_names: tuple[str, ...] = ()) -> tuple[ProgramRemedy, ...]:
    """Return the program remedies of a slow path; those that stand for a remedy of these names come first."""
    path = known(code)
    remedies = path.program_remedies if path else ()
    return tuple(sorted(remedies, key=lambda remedy: not set(remedy.table) & set(table_names)))
