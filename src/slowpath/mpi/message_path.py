# SPDX-License-Identifier: Apache-2.0
"""Which module, transport and device carry messages, by the library's own report. Pure: its output in, a record out.

That a library has loaded UCX or libfabric, or has opened an endpoint, shows nothing: MPICH opens one of UCX to each
rank and sends nothing through it on a node. So what decides is read where the library says what it selected. What it
does not say is missing with a reason, and so is everything of a report that contradicts itself.

Open MPI 5.0.11 (ompi/mca/pml/base/pml_base_select.c, bml/r2/bml_r2.c, hook/comm_method):

    [node:4272] selected ob1 best priority 20
    [node:4272] mca: bml: Using sm btl for send to [[13259,1],1] on node node
      on-host:  all connections are ucx=sysv;memory,cma;memory

MPICH 5.0.2 names its netmod (MPIR_CVAR_DEBUG_SUMMARY). Its ch4 sends to ranks of the same node by shared memory where
that was compiled in and no control variable splits nodes: with calls of UCX's send functions counted, none came there,
and all came through UCX under MPIR_CVAR_NOLOCAL=1. Intel MPI 2021.18 names the fabrics in its tuning file's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from slowpath.core.run_results import MessagePath, VariableValue

# Asks for the tables, into files of their own: two ranks that write to one terminal may cut each other's lines.
VARIABLES = {"UCX_PROTO_INFO": "y"}
LOG_FILE = "UCX_LOG_FILE"
DIRECT_TRANSPORTS = ("cuda_ipc", "rocm_ipc", "ze_ipc")

_SCOPE = re.compile(r"\|\s*\S+ (self|intra-node|inter-node) cfg#\d+[^|]*\|\s*$")
_TITLE = re.compile(r"\|\s*([^|]*\S)\s*\|\s*$")
_ROW = re.compile(r"\|\s*(\d+\w?)(?:\.\.(\w+))?\s*\|([^|]*)\|([^|]*)\|\s*$")
_SCALES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Protocol:
    """One row: from first_bytes to last_bytes (math.inf: any) messages of `operation` go `how` on `transports`.

    scope: self, intra-node or inter-node, as UCX sees the other end.
    """

    scope: str
    operation: str
    first_bytes: float
    last_bytes: float
    how: str
    transports: str

    @property
    def direct(self) -> bool:
        """Whether it moves data straight from GPU memory to GPU memory of another process."""
        return any(name in self.transports for name in DIRECT_TRANSPORTS)


def protocols(text: str) -> list[Protocol]:
    """Return all rows of all tables in `text`, in order; other lines are passed over."""
    rows: list[Protocol] = []
    scope, operation = "", ""
    for line in text.splitlines():
        if match := _SCOPE.search(line):
            scope, operation = match[1], ""
        elif scope and (match := _ROW.search(line)):
            first, last = _bytes(match[1]), _bytes(match[2] or match[1])
            how = match[3].replace("(?)", "").strip()
            rows.append(Protocol(scope, operation, first, last, how, match[4].strip()))
        elif scope and not operation and (match := _TITLE.search(line)):
            operation = match[1]
    return rows


def moving(rows: Sequence[Protocol], message_bytes: int) -> list[Protocol]:
    """Return the protocols that carry the data of a message of this length to another process."""
    return [
        protocol
        for protocol in rows
        if protocol.scope != "self"
        and protocol.first_bytes <= message_bytes <= protocol.last_bytes
        and protocol.how != "no data fetch"
    ]


def in_words(rows: Sequence[Protocol]) -> str | None:
    """Return each way once, `rendezvous zero-copy read from remote on cuda_ipc/cuda`; None where there is none."""
    return "; ".join(dict.fromkeys(f"{protocol.how} on {protocol.transports}" for protocol in rows)) or None


def _bytes(text: str) -> float:
    if text == "inf":
        return math.inf
    return int(text[:-1]) * _SCALES[text[-1]] if text[-1] in _SCALES else int(text)


Scope = Literal["on_node", "between_nodes"]
Layer = Literal["library", "ucx", "ofi"]

# What makes a library report its choice. Not for a timed launch.
QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "openmpi": {
        "OMPI_MCA_pml_base_verbose": "10",
        "OMPI_MCA_btl_base_verbose": "1",
        "OMPI_MCA_smsc_base_verbose": "10",
        "OMPI_MCA_hook_comm_method_display": "mpi_init",
    },
    "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1"},
    "intelmpi": {"I_MPI_DEBUG": "5"},
}
# Control variables of MPICH that have ranks of one node take each other for ranks of others, and where none does.
SPLITS = {"MPIR_CVAR_NOLOCAL": (0,), "MPIR_CVAR_ODD_EVEN_CLIQUES": (0,), "MPIR_CVAR_NUM_CLIQUES": (0, 1)}
MOST_PAIRS = 4096  # that are listed

_SELECTED = re.compile(r"^\[\S+:\d+\] selected (\w+) best priority -?\d+$", re.MULTILINE)
_BTL = re.compile(
    r"^\[(?P<host>\S+):(?P<process>\d+)\] mca: bml: Using (?P<btl>\w+) btl for send to \[\[\d+,\d+\],(?P<to>\d+)\] "
    r"on node (?P<node>\S+)$",
    re.MULTILINE,
)
_SINGLE_COPY = re.compile(r"mca_smsc_base_select: selected shared-memory single-copy component: (\w+)$", re.MULTILINE)
_NO_SINGLE_COPY = "no shared-memory single-copy component available"
_SUMMARY = re.compile(r"^\s*(on|off)-host:\s+all connections are (\S+)$", re.MULTILINE)
_LAYER_OF_BTL: Mapping[str, Layer] = {"uct": "ucx", "ofi": "ofi"}
_OF_SHARED_MEMORY = ("sm", "vader")

_UCX_NETMOD, _OFI_NETMOD = "==== UCX netmod Capability ====", "==== Capability set configuration ===="
_MPICH_PROVIDER = re.compile(r"^libfabric provider: ([^\s-]\S*)(?: - (\S+))?$", re.MULTILINE)
_MPICH_SHM = re.compile(r"^MPID/shm: \S+$", re.MULTILINE)

_INTEL_FABRICS = re.compile(r'Load tuning file: "[^"]*/tuning_[^"/]*?_(shm-ofi|shm|ofi)(?:_[^"/]*)?\.dat"')
_INTEL_PROVIDER = re.compile(r"MPI startup\(\): libfabric provider: (\S+)")
_INTEL_NIC = re.compile(r"MPI startup\(\): (\d+)\s+(\d+)\s+([A-Za-z]\w*)\s*$", re.MULTILINE)


def _unstated(fact: str) -> str:
    return f"the library's output does not state {fact}"


def paths_of(
    library: str, text: str, control_variables: Mapping[str, VariableValue], environment: str
) -> list[MessagePath]:
    """Return what carries messages; never empty: where nothing can be read, one row has the reason.

    Args: text: output of a launch that was asked by QUESTIONS.  control_variables: MPI_T's, by name.
    """
    if library == "openmpi":
        return _open_mpi(text, environment)
    if library == "mpich":
        return _mpich(text, control_variables, environment)
    if library == "intelmpi":
        return _intel(text, environment)
    return [_unknown(environment, "on_node", _unstated("the path"))]


def _row(
    environment: str,
    scope: Scope,
    layer: Layer | None,
    module: str | None,
    transport: str | None,
    pairs: list[tuple[int, int]] | None = None,
    devices: Sequence[str] = (),
    single_copy: str | None = None,
    reason: str | None = None,
) -> MessagePath:
    return MessagePath(
        environment=environment,
        scope=scope,
        pairs=pairs,
        layer=layer,
        module=module,
        transport=transport,
        devices=list(devices),
        single_copy=single_copy,
        reason=reason,
    )


def _unknown(environment: str, scope: Scope, reason: str, module: str | None = None) -> MessagePath:
    return _row(environment, scope, None, module, None, reason=reason)


def _open_mpi(text: str, environment: str) -> list[MessagePath]:
    selected = set(_SELECTED.findall(text))
    if len(selected) != 1:
        return [_unknown(environment, "on_node", _unstated("one PML for all ranks"))]
    (pml,) = selected
    if pml == "ob1":
        return _by_btl(text, environment)
    said = {host: way for host, way in _SUMMARY.findall(text) if way not in ("n/a", "self")}
    if pml not in ("ucx", "cm") or not said:
        return [_unknown(environment, "on_node", _unstated("its transports"), f"pml {pml}")]
    scopes: Mapping[str, Scope] = {"on": "on_node", "off": "between_nodes"}
    return [_by_pml(environment, scopes[host], pml, way) for host, way in said.items()]


def _by_pml(environment: str, scope: Scope, pml: str, way: str) -> MessagePath:
    """One line of the hook's summary: `ucx=rc_mlx5;mlx5_0:1,cma;memory`, or the name of an MTL."""
    if pml == "cm":
        layer: Layer = "ofi" if way == "ofi" else "library"
        return _row(environment, scope, layer, "pml cm", f"mtl {way}", reason=_unstated("the MTL's device"))
    lanes = [lane.partition(";")[::2] for lane in way.removeprefix("ucx=").split(",")]
    if not way.startswith("ucx=") or not all(transport and device for transport, device in lanes):
        return _row(environment, scope, "ucx", "pml ucx", None, reason=_unstated("UCX's transports"))
    transports = dict.fromkeys(transport for transport, _ in lanes)
    devices = dict.fromkeys(device for _, device in lanes if device != "memory")
    return _row(environment, scope, "ucx", "pml ucx", f"UCX {', '.join(transports)}", devices=list(devices))


