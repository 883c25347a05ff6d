#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prolog or epilog of slurmd: measures two ranks of this node for half a minute and compares them with the node's first
# run. Exit code 1, by which Slurm drains the node and, after a prolog, requeues the job, only for a regression.
# In slurm.conf: Prolog=/etc/slurm/slowpath-prolog.sh and BatchStartTimeout=120; or Epilog=, which costs no job its time.
set -uo pipefail

# slurmd sets no PATH; the folder of mpiexec belongs here, too.
PATH=/opt/slowpath/0.1.0/bin:${PATH:-/usr/bin:/bin}
folder=${SLOWPATH_NODE_FOLDER:-/var/lib/slowpath}
export SLOWPATH_CACHE_DIR=$folder/cache
run=$folder/run-${SLURM_JOB_ID:-by-hand}
unset "${!SLURM@}" # of a job whose nodes mpiexec must not use from here

effort=(--budget 40s)
[[ -d $folder/baseline ]] || effort=(--rounds 8) # of the first run, which all others are compared with
if ! slowpath run checkup "${effort[@]}" --out "$run" --quiet >"$run.log" 2>&1; then
    exit 0 # nothing was measured: a reason to look at run-*.log, and none to drain
fi
if [[ ! -d $folder/baseline ]]; then
    mv "$run" "$folder/baseline"
    exit 0
fi
slowpath gate "$run" --baseline "$folder/baseline" --no-again --undecided pass >"$run.log" 2>&1
code=$?
[[ $code == 1 ]] || rm -rf "$run" "$run.log"
exit $((code == 1))
