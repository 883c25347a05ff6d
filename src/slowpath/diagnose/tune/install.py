# SPDX-License-Identifier: Apache-2.0
"""Tuned collectives in words, and installed for a library."""

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
from slowpath.core.units import format_bytes, format_time
from slowpath.diagnose.tune.cells import (
    AFTER_BARRIER,
    AT_ONCE,
    VIEWS,
    WORSE_RATIO,
    CellFactor,
    CollectiveCell,
    Mean,
    Promise,
    Promised,
    TimedView,
    TuneRequest,
    Use,
    counts,
    geometric_mean,
    promises,
)
from slowpath.diagnose.tune.cells import PROMISES_FILE as PROMISES
from slowpath.diagnose.tune.files import LIBRARY, PRELOAD, contents, export_lines
from slowpath.diagnose.tune.session import Tuned
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import Kind, Pick, openmpi_parameters, ranges

# What a tuning says: a table of cells, the gain over all of them, the lines to copy.

_FREE_SHARE = 0.5  # of the processors that others may use before the machine is called busy

# One for each way of timing: those that share cells share a column.
COLUMNS = tuple(
    view for number, view in enumerate(VIEWS) if all(view.parameters != one.parameters for one in VIEWS[:number])
)


def lines(request: TuneRequest, tuned: Tuned) -> list[str]:
    """The whole text."""
    found = promises(tuned.factors)
    shown = [*promised_table(found, request.uses), *_mockups(tuned), *_covered(request, tuned)]
    shown += _gains(request, tuned, found)
    if not tuned.picks and tuned.unverified:
        count = len(tuned.unverified)
        return [
            *shown,
            "",
            f"{request.identity}: {count} cell{'s' * (count > 1)} faster alone, but none confirmed with all files: "
            "the library's own choice stays everywhere; verify again with --resume and a longer --budget or none",
        ]
    if not tuned.picks:
        return [
            *shown,
            "",
            f"{request.identity}: nothing is proven faster than the library's own choice; no file is needed",
        ]
    if not tuned.variables:
        return [*shown, "", "tuning.json contains them for libslowpath-coll.so, which this engine lacks"]
    return [*shown, "", "To use it:", *(f"  {line}" for line in export_lines(tuned.variables))]


def crowded(load: float, cores: int, ranks: int) -> str | None:
    """What a lack of processors means for the promises; None: each rank has one, and they are mostly free.

    Args: load: average of the last minute before the tuning.  ranks: the most that are tuned for.
    """
    if ranks > cores:
        return (
            f"{ranks} ranks share {cores} processors: the scheduler determines their times, so the promises hold "
            f"only for ranks that share processors; otherwise tune with {cores} ranks or fewer"
        )
    if load < _FREE_SHARE * cores:
        return None
    return (
        f"other programs used this machine (load {load:.1f}, {cores} processors): the promises hold for an equally "
        "busy machine; tune again on a quiet one"
    )


def _covered(request: TuneRequest, tuned: Tuned) -> list[str]:
    """Which lengths are chosen for, and which of them were measured."""
    kinds: tuple[Kind, ...] = ("algorithm", "mockup")
    classes = bool(request.uses)
    chosen = [one for kind in kinds for one in ranges(tuned.picks, kind, tuned.measured, classes=classes)]
    found = [one for one in chosen if one.collective != "barrier"]
    if not found:
        return []
    shown = [
        "",
        "Lengths that the files choose for, including those between measured neighbours with the same choice:",
    ]
    for one in sorted(found, key=lambda picked: (picked.collective, picked.ranks, picked.first)):
        lengths = ", ".join(map(format_bytes, one.measured))
        span = " to ".join(map(format_bytes, dict.fromkeys((one.first, one.last))))
        shown.append(f"  {one.collective}, {one.ranks} ranks: {one.name} for {span} (measured: {lengths})")
    return shown


def _gains(request: TuneRequest, tuned: Tuned, found: Sequence[Promise]) -> list[str]:
    """All cells as they were measured, those that take another way by themselves, and what got worse."""
    if not found:
        return []
    launches = max(len(factor.pairs) for factor in tuned.factors)
    changed = [one for one in found if one.pick is not None]
    shown = [
        "",
        f"{request.identity}: {len(found)} cells measured again, {launches} launches with the files and as many "
        "without; speedup (geometric mean):",
    ]
    for view in (*VIEWS, AT_ONCE):
        mine = [factor for factor in tuned.factors if factor.view == view.name]
        mean, of_changed = geometric_mean(mine), geometric_mean([one for one in mine if one.pick is not None])
        if mean is not None:
            taken = "" if of_changed is None else f"; the {len(changed)} that take another way {_mean(of_changed)}"
            shown.append(f"  {view.name}: {_mean(mean)}{taken}")
    least = sorted(one.times_faster for one in changed if one.times_faster is not None)
    if least:
        shown.append(
            f"promised for further launches, in the worst view: {least[0]:.2f} to {least[-1]:.2f} times faster"
        )
    shown += _of_program(request, found)
    number = counts(tuned.factors)
    longer = [factor for factor in tuned.factors if factor.ratio > WORSE_RATIO]
    worst = max(tuned.factors, key=lambda one: one.ratio)
    shown.append(
        f"{number['better']} faster, {number['worse']} slower, {number['same']} neither, of {len(tuned.factors)} "
        f"by whole intervals; {len(longer)} took over 2 % longer in these launches, the worst "
        f"{name_of(worst.cell)} {worst.view}: {_factor(worst)}"
    )
    if tuned.unverified:
        cells = ", ".join(f"{one.collective} {format_bytes(one.bytes)}" for one in tuned.unverified)
        shown.append(f"removed after the last verification, so the final files were not measured: {cells}")
    return shown


