# SPDX-License-Identifier: Apache-2.0
"""What an MPI call and its arguments are to libslowpath-watch.so: its family, and the role of each argument."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Argument:
    """One parameter in C.  kind: the standard's name of what it is.  direction: in, out or inout."""

    name: str
    kind: str
    direction: str
    is_array: bool


@dataclass(frozen=True)
class WatchedCall:
    """A call that is wrapped.  is_large: counts are MPI_Count."""

    name: str
    family: str
    is_large: bool
    roles: tuple[str, ...]


# The first pattern that matches the name after MPI_ decides.
FAMILIES = (
    # Answered at once from what the library has in memory, by anything but a list: these are counted and never timed.
    (
        "local",
        r"(Comm_(rank|size|remote_size|test_inter|get_attr)|Attr_get|Group_(rank|size)|Topo_test|Cartdim_get|Cart_coords"
        r"|Cart_rank|Type_(size(_x|_c)?|extent|lb|ub|get_(true_)?extent(_x|_c)?|get_attr)|(Get_)?address|Get_count(_c)?"
        r"|Get_elements(_x|_c)?|Get_version|Status_.*|Test_cancelled|(Ini|Fina)(tiali|li)zed|Is_thread_main|Query_thread"
        r"|Error_(class|string)|Win_get_attr|Op_commutative)$",
    ),
    ("files", r"File_|Register_datarep"),
    ("start_and_end", r"(Init|Finali|Session_init|Session_finali|Abort|Query_thread|Is_thread_main)"),
    ("one_sided", r"(Win_|R?(put|get|accumulate|get_accumulate)(_c)?$|Fetch_and_op|Compare_and_swap)"),
    ("completion", r"(Wait|Test|Request_|Parrived|Cancel)"),
    ("communicators", r"(Comm_(?!.*buffer)|Group_|Cart|Graph|Dist_graph|Topo|Intercomm)"),
    ("collective", r"I?(neighbor_)?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce|scan|exscan)"),
    ("point_to_point", r"(P?I?[bsr]?send|Isendrecv|P?I?m?recv|I?m?probe|Start|Pready|.*buffer)"),
    ("datatypes", r"(Type_|Pack|Unpack|Get_address|Address)"),
)


def family_of(name: str) -> str:
    """A name of call.hpp's Family."""
    short = name.removeprefix("MPI_")
    if short.startswith(("T_", "Reduce_local")):
        return "other"
    return next((family for family, pattern in FAMILIES if re.match(pattern, short, re.IGNORECASE)), "other")


# By kind: of a value that is passed in, of a single one that MPI writes (a pointer), of an array.
KINDS = {
    "WINDOW": ("window", "new_window", "other"),
    "FILE": ("window", "new_window", "other"),  # has a communicator and counts what is collective on it, too
    "COMMUNICATOR": ("communicator", "new_communicator", "other"),
    "GROUP": ("group", "new_group", "other"),
    "COLOR": ("color", "other", "other"),
    "KEY": ("key", "other", "other"),
    "REQUEST": ("request_value", "request", "requests"),
    "STATUS": ("other", "status", "statuses"),
    "OPERATION": ("operation", "other", "other"),
    "INFO": ("info", "other", "other"),
    "MESSAGE": ("other", "message", "other"),
    "LOGICAL": ("other", "flag", "other"),
    "INDEX": ("other", "index", "indices"),
    "STRING": ("name", "name", "name"),
    "RMA_DISPLACEMENT_NNI": ("target_offset", "other", "other"),
    "WINDOW_SIZE": ("bytes", "other", "other"),
    "WIN_ATTACH_SIZE": ("bytes", "other", "other"),
    "ALLOC_MEM_NUM_BYTES": ("bytes", "other", "other"),
}
# By the parameter's name, where it says more than the kind.
NAMES = {
    "target_count": "target_count",
    "target_datatype": "target_datatype",
    "target_rank": "target",
    "dest": "destination",
    "source": "source",
    "root": "root",
    "sendtag": "send_tag",
    "recvtag": "receive_tag",
    "partitions": "partitions",
    "partition": "partition",
    "partition_low": "partition",
    "outcount": "out_count",
    "baseptr": "address",
}
COUNTS = ("XFER_NUM_ELEM", "DTYPE_NUM_ELEM")
# A buffer of theirs is no message, or none that a role could tell from another.
PACKS = re.compile(r"MPI_(Unp|P)ack(_external)?(_c)?$")
NO_MESSAGE = re.compile(r"MPI_(Win_|(Comm_|Session_)?[Bb]uffer_|(Comm|Session)_attach_buffer)")


