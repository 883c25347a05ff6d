# SPDX-License-Identifier: Apache-2.0
"""The MPI in use: where it is, what it is, and what it needs in the environment."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from slowpath.core.files import DAMAGE
from slowpath.mpi.install import read_manifest, variables
from slowpath.mpi.launchers import BATCH_NAMES, MpiIdentity, identify, include_folders, link_folders
from slowpath.mpi.libraries import STANDARD_SONAME, abi_of
from slowpath.mpi.loaded import (
    CRAY_WRAPPER,
    Ask,
    Linked,
    doubt_about,
    hpcx_of,
    identity_behind,
    linked_by,
    prefers_cray_wrapper,
    prefix_of,
)
from slowpath.mpi.own_settings import STARTS_RANKS, OwnSetting, ParameterFile, own_settings
from slowpath.mpi.probe import output_of

# What keeps a library from wasting time at its start, where that changes nothing else.
#
# Open MPI's BTL ofi ends with sleep(1) (opal/mca/btl/ofi/btl_ofi_component.c, mca_btl_ofi_component_close, since 4.0).
# It is asked and closed again in MPI_Init wherever libfabric has no network with remote memory access: a second in each
# launch, of which a diagnosis has a hundred.

QUICK_VARIABLE = "OMPI_MCA_btl"
_QUICK = "^ofi"
# Where Linux lists network cards with remote memory access: InfiniBand, RoCE, Omni-Path and EFA; Slingshot.
FABRICS = (Path("/sys/class/infiniband"), Path("/sys/class/cxi"))


def has_fabric(folders: Sequence[Path] = FABRICS) -> bool:
    """Whether this node has such a card, or may have one: a folder that can't be read."""
    try:
        return any(any(folder.iterdir()) for folder in folders if folder.is_dir())
    except OSError:
        return True


def quick_start(
    library: str, launcher: str, prefix: Path, environ: Mapping[str, str], fabrics: Sequence[Path] = FABRICS
) -> dict[str, str]:
    """Variables that leave the BTL ofi out, where it could not be used and nobody says which BTLs are.

    Args: launcher: by name; those of batch systems start ranks on nodes that this one does not know.
    """
    own = launcher in ("prterun", "orterun")
    if library != "openmpi" or not own or QUICK_VARIABLE in environ or has_fabric(fabrics):
        return {}
    home = environ.get("HOME")
    files = [prefix / "etc" / "openmpi-mca-params.conf"]
    files += [Path(home) / ".openmpi" / "mca-params.conf"] if home else []
    return {} if any(_sets_btl(file) for file in files) else {QUICK_VARIABLE: _QUICK}


def as_library_is(mpi: Mpi) -> Mpi:
    """The same without what starts it quickly: then a file of the site, or the library by itself, says which BTLs."""
    if mpi.env.get(QUICK_VARIABLE) != _QUICK:
        return mpi
    return replace(mpi, env={name: value for name, value in mpi.env.items() if name != QUICK_VARIABLE})


