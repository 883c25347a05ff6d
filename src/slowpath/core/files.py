# SPDX-License-Identifier: Apache-2.0
"""Files of run folders: how they are found, read, decoded, written, and whose programs may be run."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import stat
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError, is_version, unreadable
from slowpath.core.result import FILE_BYTES, LONGEST_ID, MOST_STEPS, LongText, Name, Whole

_PACKAGED = Path(__file__).parents[1] / "_data"
_CHECKOUT = Path(__file__).parents[3]


DATA_VARIABLE = "SLOWPATH_DATA_DIR"  # the user's data, in place of the folder that the system has for it


def data_folder(name: str) -> Path:
    """Folder `name`, such as engine or campaigns, of the installed package, or of the checkout it is run from."""
    packaged = _PACKAGED / name
    return packaged if packaged.is_dir() else _CHECKOUT / name


RESTORE = "restore it from a copy, or make it anew"  # what to do about a damaged file
FILE_LIMIT_BYTES = 256 * 2**20  # of a file that is read whole; the largest plan.json on record has 9 MB

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def json_bytes(value: Any) -> bytes:
    """A value of our types as an indented JSON document that ends with a line feed."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def write_atomically(path: Path, content: bytes | str) -> None:
    """Writes next to `path` and renames, so that a reader never sees half a file; an existing file is replaced.

    A device or a pipe below /dev, such as /dev/null or /dev/stdout, is written to: a file in its place, which root can
    put there, would break every program on the machine. One in any other folder is replaced, since whoever made the
    folder may have put it there to be waited for.

    Raises: EnvironmentFailure if the disk is full, read-only or gone; `path` is then as it was before.
    """
    written = content.encode() if isinstance(content, str) else content
    if _is_special(path):
        try:
            with path.open("wb", buffering=0) as file:
                file.write(written)
        except OSError as error:
            raise cannot("write", path, error) from error
        return
    # Two containers or nodes may give their processes the same number.
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}.part")
    try:
        _drop(part)  # of a process that was killed; or a link that somebody put there, which must not be followed
        with part.open("xb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        _drop(part)
        raise cannot("write", path, error) from error
    except BaseException:
        _drop(part)
        raise


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe that the user named below /dev."""
    if Path("/dev") not in path.parents:
        return False
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def append_at_once(path: Path, text: str) -> None:
    """Add to a local file in one write, so that what others add at the same time stands before or after it (write(2),
    O_APPEND).  Raises: OSError.
    """
    left = memoryview(text.encode())
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _drop(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def read_bytes(path: Path, limit_bytes: int = FILE_LIMIT_BYTES, within: Path | None = None) -> bytes:
    """Content of a file that somebody else may have made.

    Args: limit_bytes: a larger file is refused unread.  within: the folder that it must not lead out of.
    Raises: RecordError: missing, no regular file, too large, led out of `within`, or the system refuses it.
    """
    descriptor = open_regular(path, limit_bytes, within)
    with os.fdopen(descriptor, "rb") as file:
        try:
            content = file.read(limit_bytes + 1)  # it may have grown since
        except OSError as error:
            raise unreadable(path, error) from error
    if len(content) > limit_bytes:
        raise _too_large(path, len(content), limit_bytes)
    return content


def open_regular(path: Path, limit_bytes: int | None = FILE_LIMIT_BYTES, within: Path | None = None) -> int:
    """Descriptor for reading a regular file; arguments and errors as those of `read_bytes`. None: of any size.

    A FIFO would block for ever, and opening a device may do something, so that its kind is looked at before, and once
    more after it is open, since it may have been replaced.
    """
    if within is not None:
        inside(within, path.absolute())  # `path` is no name within the folder, which `inside` would put below it
    try:
        _require_regular(path, path.stat())
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise missing(path) from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    try:
        status = os.fstat(descriptor)
        _require_regular(path, status)
        if limit_bytes is not None and status.st_size > limit_bytes:
            raise _too_large(path, status.st_size, limit_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def missing(path: Path) -> RecordError:
    """Return the error for a file or folder that is not there."""
    return RecordError(f"{path}: is missing; check the name")


def inside(folder: Path, name: str | Path) -> Path:
    """`folder / name`, where symbolic links and `..` don't lead out of `folder`; it need not be there.

    Raises: RecordError: it leads elsewhere. What a folder holds may come from anybody, and its names must not choose
    what is read or written on this machine.
    """
    path = folder / name
    try:
        leads_out = not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError) as error:  # a name with a NUL
        raise unreadable(path, error, RESTORE) from error
    if leads_out:
        raise unreadable(path, f"it leads out of {folder}", RESTORE)
    return path


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for test, kind in _KINDS if test(status.st_mode)), "no file")
        raise unreadable(path, f"it is {kind}", RESTORE)


def _too_large(path: Path, size_bytes: int, limit_bytes: int) -> RecordError:
    return unreadable(path, f"it has {size_bytes} bytes, and the limit is {limit_bytes}", RESTORE)


def require_utf8(path: Path) -> None:
    """Check that a path can be written into a record, which is UTF-8.  Raises: UsageError: it can't."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise UsageError(f"{shown}: is not UTF-8; rename it") from error


def cannot(action: str, path: Path | str, error: OSError) -> EnvironmentFailure:
    """Return what to raise where the disk refuses `action`, as "write", at `path`."""
    return EnvironmentFailure(f"cannot {action} {path}: {error.strerror or error}; free space, or name another place")


VARIABLE = "SLOWPATH_TRUST_OWNERS"
ROOT = 0
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def why_not_trusted(status: os.stat_result, environ: Mapping[str, str]) -> str | None:
    """Why a file or folder with this status could have been changed by somebody else; None: it could not."""
    if status.st_uid not in trusted_owners(environ):
        return f"it belongs to {_user(status.st_uid)}"
    sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)  # entries are their owners' then
    return "everybody can write there" if status.st_mode & stat.S_IWOTH and not sticky else None


