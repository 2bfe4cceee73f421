#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What profrelay says and writes, judged by other people's code: tests/interop/judge is a Go program around google/pprof,
# the Collector's pdata and Prometheus' relabel. Each file of parts/ is one subject; it finds here: $relay, $judge, $corpus,
# $pattern, the empty folder $work, pass, fail, skip, and what processes.sh defines.
#   tests/interop/run.sh [PATTERN]    only cases whose name contains PATTERN
#   PARTS="json views" tests/interop/run.sh   only these parts
# PROFRELAY names the program (default build/debug/profrelay). PROFRELAY_KEEP=1 keeps the folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
pattern=${1:-}
relay=${PROFRELAY:-build/debug/profrelay}
corpus=${PROFRELAY_CORPUS:-../shared/corpus}
judge=$PWD/build/judge/judge
passed=0 failed=0 skipped=0

pass() { echo "ok interop.$1"; passed=$((passed + 1)); }
fail() {
    echo "FAILED interop.$1: $2"
    [ $# -lt 3 ] || [ ! -s "$3" ] || { head -c 4000 "$3"; echo; } | sed 's/^/    /'
    failed=$((failed + 1))
}
skip() { echo "skipped interop.$1: $2"; skipped=$((skipped + 1)); }
. tests/interop/processes.sh
finish() {
    stop_all
    [ -z "${all_work:-}" ] || [ -n "${PROFRELAY_KEEP:-}" ] || rm -rf "$all_work"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# The judge's own go.mod says which Go it needs.
wanted=$(sed -n 's/^go //p' tests/interop/judge/go.mod)
go_is_new_enough() {
    local version
    version=$(cd / && go env GOVERSION 2>/dev/null)
    version=${version#go}
    [ -n "$version" ] && [ "$(printf '%s\n' "$wanted" "${version%% *}" | sort -V | head -n1)" = "$wanted" ]
}

go_is_new_enough || { skip all "needs go $wanted or newer"; finish; }
mkdir -p build/judge
(cd tests/interop/judge && go build -trimpath -ldflags '-s -w' -o "$judge" .) || { fail judge "does not build"; finish; }
[ -x "$relay" ] || { fail programs "$relay is not there: build it first"; finish; }
all_work=$(mktemp -d)
trap 'stop_all; exit 130' INT TERM
for part in tests/interop/parts/*.sh; do
    part_name=${part##*/} part_name=${part_name%.sh}
    work=$all_work/$part_name
    mkdir "$work"
    case " ${PARTS:-$part_name} " in *" $part_name "*) ;; *) continue ;; esac
    part_begin=$EPOCHREALTIME
    . "$part"
    stop_all
    awk -v a="$part_begin" -v b="$EPOCHREALTIME" -v n="$part_name" 'BEGIN {printf "part %s: %.1f s\n", n, b - a}'
done
finish