def _sets_btl(file: Path) -> bool:
    """Whether a parameter file says which BTLs there are; one that can't be read may."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(line.partition("=")[0].strip() == "btl" for line in lines)


# C++ wrappers of MPI libraries; the last is that of the Cray programming environment.
WRAPPERS = ("mpicxx", "mpic++", "mpiicpx", CRAY_WRAPPER)

# Packages with a library's headers: of Debian and Ubuntu, and of Fedora and RHEL.
DEVELOPMENT = {"openmpi": ("libopenmpi-dev", "openmpi-devel"), "mpich": ("libmpich-dev", "mpich-devel")}
_HEADERS = ("/usr/include", "/usr/local/include")  # where compilers look without a flag


def lacks_header(linked: Linked, prefix: Path) -> bool:
    """Whether the wrapper names folders of headers and there is no mpi.h: only what runs programs is installed."""
    named = include_folders(linked.options)
    return bool(named) and not any(
        os.path.exists(os.path.join(folder, "mpi.h")) for folder in (*named, str(prefix / "include"), *_HEADERS)
    )


# Names that a launcher gives to more libraries than one: MVAPICH and others come with MPICH's.
_COMMON = ("unknown", "mpich")


@dataclass(frozen=True)
class Mpi:
    """One MPI installation.

    name        as in libraries.MPI_LIBRARIES, or unknown
    version     as its launcher, else the library itself, else its module reports; None if nothing does
    source      how it was found: option, environment, campaign, PATH, embedded or installed (by slowpath mpi install)
    launcher    name in launchers.LAUNCHERS
    abi         binary interface of the library that programs link (libraries.ABI_OF_SONAME)
    env         variables it needs on top of the caller's environment
    transport   "ucx": all point-to-point messages go through UCX, so its settings hold; None: the library's own way
    variant     what sets it apart from others of its version, empty if nothing does
    mpicxx      None if there is no compiler wrapper, so no engine can be built for it
    links       what decides what the wrapper links, where that is not the wrapper alone
    no_header   its wrapper is there and mpi.h is not
    doubt       what is known to go wrong with what is loaded, and what to do; empty: nothing
    """

    name: str
    version: str | None
    source: str
    prefix: Path
    mpiexec: Path
    mpicxx: Path | None
    abi: str
    standard_abi: bool
    launcher: str
    vendor_line: str
    env: Mapping[str, str] = field(default_factory=dict)
    transport: str | None = None
    variant: str = ""
    links: str = ""
    doubt: str = ""
    no_header: bool = False

    @property
    def lacks(self) -> str | None:
        """What of it the engine can't be compiled without; None: nothing."""
        if self.mpicxx is None:
            return "mpicxx"
        return "mpi.h" if self.no_header else None

    @property
    def install_what_it_lacks(self) -> str:
        """Commands for the user."""
        if self.name not in DEVELOPMENT:
            return "its development package"
        return "apt-get install {} (Fedora, RHEL: dnf install {})".format(*DEVELOPMENT[self.name])

    @property
    def is_compiler(self) -> bool:
        """Whether the wrapper is the compiler itself, which links the MPI unasked."""
        return self.mpicxx is not None and self.mpicxx.name == CRAY_WRAPPER

    @property
    def identity(self) -> str:
        """The library without its place: what may be compared from one machine to another."""
        plain = f"{self.name} {self.version or 'of unknown version'}"
        return f"{plain} + {self.variant}" if self.variant else plain

    @property
    def build_identity(self) -> str:
        """Return what an engine built for this MPI depends on."""
        facts = [self.name, self.version or "", self.abi, str(self.prefix), str(self.mpicxx)]
        return "\n".join([*facts, *filter(None, (self.variant, self.links))])

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with what this MPI needs."""
        return {**base, **self.env}


def inspect(
    mpiexec: Path, source: str, environ: Mapping[str, str], ask: Ask = output_of, last: Sequence[Path] = ()
) -> Mpi:
    """Ask the launcher at `mpiexec`, its compiler wrapper and the library behind that what they are.

    last: folders of the PATH whose wrappers count only where no other has one: those of the embedded MPI.
    """
    mpiexec = below_a_prefix(mpiexec)
    prefix = mpiexec.parent.parent
    made = read_manifest(prefix)
    own = variables(prefix, environ) if made else {}
    identity = identify(ask([str(mpiexec), "--version"], {**environ, **own}) or "", mpiexec.name)
    of_batch_system = identity.launcher in BATCH_NAMES
    mpicxx = _wrapper_near(mpiexec, environ, of_batch_system, last)
    if of_batch_system and mpicxx is not None:
        prefix = mpicxx.parent.parent
        identity = _library_behind(mpicxx, identity, environ, ask)
    own = {key: value for key, value in own.items() if environ.get(key) != value}
    needed = needed_variables(identity.name, prefix, environ, os.geteuid())
    env = {**needed, **quick_start(identity.name, identity.launcher, prefix, environ), **own}
    linked = linked_by(mpicxx, {**environ, **env}, ask) if mpicxx else Linked("", (), ())
    if of_batch_system and mpicxx is not None:
        prefix = prefix_of(mpicxx, linked, environ)
    if identity.name in _COMMON and made is None and source != "embedded":
        identity = identity_behind(mpicxx, prefix, linked, identity, environ, ask)
    files = _file_names([*linked.folders, str(prefix / "lib"), str(prefix / "lib64")])
    hpcx = hpcx_of(prefix, environ) if identity.name == "openmpi" else ""
    return Mpi(
        name=identity.name,
        version=identity.version,
        source=source,
        prefix=prefix,
        mpiexec=mpiexec,
        mpicxx=mpicxx,
        abi=abi_of(files, identity.name),
        standard_abi=STANDARD_SONAME in files,
        launcher=identity.launcher,
        vendor_line=identity.line,
        env=env,
        transport="ucx" if made or hpcx else None,
        variant=made.variant if made else hpcx,
        links=linked.options if mpicxx is not None and mpicxx.name == CRAY_WRAPPER else "",
        doubt=doubt_about(identity, linked, environ),
        no_header=mpicxx is not None and mpicxx.name != CRAY_WRAPPER and lacks_header(linked, prefix),
    )


def below_a_prefix(launcher: Path, root: Path = Path("/")) -> Path:
    """`launcher` as an absolute path; of one in a folder of `root` that is a link, as /bin to /usr/bin, behind it.

    Open MPI takes the folder above its launcher's for its prefix and starts nothing where that is /. The file's own
    link stays, since a launcher may act by the name by which it is called.
    """
    launcher = launcher.absolute()
    if launcher.parent.parent != root:
        return launcher
    led_to = launcher.parent.resolve() / launcher.name
    return led_to if led_to.exists() else launcher


def needed_variables(name: str, prefix: Path, environ: Mapping[str, str], uid: int) -> dict[str, str]:
    """Variables without which this library does not start from `prefix`, as far as `environ` lacks them."""
    needed: dict[str, str] = {}
    if name == "intelmpi":
        # Its wrappers print the literal I_MPI_SUBSTITUTE_INSTALLDIR without I_MPI_ROOT, and its libfabric finds
        # its providers only through the library path: MPI_Init fails in MPIDI_OFI_mpi_init_hook otherwise.
        needed["I_MPI_ROOT"] = str(prefix)
        folders = [str(prefix / "lib"), *filter(None, environ.get("LD_LIBRARY_PATH", "").split(":"))]
        needed["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(folders))
    if name == "openmpi" and uid == 0:
        # Open MPI refuses to start as root unless both are set (mpirun(1), "Running as root").
        needed |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {key: value for key, value in needed.items() if environ.get(key) != value}


def _wrapper_near(
    mpiexec: Path, environ: Mapping[str, str], of_batch_system: bool, last: Sequence[Path]
) -> Path | None:
    """The C++ wrapper of the same installation: next to the launcher, with its suffix (mpiexec.mpich) if it has one.

    A launcher of a batch system (srun, the mpiexec of PALS) has no wrapper next to it, so there the PATH decides.
    """
    suffix = mpiexec.suffix if mpiexec.suffix not in ("", ".hydra", ".gforker") else ""
    names = [f"mpicxx{suffix}"] + (["mpicxx"] if suffix else []) + list(WRAPPERS[1:])
    folders = [mpiexec.absolute().parent]
    if of_batch_system:
        folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
        folders.sort(key=lambda folder: folder.resolve() in last)
    # Next to mpiexec in /usr/bin a program named CC would be something else.
    names = names if of_batch_system else names[:-1]
    if of_batch_system and prefers_cray_wrapper(environ):
        wrapper = next((folder / CRAY_WRAPPER for folder in folders if os.access(folder / CRAY_WRAPPER, os.X_OK)), None)
        if wrapper is not None:
            return wrapper
    for folder in folders:
        for name in names:
            if os.access(folder / name, os.X_OK) and (folder / name).is_file():
                return folder / name
    return None


def _library_behind(mpicxx: Path, launcher: MpiIdentity, environ: Mapping[str, str], ask: Ask) -> MpiIdentity:
    """The library of a wrapper whose launcher is the batch system's: asked from the mpiexec next to the wrapper."""
    near = mpicxx.parent / "mpiexec"
    library = identify(ask([str(near), "--version"], environ) or "") if near.exists() else launcher
    if library.launcher in BATCH_NAMES:
        return launcher
    return MpiIdentity(library.name, library.version, launcher.launcher, launcher.line)