def _mean(mean: Mean) -> str:
    if mean.interval is None:
        return f"{mean.ratio:.3f}"
    return f"{mean.ratio:.3f} [{mean.interval[0]:.3f}, {mean.interval[1]:.3f}]"


def promised_table(found: Sequence[Promise], uses: Sequence[Use] = ()) -> list[str]:
    """A row for each cell: what it takes, how much faster it is in each view, and what is promised.

    Args: uses: of a program: its seconds stand in front, most first.
    """
    if not found:
        return []
    columns = (*COLUMNS, AT_ONCE) if any(one.seen(AT_ONCE.name) for one in found) else COLUMNS
    rows = [("cell", "default", "tuned", "by", *(view.name for view in columns), "promised")]
    if uses:
        rows = [("program", *rows[0], "saves at least")]
    order = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in uses}
    for one in sorted(found, key=lambda promise: -order[promise.cell].seconds if promise.cell in order else 0):
        first = one.seen(AFTER_BARRIER.name) or one.factors[0]
        least = "" if one.pick is None or one.times_faster is None else f"{one.times_faster:.2f}"
        seen = [_seen(one, view) for view in columns]
        row = (name_of(one.cell), *_times(first), _by(one.pick), *seen, least)
        if uses:
            use = order.get(one.cell)
            row = (format_time(use.seconds) if use else "", *row, format_time(_saved_s(one, use)) if least else "")
        rows.append(row)
    return _aligned(rows)


def _saved_s(one: Promise, use: Use | None) -> float:
    """What the program's calls take less, by the promise."""
    if use is None or one.pick is None or one.times_faster is None:
        return 0.0
    return use.seconds * (1 - 1 / one.times_faster)


def _of_program(request: TuneRequest, found: Sequence[Promise]) -> list[str]:
    """What the program as a whole has of it."""
    if not request.uses:
        return []
    uses = {CollectiveCell(use.collective, use.ranks, use.bytes): use for use in request.uses}
    saved_s = sum(_saved_s(one, uses.get(one.cell)) for one in found)
    all_s = sum(use.seconds for use in request.uses)
    return [
        f"{request.program}: a rank spends {format_time(all_s)} in these collectives; the promises save at least "
        f"{format_time(saved_s)}"
    ]


def _seen(one: Promise, column: TimedView) -> str:
    """The least of the views that share the column's cells."""
    names = [view.name for view in (*VIEWS, AT_ONCE) if view.parameters == column.parameters]
    found = [factor for factor in one.factors if factor.view in names]
    return _factor(min(found, key=lambda factor: factor.at_least or 0.0)) if found else ""


def _table(factors: Sequence[CellFactor]) -> list[str]:
    """A row for each cell in one view."""
    rows = [("cell", "default", "tuned", "by", "times faster")]
    rows += [(name_of(one.cell), *_times(one), _by(one.pick), _factor(one)) for one in factors]
    return _aligned(rows)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _times(one: CellFactor) -> tuple[str, str]:
    return format_time(one.default_s), format_time(one.tuned_s)


def _by(pick: Pick | None) -> str:
    return pick.name if pick else "the library's own choice"


def name_of(cell: CollectiveCell) -> str:
    """`bcast, 64 KiB, 4 ranks`."""
    length = "" if cell.collective == "barrier" else f", {format_bytes(cell.bytes)}"
    return f"{cell.collective}{length}, {cell.ranks} ranks"


def _mockups(tuned: Tuned) -> list[str]:
    cells = {factor.cell for factor in tuned.factors if factor.pick is not None}
    alone = [mockup for mockup in tuned.mockups if mockup.pick in tuned.picks and mockup.cell not in cells]
    if not alone:
        return []
    return [
        "",
        "Proven in one process against the library's own call; libslowpath-coll.so was missing to verify the file:",
        *_table(sorted(alone, key=lambda one: one.cell)),
    ]


def _factor(one: CellFactor) -> str:
    """Default over tuned with its interval."""
    if one.interval is None:
        return f"{one.times_faster:.2f}"
    low, high = one.interval
    return f"{one.times_faster:.2f} [{1 / high:.2f}, {1 / low:.2f}]" if low > 0 else f"{one.times_faster:.2f}"


# A tuning as a site uses it: files below a prefix, a module, a script for shells; and all of it taken away again.
#
# Everything is made anew from the promises of the tuning's folder, of which names are taken that Slowpath knows, and
# numbers. No file of that folder is copied, read by a shell or run.

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
