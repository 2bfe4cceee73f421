# SPDX-License-Identifier: Apache-2.0
# Our relabelling against Prometheus': what is refused, dropped and made, on 100,000 random sets of labels.
cases=${RELABEL_CASES:-$(dirname "$relay")/relabel_cases}

case relabel in *"$pattern"*) ;; *) return ;; esac
[ -x "$cases" ] || { fail relabel "$cases is not there: build it first"; return; }
"$judge" relabel-cases 100000 "$work/cases" >"$work/out" 2>&1 || { fail relabel "no cases were made" "$work/out"; return; }
# Short stacks of allocations: compiling expressions is most of the time.
if ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}malloc_context_size=2 "$cases" "$work/cases" >"$work/out" 2>&1; then
    pass "relabel ($(tail -n1 "$work/out"))"
else
    fail relabel "not as Prometheus" "$work/out"
fi
