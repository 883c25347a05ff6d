# SPDX-License-Identifier: Apache-2.0
"""Rows of the launchers that come with MPI libraries. Pure.

Verified by reading each rank's host name and affinity mask, on one node and on two (network namespaces). The spreads
were taken without complaint; that they move ranks apart could not be seen, since the node had one core group.
"""

from __future__ import annotations

import re

from slowpath.mpi.launcher import BINDINGS, Launcher

# The first whose version_line matches is it. Intel's is a Hydra, too, but binds by variables of its own, so it stands
# before MPICH's. Of one library's launchers the newest stands first.
LIBRARY_LAUNCHERS = (
    Launcher(
        name="hydra-intel",
        library="intelmpi",
        version_line=re.compile(r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)"),
        rank_variables=("PMI_RANK",),
        ranks=("-n", "{ranks}"),
        bind=dict.fromkeys(BINDINGS, ()),
        bind_variables={
            "core": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "core"},
            "socket": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "socket"},
            "numa": {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "numa"},
            "none": {"I_MPI_PIN": "off"},
        },
        per_node=("-ppn", "{per_node}"),
        hosts=("-hosts", "{hosts}"),
        placing={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "off"},
        spread_variables={"core": {"I_MPI_PIN_ORDER": "compact"}, "socket": {"I_MPI_PIN_ORDER": "scatter"}},
        export=("-genv", "{name}", "{value}"),
        exported=("I_MPI_",),
        verified="Intel MPI 2021.18; nodes by name, too",
        traps=(
            "binds by variables: -bind-to of MPICH is ignored unless I_MPI_PIN is off",
            "inside a batch job -ppn is ignored unless I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off",
        ),
    ),
    Launcher(
        name="prterun",
        library="openmpi",
        version_line=re.compile(r"\((?:Open MPI|OpenRTE)\) ([5-9]\d*\.[\w.]*|[1-9]\d+\.[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--bind-to", "core"),
            "socket": ("--bind-to", "package"),
            "numa": ("--bind-to", "numa"),
            "none": ("--bind-to", "none"),
        },
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "package"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe_map=":OVERSUBSCRIBE",
        oversubscribe_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PRTE_MCA_", "PMIX_MCA_"),
        verified="Open MPI 5.0.11; nodes by name, too",
        traps=(
            "a socket is spelled package; options have two dashes, and one with a single dash is taken for the program",
            "only one --map-by counts, so that qualifiers such as OVERSUBSCRIBE belong behind the mapping",
            'more ranks than cores are refused with "binding more processes than cpus" without overload-allowed',
            "variables reach ranks on other nodes by -x alone, but for OMPI_, PRTE_MCA_ and PMIX_MCA_",
            "refuses to start as root without OMPI_ALLOW_RUN_AS_ROOT and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        ),
    ),
    Launcher(
        name="orterun",  # Open MPI 2 to 4, which calls itself OpenRTE when it is started as mpiexec
        library="openmpi",
        version_line=re.compile(r"\((?:Open MPI|OpenRTE)\) ([1-4]\.[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={kind: ("--bind-to", kind) for kind in BINDINGS},
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "socket"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe=("--oversubscribe",),
        oversubscribe_bind={"core": ("--bind-to", "core:overload-allowed")},
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PMIX_MCA_"),
        verified="Open MPI 4.1.4, ranks, binding and environment; nodes and spread not run",
        traps=(
            "without --bind-to two ranks are bound to cores, more than two to sockets",
            "variables reach ranks on other nodes by -x alone, but for OMPI_ and PMIX_MCA_",
        ),
    ),
    Launcher(
        name="orterun-spectrum",
        library="spectrummpi",
        version_line=re.compile(r"\(IBM Spectrum MPI\) (\d[\w.]*)"),
        rank_variables=("PMIX_RANK", "OMPI_COMM_WORLD_RANK"),
        ranks=("-n", "{ranks}"),
        bind={kind: ("--bind-to", kind) for kind in BINDINGS},
        hosts=("--host", "{hosts}"),
        host="{host}:{per_node}",
        map_by=("--map-by", "{map}"),
        maps={"core": "core", "numa": "numa", "socket": "socket"},
        map_per_node="ppr:{per_node}:node",
        oversubscribe=("--oversubscribe",),
        export=("-x", "{name}={value}"),
        exported=("OMPI_", "PMIX_MCA_"),
        traps=("made from that of Open MPI 3 and taken for alike; under LSF jobs are started by jsrun",),
    ),
    Launcher(
        name="hydra",
        library="mpich",
        version_line=re.compile(r"HYDRA build details:.*?Version:\s+(\d[\w.]*)", re.DOTALL),
        rank_variables=("PMI_RANK",),
        ranks=("-n", "{ranks}"),
        bind={kind: ("-bind-to", kind) for kind in BINDINGS},
        per_node=("-ppn", "{per_node}"),
        hosts=("-hosts", "{hosts}"),
        map_by=("-map-by", "{map}"),
        maps={"core": "core", "core_group": "l3cache", "numa": "numa", "socket": "socket"},
        export=("-genv", "{name}", "{value}"),
        verified="MPICH 5.0.2; nodes by name, too",
        traps=(
            "options have one dash; Open MPI's --bind-to and -x are not known to it",
            "without -ppn a node is filled up to its slots first, so two ranks of a job on two nodes may share one",
            "inside a Slurm allocation it starts its proxies by srun, whose own limits and plugins then hold",
        ),
    ),
)

OTHER = Launcher(
    name="mpiexec",
    ranks=("-n", "{ranks}"),
    bind={"none": ()},
    traps=("nothing but -n is asked of a launcher that is not known, so its binding is its own",),
    verified="by its definition",
)
