# SPDX-License-Identifier: Apache-2.0
"""Settings of a layer that carries no message: named only where every path is known to be another layer's."""

from __future__ import annotations

from slowpath.core.results import MessagePath
from slowpath.mpi.message_path import Layer
from slowpath.mpi.own_settings import is_idle, layer_of


def path(layer: Layer | None) -> MessagePath:
    return MessagePath(
        environment="default",
        scope="on_node",
        pairs=None,
        layer=layer,
        module=None,
        transport=None,
        devices=[],
        single_copy=None,
        reason=None,
    )


def test_only_variables_that_steer_messages_are_of_a_layer() -> None:
    assert (layer_of("UCX_NET_DEVICES"), layer_of("FI_PROVIDER")) == ("ucx", "ofi")
    names = ("UCX_LOG_LEVEL", "UCX_MEM_MMAP_HOOK_MODE", "FI_LOG_LEVEL", "OMPI_MCA_btl", "UCXX", "UCX_PROTO_INFO")
    assert [name for name in names if layer_of(name)] == []


def test_a_layer_is_idle_only_where_all_paths_are_known() -> None:
    assert is_idle("ucx", [path("library")])
    assert not is_idle("ucx", [])
    assert not is_idle("ucx", [path("library"), path(None)])
    assert not is_idle("ucx", [path("library"), path("ucx")])
    assert is_idle("ofi", [path("library"), path("ucx")])
    assert not is_idle("ucx", [path("ofi")]), "a provider of libfabric may go through UCX"
