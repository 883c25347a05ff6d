#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random programs in every way, as many at a time as the cores hold. OUT/lines gets one line a run; those with a
# difference or a crash are printed, and the calls in all. What an earlier campaign left in OUT is removed.
#
#     ./run.sh OUT MINUTES RANKS...
out=$1 minutes=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
cores=$(nproc)
# Reports of an earlier campaign would count as this one's.
if [ -e "$out" ] && [ ! -e "$out/plan" ] && [ -n "$(ls -A "$out")" ]; then
    echo "$0: $out: is not empty and holds no campaign; name another folder" >&2
    exit 2
fi
rm -rf "$out"
mkdir -p "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 I_MPI_THREAD_YIELD=3
export MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=64

# families: a name a line, and "tables" where its collectives are replaced
plan() {
    local ranks mpi family tables count table
    for ranks in "$@"; do
        for mpi in "$here"/mpi/*; do
            count=$(ls "$mpi/tables" | wc -l)
            while read -r family tables; do
                echo "$mpi $ranks $family native 0"
                echo "$mpi $ranks $family watched 0"
                for table in $([ -n "$tables" ] && seq 0 $((count - 1)) || echo $((ranks % count))); do
                    echo "$mpi $ranks $family replaced $table"
                    echo "$mpi $ranks $family both $table"
                done
            done <"$here/families"
        done
    done
}

one() {
    local number=$1 seconds=$2 mpi=$3 ranks=$4 family=$5 way=$6 table=$7
    local work=$out/$number preload="${first:-}" variables=() launcher code
    mkdir -p "$work/ranks"
    # The watch comes last: behind it the other one replaces nothing.
    case $way in replaced | both)
        preload=${preload:+$preload:}$mpi/preloads/libslowpath-coll.so
        variables+=("SLOWPATH_COLL=$mpi/tables/$table.json" "SLOWPATH_COLL_REPORT=$work/replaced.json")
        ;;
    esac
    case $way in watched | both)
        preload=${preload:+$preload:}$mpi/preloads/libslowpath-watch.so
        variables+=("SLOWPATH_WATCH=$work/ranks")
        ;;
    esac
    [ "$way" = native ] || variables+=("LD_PRELOAD=$preload")
    launcher=("$mpi/bin/mpiexec")
    [ ! -e "$mpi/bin/ompi_info" ] || launcher+=(--oversubscribe)
    LD_LIBRARY_PATH=$mpi/lib I_MPI_ROOT=$mpi OPAL_PREFIX=$mpi PATH=$mpi/bin:$PATH timeout -k 5 $((seconds + 150)) \
        "${launcher[@]}" -n "$ranks" env "${variables[@]}" "$mpi/random" "$family" "$number" 0 "$seconds" \
        </dev/null >"$work/text" 2>&1
    code=$?
    echo "$(basename "$mpi") $ranks $family $way table $table seed $number exit $code $(grep -m1 '^calls' "$work/text")" \
        "$([ ! -e "$work/replaced.json" ] || echo "replaced $(grep -oE '"calls": ?[0-9]+' "$work/replaced.json" | awk -F'[: ]+' '{ n += $NF } END { print n + 0 }')")" \
        "$(grep -m3 -E '^(different|crashed)' "$work/text" | tr '\n' ';')" >>"$out/lines"
    rm -rf "$work/ranks"
}

plan "$@" | shuf --random-source="$here/run.sh" >"$out/plan"
count=$(wc -l <"$out/plan")
most=$(printf '%s\n' "$@" | sort -n | tail -1)
slots=$((cores / most))
[ "$slots" -gt 0 ] || slots=1
seconds=$((minutes * 60 * slots / count - 1))
[ "$seconds" -gt 0 ] || seconds=1
number=0
while read -r words; do
    number=$((number + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$slots" ]; do wait -n; done
    one "$number" "$seconds" $words &
done <"$out/plan"
wait
sort -o "$out/lines" "$out/lines"
grep -v 'exit 0 .*wrong 0' "$out/lines"
echo "$count runs of $seconds s, $slots at a time; right: $(grep -c 'exit 0 .*wrong 0' "$out/lines")"
awk '{ for (i = 1; i < NF; ++i) if ($i == "calls") calls += $(i + 1) } END { print calls " calls" }' "$out/lines"