def require_place(folder: Path, contents: str, elsewhere: str, environ: Mapping[str, str]) -> None:
    """Raise EnvironmentFailure if others could change what is run from `folder`, which need not be there.

    Args: what: is kept there.  elsewhere: the variable that names another place.
    """
    for place in (folder.parent, folder):
        try:
            status = place.stat()
        except OSError:
            continue
        if reason := why_not_trusted(status, environ):
            ours = status.st_uid in trusted_owners(environ)
            mend = f"chmod go-w {place}" if ours else f"trust that user with {VARIABLE}"
            raise EnvironmentFailure(
                f"{contents} in {place} are not run, because {reason}: {mend}, or set {elsewhere} to another folder"
            )


def make_place(folder: Path) -> None:
    """`folder` and the one that it lies in, where they are missing: nobody else writes there.  Raises: OSError."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for place in (folder.parent, folder):
        place.mkdir(mode=0o755, exist_ok=True)


def shut(path: Path) -> None:
    """Take the right to write from all but the owner.  Raises: OSError."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & WRITABLE_BY_OTHERS:
        path.chmod(mode & ~WRITABLE_BY_OTHERS)


def trusted_owners(environ: Mapping[str, str]) -> frozenset[int]:
    """Numbers of the users whose files are run: this one, root, and those that SLOWPATH_TRUST_OWNERS names."""
    named = (_number(word.strip()) for word in environ.get(VARIABLE, "").split(",") if word.strip())
    return frozenset({os.geteuid(), ROOT, *(number for number in named if number is not None)})


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word)
    try:
        return pwd.getpwnam(word).pw_uid
    except (KeyError, ValueError):
        return None


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


Decoded = TypeVar("Decoded")
# What msgspec and the checks in our types raise on a document that is not of the type, and on none at all.
DAMAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Versioned(msgspec.Struct, frozen=True):
    """What tells one version of a file from another; read first."""

    schema: Whole


def decoded(content: bytes, kind: type[Decoded], path: Path, advice: str = RESTORE) -> Decoded:
    """`content` of `path` as `kind`.

    Args: advice: what to do about a damaged one, as "measure again".
    Raises: RecordError: it is no JSON, not of this type, or beyond the limits (core/result.py).
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except DAMAGE as error:
        raise unreadable(path, why(error), advice) from error


def require_schema(content: bytes, path: Path, schema: int, advice: str = RESTORE) -> None:
    """Refuse a file of another format than this slowpath reads.

    Args: schema: version that is read.  advice: as of `decoded`.
    Raises: RecordError: it states no version, or another one.
    """
    written = decoded(content, Versioned, path, advice).schema
    if written != schema:
        raise unreadable(path, is_version("schema", written, schema), "use the slowpath that wrote it")


def read_versioned(path: Path, kind: type[Decoded], schema: int, advice: str = RESTORE) -> Decoded:
    """Return a JSON file, which must not lead out of its folder, as `kind`.

    Args: schema, advice: as of `require_schema`.
    Raises: RecordError: it is missing, damaged, beyond the limits, or of another version.
    """
    content = read_bytes(path, FILE_BYTES.get(path.name, FILE_LIMIT_BYTES), within=path.parent)
    require_schema(content, path, schema, advice)
    return decoded(content, kind, path, advice)


def why(error: Exception) -> str:
    """The reason in one line."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


DIAGNOSIS_FILE = "diagnosis.json"
_SURVEY = "-survey"  # how the name of its folder ends
# One folder of the diagnosis itself: nothing hidden, no way up, no way elsewhere.
StepFolder = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=LONGEST_ID)]


class StepInfo(msgspec.Struct, frozen=True):
    """One run of a diagnosis. folder: within the diagnosis.  why: it was made."""

    number: Whole
    folder: StepFolder
    why: LongText


class DiagnosisInfo(msgspec.Struct, frozen=True):
    """started: local time, ISO 8601.  mpi: identity."""

    schema: Whole
    started: Name
    mpi: Name | None = None
    status: Name = "running"
    steps: Annotated[list[StepInfo], Meta(max_length=MOST_STEPS)] = []


def is_diagnosis(folder: Path) -> bool:
    """Whether `slowpath diagnose` wrote this folder."""
    return (folder / DIAGNOSIS_FILE).is_file()


def read_info(folder: Path) -> DiagnosisInfo:
    """Read the diagnosis of any schema.  Raises: RecordError: it is missing or damaged."""
    path = folder / DIAGNOSIS_FILE
    content = read_bytes(path, FILE_BYTES[DIAGNOSIS_FILE], within=folder)
    return decoded(content, DiagnosisInfo, path, RESTORE)


def step_folders(folder: Path) -> list[Path]:
    """Run folders of its steps that are there, the survey first.

    Raises: RecordError: damaged, none is there, or one leads out of the diagnosis.
    """
    steps = [inside(folder, step.folder) for step in read_info(folder).steps]
    steps.sort(key=lambda step: not step.name.endswith(_SURVEY))  # a step before it may be about the user's own state
    measured = [step for step in steps if (step / "run.json").is_file()]
    if not measured:
        raise unreadable(folder, "no step of this diagnosis is there", RESTORE)
    return measured


def dated_folder(parent: Path, stem: str, now: datetime | None = None) -> Path:
    """Return PARENT/STEM-YYYYMMDD-HHMMSS, with a number behind it where that is taken."""
    path = parent / f"{stem}-{(now or datetime.now()).strftime('%Y%m%d-%H%M%S')}"
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not each.exists())