def _by_btl(text: str, environment: str) -> list[MessagePath]:
    """One row for each set of BTLs. A process is known by the line of its BTL self, which names its own rank."""
    lines = list(_BTL.finditer(text))
    ranks: dict[tuple[str, str], set[int]] = {}
    for line in lines:
        if line["btl"] == "self":
            ranks.setdefault((line["host"], line["process"]), set()).add(int(line["to"]))
    between: dict[tuple[int, int], tuple[Scope, dict[str, None]]] = {}
    for line in lines:
        own = ranks.get((line["host"], line["process"]), set())
        if len(own) != 1:
            return [_unknown(environment, "on_node", _unstated("the rank of each process"), "pml ob1")]
        pair = (min(own), int(line["to"]))
        if pair[0] != pair[1]:
            scope: Scope = "on_node" if line["node"] == line["host"] else "between_nodes"
            between.setdefault(pair, (scope, {}))[1][line["btl"]] = None
    rows: dict[tuple[Scope, tuple[str, ...]], list[tuple[int, int]]] = {}
    for pair, (scope, btls) in sorted(between.items()):
        rows.setdefault((scope, tuple(sorted(btls))), []).append(pair)
    if not rows:
        return [_unknown(environment, "on_node", _unstated("a pair of ranks"), "pml ob1")]
    return [_btl_row(environment, scope, btls, pairs, text) for (scope, btls), pairs in rows.items()]


