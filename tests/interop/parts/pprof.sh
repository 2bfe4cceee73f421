# SPDX-License-Identifier: Apache-2.0
# pprof -> profrelay -> OTLP -> pdata decodes and encodes -> pprof is equal to what went in: for files of our own and,
# where there is one, for the corpus beside the checkout.
back=${OTLP_TO_PPROF:-$(dirname "$relay")/otlp_to_pprof}

# What an import of $1 sent, each request moved to $work/request-N.otlp.
take_arrived() {
    rm -f "$work"/request-*.otlp "$work"/re-*
    local n=0 f
    for f in "$work"/arrived/*.otlp "$work"/arrived/*.bad; do
        [ -e "$f" ] || continue
        case $f in *.bad) return 1 ;; esac
        mv "$f" "$work/request-$n.otlp"
        n=$((n + 1))
    done
    [ "$n" = 1 ]
}

# The pprof that comes back must equal $1; where the library refuses $1 it must at least accept what comes back.
judge_back() {
    "$judge" pprof "$1" >/dev/null 2>"$work/refusal"
    case $? in
    0) "$judge" pprof-equal "$1" "$2" >"$work/out" 2>&1 ;;
    3) "$judge" pprof "$2" >/dev/null 2>"$work/out" && note=" ($(tail -n1 "$work/refusal"))" ;;
    *) return 1 ;;
    esac
}

round_trip() {
    local file=$1 name=$2 note=""
    "$relay" import "$file" --to "$endpoint" --service "svc-$name" --timestamp profile >"$work/out" 2>&1 ||
        { fail "$name" "import: exit code $?" "$work/out"; return; }
    take_arrived || { fail "$name" "not one sound request arrived" "$work/out"; return; }
    "$judge" otlp-check -strict "$work/request-0.otlp" >"$work/out" 2>&1 ||
        { fail "$name" "otlp-check" "$work/out"; return; }
    "$judge" otlp-reencode "$work/request-0.otlp" "$work/re-0.otlp" >"$work/out" 2>&1 ||
        { fail "$name" "otlp-reencode" "$work/out"; return; }
    "$judge" otlp-equal "$work/request-0.otlp" "$work/re-0.otlp" >"$work/out" 2>&1 ||
        { fail "$name" "otlp-equal after re-encoding" "$work/out"; return; }
    "$back" "$work/re-0.otlp" "$work/re-back" >"$work/back" 2>"$work/out" ||
        { fail "$name" "otlp_to_pprof: exit code $?" "$work/out"; return; }
    [ "$(wc -l <"$work/back")" = 1 ] || { fail "$name" "not one pprof came back" "$work/back"; return; }
    judge_back "$file" "$work/re-back-0.pb" || { fail "$name" "pprof-equal" "$work/out"; return; }
    pass "$name$note"
}

[ -x "$back" ] || { fail programs "$back is not there: build it first"; return; }
serve_peer arrived "$judge" serve || { fail serve "does not start" "$work/arrived.log"; return; }
endpoint=http://127.0.0.1:$port
python3 tests/interop/make_samples.py "$work/ours"

for file in "$work"/ours/*; do
    case $file in *"$pattern"*) round_trip "$file" "ours/${file##*/}" ;; esac
done
if [ -d "$corpus/pprof" ]; then
    for file in "$corpus"/pprof/*; do
        case $file in *.json) continue ;; *"$pattern"*) round_trip "$file" "corpus/${file##*/}" ;; esac
    done
else
    skip corpus "$corpus is not there"
fi