def roles_of(name: str, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """One name of call.hpp's Role for each argument."""
    return tuple(_role(name, argument, arguments) for argument in arguments)


def _role(call: str, argument: Argument, arguments: Sequence[Argument]) -> str:
    kind = argument.kind.removeprefix("POLY").removesuffix("_NNI")
    has_buffer = any(a.kind == "BUFFER" for a in arguments)
    moves = has_buffer and (family_of(call) not in ("datatypes", "local", "other") or PACKS.match(call) is not None)
    if kind.startswith(COUNTS):
        return _count(call, argument, arguments) if moves else "other"
    if argument.kind == "BUFFER":
        is_message = moves and not NO_MESSAGE.match(call) and argument.name != "compare_addr"
        return f"{_side(call, argument, arguments)}_buffer" if is_message else "other"
    if argument.kind == "DATATYPE":
        return _datatype(call, argument, arguments, moves)
    # Offsets that are MPI_Aint whatever the call's form is (MPI_Neighbor_alltoallw) have another kind.
    if argument.is_array and kind == "DISPLACEMENT" and argument.kind.startswith("POLY"):
        return f"{_side(call, argument, arguments)}_offsets"
    if kind == "ARRAY_LENGTH" and any(a.kind == "REQUEST" and a.is_array for a in arguments):
        return "out_count" if argument.direction == "out" else "request_count"
    return _plain(call, argument, arguments)


def _plain(call: str, argument: Argument, arguments: Sequence[Argument]) -> str:
    family = family_of(call)
    if argument.kind == "TAG":
        if family != "point_to_point":
            return "other"
        return NAMES.get(argument.name) or ("send_tag" if _has(arguments, "dest") else "receive_tag")
    if family == "one_sided" and argument.kind == "RANK_NNI":
        return "target"
    if (
        argument.name in NAMES
        and not argument.is_array
        and (family not in ("local", "other") or argument.name == "baseptr")
    ):
        return NAMES[argument.name]
    value, written, array = KINDS.get(argument.kind, ("other", "other", "other"))
    if argument.is_array:
        return "other" if argument.kind == "INDEX" and argument.direction == "in" else array
    # A status is a pointer in any direction; MPI_Cancel's request is one though nothing is written.
    is_written = argument.direction != "in" or argument.kind == "STATUS" or call == "MPI_Cancel"
    return written if is_written else value


def _has(arguments: Sequence[Argument], *names: str) -> bool:
    return any(argument.name in names for argument in arguments)


def _side(call: str, argument: Argument, arguments: Sequence[Argument]) -> str:
    """send or receive: by the name, else by what the call does with its only buffer."""
    name = argument.name
    if name.startswith("origin"):
        # MPI_Get and MPI_Rget write it; MPI_Get_accumulate reads it.
        return "receive" if re.match(r"MPI_R?[Gg]et(_c)?$", call) else "send"
    if name.startswith(("send", "sdispl", "in")):
        return "send"
    if name.startswith(("recv", "rdispl", "result", "out")):
        return "receive"
    if name == "displs":
        return "send" if _has(arguments, "sendcounts") else "receive"
    if call.startswith(("MPI_Precv", "MPI_Unpack")):
        return "receive"
    buffers = [a for a in arguments if a.kind == "BUFFER"]
    return "receive" if buffers and buffers[0].direction == "out" else "send"


def _count(call: str, argument: Argument, arguments: Sequence[Argument]) -> str:
    if argument.name == "target_count":
        return "target_count"
    if argument.direction == "out":
        return "other"
    return f"{_side(call, argument, arguments)}_count{'s' if argument.is_array else ''}"


def _datatype(call: str, argument: Argument, arguments: Sequence[Argument], moves: bool) -> str:
    if argument.name == "target_datatype":
        return "target_datatype"
    if moves:
        return f"{_side(call, argument, arguments)}_datatype{'s' if argument.is_array else ''}"
    if argument.is_array:
        return "other"
    if argument.direction != "in":
        return "new_datatype"
    return "datatype"


def _removed(name: str, family: str, *roles: str) -> WatchedCall:
    return WatchedCall(name, family, False, roles)


# MPI 3.0 removed them (MPI-3.0, chapter 16), so the description leaves them out; programs of today call them.
REMOVED = (
    _removed("MPI_Address", "local", "other", "other"),
    _removed("MPI_Errhandler_create", "other", "other", "other"),
    _removed("MPI_Errhandler_get", "other", "communicator", "other"),
    _removed("MPI_Errhandler_set", "other", "communicator", "other"),
    _removed("MPI_Type_extent", "local", "datatype", "other"),
    _removed("MPI_Type_hindexed", "datatypes", "other", "other", "other", "datatype", "new_datatype"),
    _removed("MPI_Type_hvector", "datatypes", "other", "other", "other", "datatype", "new_datatype"),
    _removed("MPI_Type_lb", "local", "datatype", "other"),
    _removed("MPI_Type_struct", "datatypes", "other", "other", "other", "other", "new_datatype"),
    _removed("MPI_Type_ub", "local", "datatype", "other"),
)
