# SPDX-License-Identifier: Apache-2.0
"""A tuning as a site uses it: files below a prefix, a module, a script for shells; and all of it taken away again.

Everything is made anew from the promises of the tuning's folder, of which names are taken that Slowpath knows, and
numbers. No file of that folder is copied, read by a shell or run.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import Versioned, decoded, json_bytes, read_bytes, write_atomically
from slowpath.core.result import Whole
from slowpath.diagnose.tune.files import LIBRARY, PRELOAD, contents
from slowpath.diagnose.tune.promise import FILE as PROMISES
from slowpath.diagnose.tune.promise import Promised
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import openmpi_parameters

MANIFEST: Final = "installed.json"
SCRIPT: Final = "environment.sh"
PARAMETERS: Final = "openmpi-mca-params.conf"
PARTS: Final = "libslowpath-coll-parts.so"
MODULE: Final = "slowpath-tuned"
_FOLDER: Final = "share/slowpath/tuned"
_MODULES: Final = "share/modulefiles"
_SCHEMA: Final = 1
# In shells, Tcl or the lists of ld.so they end a word or begin something else.
_ODD: Final = re.compile(r"""[\x00-\x1f\x7f"'`$\\{}\[\];]""")
_NAME: Final = re.compile(r"[A-Za-z0-9_.+-]+")
_ODD_FOR_PRELOAD: Final = re.compile(r"[ :]")


class SiteManifest(msgspec.Struct, frozen=True):
    """installed.json. files: by path below the prefix, the SHA-256 of each content that is ours.  folders: that were
    made for them.
    """

    files: Mapping[str, tuple[str, ...]]
    folders: tuple[str, ...] = ()
    schema: Whole = _SCHEMA


@dataclass(frozen=True)
class Installation:
    """What stands below a prefix. identity: library and version.  files: by path below it."""

    prefix: Path
    identity: str
    files: Mapping[str, bytes]

    @property
    def script(self) -> Path:
        """For shells."""
        return self.prefix / _folder(self.identity) / SCRIPT

    @property
    def modules(self) -> Path:
        """For `module use`."""
        return self.prefix / _MODULES

    @property
    def module(self) -> str:
        """For `module load`."""
        return f"{MODULE}/{self.identity}"


@dataclass(frozen=True)
class RemovedFiles:
    """files: that were taken away.  left: that somebody changed since."""

    files: Sequence[Path]
    left: Sequence[Path]


def installation(
    promised: Promised, prefix: Path, mpi: Mpi, environ: Mapping[str, str], preload: Path | None
) -> Installation:
    """The files of a tuning for this MPI.

    Args:   preload: libslowpath-coll.so of the engine that this Slowpath uses; None: it has none.
    Raises: UsageError: another library or version; nothing is promised; the prefix can't stand in a script.
            EnvironmentFailure: the library does not show what its file has to begin with.
    """
    identity = f"{mpi.name}-{mpi.version or 'unknown'}"
    if promised.mpi != identity or promised.library != mpi.name:
        raise UsageError(
            f"--install: this tuning is for {promised.mpi}, but {mpi.mpiexec} is {identity}; name its MPI with --mpi"
        )
    if not promised.picks:
        raise UsageError("--install: this tuning promises nothing; no file is needed")
    if odd := _ODD.search(str(prefix)):
        raise UsageError(f"--prefix {prefix}: {odd.group()!r} can't stand in a module file; choose another folder")
    folder = prefix / _folder(identity)
    replaced = preload is not None and any(pick.kind == "mockup" for pick in promised.picks)
    if replaced and _ODD_FOR_PRELOAD.search(str(prefix)):
        raise UsageError(f"--prefix {prefix}: LD_PRELOAD takes no blank and no colon; choose another folder")
    made = contents(
        folder,
        promised.library,
        promised.mpi,
        promised.picks,
        promised.measured,
        mpi,
        environ,
        folder / LIBRARY if replaced else None,
        classes=promised.classes,
    )
    files = {name: text.encode() for name, text in made.files.items()}
    if replaced and preload is not None:
        files |= {LIBRARY: preload.read_bytes(), PARTS: preload.with_name(PARTS).read_bytes()}
    if mpi.name == "openmpi":
        files[PARAMETERS] = openmpi_parameters(made.variables).encode()
    files[SCRIPT] = _script(identity, made.variables).encode()
    files[PROMISES] = json_bytes(promised)
    below = {f"{_folder(identity)}/{name}": content for name, content in files.items()}
    below[f"{_MODULES}/{MODULE}/{identity}"] = _module(identity, made.variables).encode()
    return Installation(prefix, identity, below)


