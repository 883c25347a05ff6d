# SPDX-License-Identifier: Apache-2.0
"""Readers of what the machine, MPI libraries, launchers and batch systems say, and of what users write in a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
from fuzz_target import Defect, Target, always, of_file

from slowpath.core.clean import csv_field, line, markdown
from slowpath.core.cpu_list import count_cpus, parse_cpu_list
from slowpath.core.errors import UsageError
from slowpath.core.secrets import clean_text, has_credential, looks_secret
from slowpath.core.units import expand_values, parse_bytes, parse_count, parse_seconds
from slowpath.diagnose.session import replaced_words
from slowpath.diagnose.tune import install, promise, request
from slowpath.diagnose.tune.choose import CollectiveCell
from slowpath.diagnose.tune.factors import CellFactor
from slowpath.mpi import tuning_files
from slowpath.mpi.allocation import MAX_HOSTS, expand_hostlist, names_in_file
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.control_variables import read_control_variables
from slowpath.mpi.install.place import MANIFEST, Manifest, read_manifest
from slowpath.mpi.own_settings import ParameterFile, own_settings
from slowpath.mpi.recorded_variables import recorded_variables
from slowpath.mpi.tuning import REPLACED_CALLS, Pick
from slowpath.run.engine.cache import NOTE, EngineNote, cached_engine
from slowpath.run.stacks import innermost
from slowpath.watch.prove.rerun import of_collectives_report


def _text(read: Callable[[str], object]) -> Callable[[bytes, Path], None]:
    """A reader of text; as everywhere, bytes that are not UTF-8 are replaced before."""

    def read_it(content: bytes, folder: Path) -> None:
        read(content.decode("utf-8", "replace"))

    return read_it


def _environ(text: str) -> dict[str, str]:
    """Lines NAME=VALUE."""
    return {
        name: value for one in text.split("\n") if (name := one.partition("=")[0]) and (value := one[len(name) + 1 :])
    }


def _allocation(text: str) -> None:
    environ = _environ(text)
    found = find_allocation(environ, lambda path: text.splitlines(), lambda argv, environ: text)
    if found is not None and len(found.names) > MAX_HOSTS:
        raise Defect("more nodes than a list may hold")
    recorded_variables(environ)


def _hosts(text: str) -> None:
    names_in_file(text.splitlines())
    if len(expand_hostlist(text)) > MAX_HOSTS:
        raise Defect("more hosts than a list may hold")


def _processors(text: str) -> None:
    numbers, count = parse_cpu_list(text), count_cpus(text)
    if numbers and count is None:
        raise Defect("processors that nobody counted")


def _values(text: str) -> None:
    for parse in (parse_bytes, parse_count, parse_seconds):
        _unless_refused(lambda parse=parse: parse(text))  # type: ignore[misc]
    for value in expand_values(text):
        if value < 0:
            raise Defect("a number below 0")


def _unless_refused(read: Callable[[], object]) -> None:
    try:
        read()
    except UsageError:
        return


def _parameter_file(text: str) -> None:
    file = ParameterFile("/etc/x.conf", text, "OMPI_MCA_")
    for setting in own_settings(_environ(text), (), [file]):
        if not setting.name or not setting.words:
            raise Defect("a setting without a name")


def _words(text: str) -> None:
    """No control character and no line feed is left in a line for people."""
    cleaned = line(text)
    if any(ord(one) < 32 or 127 <= ord(one) < 160 for one in cleaned):
        raise Defect("a control character is left")
    csv_field(text), markdown(text), has_credential(text), looks_secret(text)
    if clean_text(clean_text(text)) != clean_text(text):
        raise Defect("cleaned twice, a text differs")


def _library(content: bytes, folder: Path) -> None:
    tuning_files.mpich_selection(content)


def _control_variables(text: str) -> None:
    found = read_control_variables(Path("libmpi.so"), ["EAGER"], {}, lambda argv, environ: text)
    if found is not None:
        found.number("EAGER")


def _reports(content: bytes, folder: Path) -> None:
    """What libslowpath-coll.so wrote at the end of a program."""
    launch = folder / "launches" / "000001"
    launch.mkdir(parents=True, exist_ok=True)
    for name in (REPLACED_CALLS, "collectives.json"):
        (launch / name).write_bytes(content)
    of_collectives_report(launch / "collectives.json")
    replaced_words(folder)


def _manifests(folder: Path) -> list[bytes]:
    return [msgspec.json.encode(Manifest("cuda", "5.0", "1.22", "0.1", "now", {"a": "b"}, ("n",), {"lib": 7}))]


def _engine_notes(folder: Path) -> list[bytes]:
    return [msgspec.json.encode(EngineNote("k", "m", "a", "mpicxx", "gcc", "s", "now", files={"a": "b"}))]


def _requests(folder: Path) -> list[bytes]:
    made = request.TuneRequest("mpich", "mpich-5.0.2", None, ("alltoall",), (2,), (64, 4096), 5)
    return [msgspec.json.encode(made)]


def _promises(folder: Path) -> list[bytes]:
    pairs = tuple((1e-6, 0.5e-6 * (1 + 0.001 * step)) for step in range(8))
    found = [promise.Promise(CollectiveCell("bcast", 2, 8), (CellFactor(CollectiveCell("bcast", 2, 8), pairs),), None)]
    pick = Pick("alltoall", 2, 64, "algorithm", "pairwise")
    found.append(
        promise.Promise(
            CollectiveCell("alltoall", 2, 64), (CellFactor(CollectiveCell("alltoall", 2, 64), pairs, pick),), pick
        )
    )
    return [promise.promises_text("mpich", "mpich-5.0.2", found)]


INSTALLED = (
    b'{"files":{"share/slowpath/tuned/x/environment.sh":["00"]},"folders":["share","share/slowpath"],"schema":1}'
)


def _installed(folder: Path) -> object:
    return install.read_manifest(folder / install.MANIFEST, "x")


def _selections(folder: Path) -> list[bytes]:
    text = json.dumps({"collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                       "collective=ibarrier": {"algorithm=own": {}}}, separators=(",", ":"))  # fmt: skip
    return [b"\x7fELF\0" + text.encode() + b"\0"]


ALLOCATIONS = (
    b"SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[08-10,2],login\nSLURM_JOB_NUM_NODES=4\nSLURM_NTASKS=8",
    b"PBS_JOBID=7.server\nPBS_NODEFILE=/nodes",
    b"LSB_JOBID=7\nLSB_MCPU_HOSTS=a 4 b 4\nLSB_DJOB_HOSTFILE=/x",
    b"FLUX_URI=local:///x\nFLUX_JOB_ID=f1\nn[1-2]",
    b"PE_HOSTFILE=/x\nJOB_ID=7\na 4 q UNDEFINED",
    b"COBALT_JOBID=7\nCOBALT_PARTNAME=1-4,8",
    b"HYDRA_HOST_FILE=/x\nn1:2\nn2 slots=4 # two",
)
STACK = b"Thread 1 (LWP 7):\n#0  0x00007f in poll () from libc.so\n#1  0x00007f in MPI_Recv () from libmpi.so\n"

MACHINE_TARGETS = (
    Target("allocation", always(*ALLOCATIONS), _text(_allocation)),
    Target("hostlist", always(b"n[08-10,2],login", b"r[1-2]n[1-2]-ib", b"n1:2\nn2 slots=1"), _text(_hosts)),
    Target("processors", always(b"0-3,8", b"1", b"0-1023"), _text(_processors)),
    Target("values", always(b"8,1KiB,64KiB", b"1KiB..1MiB*2", b"0..64+8"), _text(_values)),
    Target(
        "parameter-file", always(b"# a\nbtl = self,sm\nbtl_sm_eager_limit=4096\nUCX_TLS=tcp\n"), _text(_parameter_file)
    ),
    Target("words", always(b"a\x1b[2Jb", b"TOKEN=abcdef0123456789 https://u:p@h/x", b"=1+1|`x`"), _text(_words)),
    Target("mpich-library", _selections, _library),
    Target(
        "control-variables",
        always(b'{"names":["EAGER"],"values":{"EAGER":"00100000"}}'),
        _text(_control_variables),
        is_json=True,
    ),
    Target(
        "collectives-report",
        always(b'{"rows":[{"collective":"bcast","mockup":"a+b","calls":7}],"problem":null}'),
        _reports,
        is_json=True,
    ),
    Target("manifest", _manifests, of_file(MANIFEST, read_manifest), is_json=True),
    Target("cache-note", _engine_notes, of_file(NOTE, cached_engine), is_json=True),
    Target("tune-request", _requests, of_file(request.FILE, request.load), is_json=True),
    Target("promises", _promises, of_file(promise.FILE, promise.read_promises), is_json=True),
    Target("installed", always(INSTALLED), of_file(install.MANIFEST, _installed), is_json=True),
    Target("stacks", always(STACK), _text(innermost)),
)