def _btl_row(
    environment: str, scope: Scope, btls: tuple[str, ...], pairs: list[tuple[int, int]], text: str
) -> MessagePath:
    layers: set[Layer] = {_LAYER_OF_BTL.get(btl, "library") for btl in btls}
    copies = set(_SINGLE_COPY.findall(text)) | ({"none"} if _NO_SINGLE_COPY in text else set())
    by_memory = len(copies) == 1 and any(btl in _OF_SHARED_MEMORY for btl in btls)
    reasons = [_unstated("what each BTL carries")] if len(layers) > 1 else []
    reasons += [f"only the first {MOST_PAIRS} of {len(pairs)} pairs"] if len(pairs) > MOST_PAIRS else []
    return _row(
        environment,
        scope,
        layers.pop() if len(layers) == 1 else None,
        "pml ob1",
        f"btl {', '.join(btls)}",
        pairs[:MOST_PAIRS],
        single_copy=copies.pop() if by_memory else None,
        reason="; ".join(reasons) or None,
    )


def _mpich(text: str, control_variables: Mapping[str, VariableValue], environment: str) -> list[MessagePath]:
    has_ucx, has_ofi = _UCX_NETMOD in text, _OFI_NETMOD in text
    if has_ucx == has_ofi:
        return [_unknown(environment, "on_node", _unstated("one netmod"))]
    providers = set(_MPICH_PROVIDER.findall(text)) if has_ofi else set()
    if len(providers) > 1:
        return [_unknown(environment, "on_node", _unstated("one provider for all ranks"), "ch4, netmod ofi")]
    provider, device = providers.pop() if providers else ("", "")
    network = partial(
        _row,
        environment,
        layer="ucx" if has_ucx else "ofi",
        module=f"ch4, netmod {'ucx' if has_ucx else 'ofi'}",
        transport=f"provider {provider}" if provider else None,
        devices=[device] if device else [],
        reason=None if provider else _unstated("the transport of the netmod"),
    )
    given = {name: control_variables.get(name) for name in SPLITS}
    if any(value is None for value in given.values()):
        return [
            _unknown(environment, "on_node", _unstated(", ".join(SPLITS)), "ch4"),
            network(scope="between_nodes"),
        ]
    split = any(value not in SPLITS[name] for name, value in given.items())
    if split or not _MPICH_SHM.search(text):
        known = split and given["MPIR_CVAR_NOLOCAL"] not in SPLITS["MPIR_CVAR_NOLOCAL"]
        unsure = _unknown(environment, "on_node", _unstated("whether shared memory carries them"), "ch4")
        return [network(scope="on_node") if known else unsure, network(scope="between_nodes")]
    return [_row(environment, "on_node", "library", "ch4", "shared memory (posix)"), network(scope="between_nodes")]


def _intel(text: str, environment: str) -> list[MessagePath]:
    fabrics, providers = set(_INTEL_FABRICS.findall(text)), set(_INTEL_PROVIDER.findall(text))
    if len(fabrics) != 1 or len(providers) > 1:
        return [_unknown(environment, "on_node", _unstated("one fabric for all ranks"))]
    (fabric,) = fabrics
    shared = _row(environment, "on_node", "library", "fabric shm", "shared memory")
    if fabric == "shm":
        return [shared, _unknown(environment, "between_nodes", _unstated("the network"))]
    if not providers:
        return [_unknown(environment, "between_nodes", _unstated("libfabric's provider"), f"fabric {fabric}")]
    nics = sorted({nic for _, _, nic in _INTEL_NIC.findall(text)})
    network = partial(
        _row, environment, layer="ofi", module="fabric ofi", transport=f"provider {min(providers)}", devices=nics
    )
    return [shared if fabric == "shm-ofi" else network(scope="on_node"), network(scope="between_nodes")]