def install(wanted: Installation) -> list[Path]:
    """Write what is not there yet; what an earlier installation left and this one does not need goes.

    Returns: files that were written.
    Raises:  UsageError: a file is there that is not ours, or was changed since; nothing is written then.
             EnvironmentFailure: the disk refuses.
    """
    prefix, manifest_path = wanted.prefix, wanted.prefix / _folder(wanted.identity) / MANIFEST
    before = read_manifest(manifest_path, wanted.identity)
    for name, content in wanted.files.items():
        there = _hash_of(prefix / name)
        if there is not None and there not in (_hash(content), *before.files.get(name, ())):
            raise UsageError(
                f"{prefix / name}: was not made by slowpath tune, or has changed since; move it away, or choose "
                "another --prefix"
            )
    new = [name for name, content in wanted.files.items() if _hash_of(prefix / name) != _hash(content)]
    folders = (*before.folders, *_made_folders(prefix, wanted.files))
    both = {name: (_hash(content), *before.files.get(name, ())) for name, content in wanted.files.items()}
    # Before any file, so that whatever is left of an installation that was cut off is known to be ours.
    _make(manifest_path.parent)
    _write_manifest(manifest_path, SiteManifest({**before.files, **both}, folders))
    for name in new:
        _make((prefix / name).parent)
        write_atomically(prefix / name, wanted.files[name])
    for name in before.files.keys() - wanted.files.keys():
        _take_away(prefix / name, before.files[name])
    now = {name: (_hash(content),) for name, content in wanted.files.items()}
    _write_manifest(manifest_path, SiteManifest(now, folders))
    return [prefix / name for name in new]


def remove(prefix: Path, identity: str | None) -> RemovedFiles:
    """Take away what `install` wrote and nobody changed.  Args: identity: None: of all libraries.

    Raises: UsageError: nothing is installed there.  RecordError: a manifest is damaged.
    """
    found = sorted((prefix / _FOLDER).glob(f"*/{MANIFEST}"))
    found = [path for path in found if identity in (None, path.parent.name) and _is_inside(path, prefix)]
    if not found:
        for_what = f" for {identity}" if identity else ""
        raise UsageError(f"--remove: no installation of slowpath tune is below {prefix}{for_what}; name its --prefix")
    taken: list[Path] = []
    left: list[Path] = []
    folders: set[str] = set()
    for path in found:
        manifest = read_manifest(path, path.parent.name)
        for name, hashes in manifest.files.items():
            file = prefix / name
            if file.is_symlink() or file.exists():
                (taken if _is_inside(file, prefix) and _take_away(file, hashes) else left).append(file)
        path.unlink()
        folders.update(manifest.folders)
    for folder in sorted(folders, reverse=True):  # innermost first
        with contextlib.suppress(OSError):  # others have put something there
            (prefix / folder).rmdir()
    return RemovedFiles(taken, left)


def _folder(identity: str) -> str:
    return f"{_FOLDER}/{identity}"


def read_manifest(path: Path, identity: str) -> SiteManifest:
    """What was installed; names beyond those that an installation has are a stranger's.  Raises: RecordError."""
    if not path.is_file():
        return SiteManifest({})
    content, advice = read_bytes(path), "remove it and the files next to it by hand"
    if decoded(content, Versioned, path, advice).schema != _SCHEMA:
        raise UsageError(f"{path}: was made by another version of slowpath; remove it with that version")
    found = decoded(content, SiteManifest, path, advice)
    own, module = _folder(identity), f"{_MODULES}/{MODULE}/{identity}"
    for name in found.files:
        folder, _, last = name.rpartition("/")
        if name != module and (folder != own or last in (".", "..", MANIFEST) or not _NAME.fullmatch(last)):
            raise RecordError(f"{path}: {name} is no file of an installation; {advice}")
    for name in found.folders:
        if not any(f"{whole}/".startswith(f"{name}/") for whole in (own, module)):
            raise RecordError(f"{path}: {name} is no folder of an installation; {advice}")
    return found


def _write_manifest(path: Path, manifest: SiteManifest) -> None:
    write_atomically(path, json_bytes(manifest))


def _made_folders(prefix: Path, names: Mapping[str, bytes]) -> tuple[str, ...]:
    """Folders below the prefix that are not there yet."""
    parents = {parent for name in names for parent in Path(name).parents if parent != Path()}
    return tuple(sorted(str(parent) for parent in parents if not (prefix / parent).exists()))


def _is_inside(path: Path, prefix: Path) -> bool:
    """No link leads elsewhere."""
    return path.parent.resolve().is_relative_to(prefix.resolve())


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(f"cannot make {folder}: {error.strerror}; name another --prefix") from error


def _take_away(path: Path, hashes: Sequence[str]) -> bool:
    """Whether it was ours, and is gone."""
    if _hash_of(path) not in hashes:
        return False
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentFailure(
            f"can't remove {path}: {error.strerror}; run this as the user who installed it"
        ) from error
    return True


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_of(path: Path) -> str | None:
    """Of a file's content; None: nothing is there; "": something that is no plain file."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return ""
    return _hash(read_bytes(path)) if path.is_file() else None


def _script(identity: str, variables: Mapping[str, str]) -> str:
    lines = [f"# Faster collectives of {identity}, by slowpath tune. Read it into a shell: . {SCRIPT}"]
    for name, value in variables.items():
        after = '"${LD_PRELOAD:+:$LD_PRELOAD}"' if name == PRELOAD else ""
        lines.append(f"export {name}={shlex.quote(value)}{after}")
    return "\n".join([*lines, ""])


def _module(identity: str, variables: Mapping[str, str]) -> str:
    text = f"Faster collectives of {identity}, by slowpath tune"
    lines = ["#%Module1.0", f"module-whatis {{{text}}}", f"conflict {MODULE}"]
    for name, value in variables.items():
        lines.append(f"{'prepend-path' if name == PRELOAD else 'setenv'} {name} {{{value}}}")
    return "\n".join([*lines, ""])