def _file_names(folders: list[str]) -> set[str]:
    names: set[str] = set()
    for folder in folders:
        try:
            names.update(os.listdir(folder))
        except OSError:
            continue
    return names


_MULTIARCH = f"{platform.machine()}-linux-gnu"


def library_file(mpi: Mpi, soname: str, environ: Mapping[str, str], ask: Ask = output_of) -> Path | None:
    """The file named `soname` in the folders that the MPI's wrapper links, else in its prefix, else where modules lead.

    None: there is none, as where a library has another name (Debian's MPICH).
    """
    show = (ask([str(mpi.mpicxx), "-show"], environ) or "") if mpi.mpicxx else ""
    inner = ("lib", "lib64", f"lib/{_MULTIARCH}", "lib/release")
    folders = [*link_folders(show), *(str(mpi.prefix / name) for name in inner)]
    folders += [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return next((Path(folder) / soname for folder in folders if os.path.isfile(Path(folder) / soname)), None)


_VARIABLES_QUESTION = """
import ctypes, json, sys
library, wanted = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), set(sys.argv[2:])
number, found, names = ctypes.c_int(), {}, []
if library.MPI_T_init_thread(0, ctypes.byref(number)) == 0 and library.MPI_T_cvar_get_num(ctypes.byref(number)) == 0:
    for index in range(number.value):
        name, length, nothing = ctypes.create_string_buffer(1024), ctypes.c_int(1024), ctypes.c_int(0)
        ints, kinds = [ctypes.c_int() for _ in range(3)], [ctypes.c_void_p() for _ in range(2)]
        at = ctypes.byref
        if library.MPI_T_cvar_get_info(index, name, at(length), at(ints[0]), at(kinds[0]), at(kinds[1]), None,
                                       at(nothing), at(ints[1]), at(ints[2])) != 0:
            continue
        names.append(name.value.decode(errors="replace"))
        handle, count = ctypes.c_void_p(), ctypes.c_int()
        if names[-1] in wanted and library.MPI_T_cvar_handle_alloc(index, None, at(handle), at(count)) == 0:
            value = ctypes.create_string_buffer(65536)
            if count.value <= 4096 and library.MPI_T_cvar_read(handle, value) == 0:
                found[names[-1]] = value.raw[:4096].hex()
sys.stdout.write(json.dumps({"names": names, "values": found}))
"""


class ControlVariables(msgspec.Struct, frozen=True):
    """names: of all that the library lists.  values: raw bytes of those that were asked for, hexadecimal."""

    names: list[str]
    values: dict[str, str]

    def number(self, name: str) -> int | None:
        """Return the value as a C int; None: not there, or not in hexadecimal digits."""
        try:
            return int.from_bytes(bytes.fromhex(self.values[name])[:4], "little", signed=True)
        except (KeyError, ValueError):
            return None


def read_control_variables(
    library: Path, wanted: Sequence[str], environ: Mapping[str, str], ask: Ask = output_of
) -> ControlVariables | None:
    """Return what `library` reads for `wanted` under `environ`; None: it can't be asked, as a library without MPI_T."""
    said = ask([sys.executable, "-c", _VARIABLES_QUESTION, str(library), *wanted], environ)
    try:
        return msgspec.json.decode((said or "").splitlines()[-1], type=ControlVariables)
    except (IndexError, *DAMAGE):
        return None


def library_of(mpi: Mpi) -> Path | None:
    """Return the file of the library; None: it is in none of the usual folders."""
    folders = (mpi.prefix / "lib", mpi.prefix / "lib64", mpi.prefix / "lib" / "release")
    return next((path for folder in folders for path in sorted(folder.glob("libmpi.so.*"))), None)


_LISTED: dict[Path, frozenset[str] | None] = {}


def listed_by(mpi: Mpi, environ: Mapping[str, str], ask: Ask = output_of) -> frozenset[str] | None:
    """Return the names of all control variables that a library lists, which it is asked for once; None: it can't be
    asked.
    """
    library = library_of(mpi)
    if library is None:
        return None
    if library not in _LISTED:
        variables = read_control_variables(library, (), {**environ, **mpi.env}, ask)
        _LISTED[library] = frozenset(variables.names) if variables is not None and variables.names else None
    return _LISTED[library]


# The parameter files that an MPI library reads by itself. Sources: Open MPI: `ompi_info --all` of 5.0.11
# (mca_base_param_files, mca_base_override_param_file); what its launcher reads was seen by `mpirun -n 1 env`. UCX: the
# names in libucs of MPICH 5.0.2's package (ucx.conf, UCX_CONFIG_DIR, HOME).
LONGEST_BYTES = 1 << 20
_NO_SWITCH = "the library always reads this file; comment the line out to try without it"


def settings_of(mpi: Mpi, environ: Mapping[str, str], has_gpus: bool = True) -> tuple[OwnSetting, ...]:
    """Return all settings of the user's that reach this MPI, with where each comes from.

    Args: has_gpus: whether messages from GPU memory are asked about.
    """
    needed = {*mpi.env, *needed_variables(mpi.name, mpi.prefix, {}, 0)}
    if read_manifest(mpi.prefix):
        needed |= {*variables(mpi.prefix, environ)}
    asks_gpu_collectives = has_gpus and names_gpu_collectives(mpi)
    return own_settings(environ, needed, list(parameter_files(mpi, environ)), mpi.name, asks_gpu_collectives)


def names_gpu_collectives(mpi: Mpi) -> bool:
    """Whether the library or a part of it names NCCL, RCCL or UCC, which may load both; True: its file is not found."""
    library = library_of(mpi)
    files = [library, *(mpi.prefix / "lib" / "openmpi").glob("*.so")] if library else []
    return not files or any(re.search(b"lib(nccl|rccl|ucc)", file.read_bytes()) for file in files if file.is_file())


def parameter_files(mpi: Mpi, environ: Mapping[str, str]) -> Iterator[ParameterFile]:
    """Return the files that can be read; of one parameter the first one counts."""
    home = Path(environ["HOME"]) if environ.get("HOME") else None
    for path, prefix, left_in in _places(mpi, environ, home):
        try:
            text = path.read_bytes()[:LONGEST_BYTES].decode("utf-8", "replace")
        except OSError:
            continue
        yield ParameterFile(str(path), text, prefix, left_in)


def _places(mpi: Mpi, environ: Mapping[str, str], home: Path | None) -> Iterator[tuple[Path, str, str | None]]:
    etc = mpi.prefix / "etc"
    if mpi.name == "openmpi":
        yield etc / "openmpi-mca-params-override.conf", "OMPI_MCA_", _NO_SWITCH
        named = environ.get("OMPI_MCA_mca_base_param_files")
        if named is not None:
            yield from ((Path(path), "OMPI_MCA_", None) for path in re.split("[,:]", named) if path.startswith("/"))
        else:
            if home:
                yield home / ".openmpi" / "mca-params.conf", "OMPI_MCA_", None
            yield etc / "openmpi-mca-params.conf", "OMPI_MCA_", None
        for name, prefix in (("prte", "PRTE_MCA_"), ("pmix", "PMIX_MCA_")):
            if home:
                yield home / f".{name}" / "mca-params.conf", prefix, STARTS_RANKS
            yield etc / f"{name}-mca-params.conf", prefix, STARTS_RANKS
    folders = [environ.get("UCX_CONFIG_DIR", ""), str(home) if home else "", str(etc / "ucx")]
    yield from ((Path(folder) / "ucx.conf", "UCX_", _NO_SWITCH) for folder in folders if folder)
