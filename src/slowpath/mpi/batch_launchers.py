# SPDX-License-Identifier: Apache-2.0
"""Rows of the launchers that belong to batch systems. Pure. Those that were not run here are marked so."""

from __future__ import annotations

import re

from slowpath.mpi.launcher import BINDINGS, Launcher

BATCH_LAUNCHERS = (
    Launcher(
        name="srun",
        batch=True,
        version_line=re.compile(r"^slurm (?:\S*-)?(\d[\w.]*)", re.MULTILINE),
        rank_variables=("SLURM_PROCID",),
        ranks=("-n", "{ranks}"),
        bind={
            "core": ("--cpu-bind=cores",),
            "socket": ("--cpu-bind=sockets",),
            "numa": ("--cpu-bind=ldoms",),
            "none": ("--cpu-bind=none",),
        },
        fixed=("--export=ALL",),
        # With the wrong one every rank starts as a job of its own, without a message. Cray MPICH speaks that of Slurm's
        # plugin cray_shasta, which is the default where it runs.
        pmi={"mpich": "--mpi=pmi2", "intelmpi": "--mpi=pmi2", "mvapich": "--mpi=pmi2", "openmpi": "--mpi=pmix"},
        pmi_chosen_by="SLURM_MPI_TYPE",
        where_set={"SLURM_STEP_ID": ("--overlap",)},
        per_node=("-N", "{nodes}", "--ntasks-per-node={per_node}"),
        hosts=("--nodelist={hosts}",),
        map_by=("--distribution={map}",),
        maps={"core": "block:block", "socket": "block:cyclic"},
        oversubscribe=("--overcommit",),
        verified="Slurm 22.05, MPICH 5.0.2 by PMI2 and Open MPI 5.0.11 by PMIx, two nodes (tests/slurm)",
        traps=(
            "with a PMI that the library does not speak each rank starts alone, without a message: --mpi is given",
            "since Slurm 22.05 a step takes no --cpus-per-task from sbatch: a rank gets one core, as bind=core asks",
            "passes the environment on unless SLURM_EXPORT_ENV forbids it: --export=ALL is given",
            "inside another step (srun --pty bash) a step waits for processors forever: --overlap is given there",
            "in a job of several nodes two ranks go to two nodes unless -N is given",
            "--cpu-bind is refused or ignored where the site has no task/affinity or task/cgroup plugin",
        ),
    ),
    Launcher(
        name="flux",
        batch=True,
        version_line=re.compile(r"^libflux-core:\s+(\d[\w.]*)", re.MULTILINE),  # from documentation, not run
        rank_variables=("FLUX_TASK_RANK",),
        leading=("run",),
        ranks=("-n", "{ranks}"),
        bind={"core": ("-o", "cpu-affinity=per-task"), "none": ("-o", "cpu-affinity=off")},
        per_node=("-N", "{nodes}"),
        hosts=("--requires=host:{hosts}",),
        traps=(
            "cpu-affinity is on by default and gives all tasks of a node the same cores; per-task divides them",
            "-n and --tasks-per-node exclude each other; with -n and -N the tasks are divided evenly",
            "the PMI is a shell plugin: Open MPI 5 needs -o pmi=pmix where flux-pmix is installed",
        ),
    ),
    Launcher(
        name="aprun",
        batch=True,
        version_line=re.compile(r"^aprun \(ALPS\) (\d[\w.]*)", re.MULTILINE),  # from documentation, not run
        ranks=("-n", "{ranks}"),
        bind={"core": ("-cc", "cpu"), "numa": ("-cc", "numa_node"), "none": ("-cc", "none")},
        per_node=("-N", "{per_node}"),
        hosts=("-L", "{hosts}"),
        traps=(
            "-N is ranks on each node here, where srun means the number of nodes",
            "HPE PALS has an aprun of its own that takes the same options, where ALPS is gone",
            "the batch script runs on a service node: nothing that it finds out about processors holds for the ranks",
        ),
    ),
    Launcher(
        name="pals",
        batch=True,
        # It prints no name: "mpiexec version 1.8.0 revision 0a1b2c" (recognised as E3SM's mache does; not run here).
        version_line=re.compile(r"^mpiexec version (\d[\w.]*) revision\b|\bPALS\b", re.MULTILINE),
        ranks=("-n", "{ranks}"),
        bind={kind: (f"--cpu-bind={kind}",) for kind in BINDINGS},
        per_node=("--ppn", "{per_node}"),
        hosts=("--hosts={hosts}",),
        export=("--env", "{name}={value}"),
        traps=(
            "it comes as mpiexec, without a compiler wrapper next to it, and knows no option of MPICH or Open MPI",
            "without --ppn the nodes of a job are filled one after the other",
        ),
    ),
    Launcher(
        name="jsrun",
        batch=True,
        ranks=("-n", "{ranks}", "-a", "1", "-c", "1"),  # resource sets, of one rank and one core each
        bind={"core": ("-b", "packed:1"), "none": ("-b", "none")},
        per_node=("-r", "{per_node}"),
        export=("-E", "{name}={value}"),
        traps=(
            "-n counts resource sets, not ranks: each set is given one rank here",
            "a set never spans nodes or sockets, and without -b its ranks are bound by a rule of their own",
            "the batch script runs on a launch node, which stands first among the job's hosts and holds no rank; with "
            "bsub -ln_slots it has several slots and is taken for a node",
        ),
    ),
    Launcher(
        name="ibrun",
        batch=True,
        ranks=("-n", "{ranks}", "-o", "0"),
        bind={"none": ()},
        traps=(
            "knows -n and -o (an offset into the job's slots), given together, and nothing more: binding is that of "
            "the library behind it",
            "ranks on each node follow from the batch script's own request, so that one job has one placement",
        ),
    ),
)
