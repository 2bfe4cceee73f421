# SPDX-License-Identifier: Apache-2.0
# Each layout of OTLP profiles, written by official code of its time (tests/interop/layouts, a program for each release):
# random valid requests go through our recogniser and decoder; what comes out, in the current layout, must mean what went in.
# Refusing is no failure, but is counted. LAYOUTS_COUNT requests of each (10000), LAYOUTS_SEED (1), LAYOUTS="1.7 1.9" only these.
ours=${OTLP_LAYOUTS:-$(dirname "$relay")/otlp_layouts}
count=${LAYOUTS_COUNT:-10000}
seed=${LAYOUTS_SEED:-1}
programs=$PWD/build/judge/layouts

build_layouts() {
    local mod name
    mkdir -p "$programs"
    for mod in tests/interop/layouts/releases/*.mod; do
        name=${mod##*/} name=${name%.mod}
        (cd tests/interop/layouts && go build -modfile="releases/$name.mod" -trimpath -ldflags '-s -w' -o "$programs/$name" "./cmd/$name") || return 1
    done
}

# What is read of requests of $1, with $2 given to our program too; $3 is the case's name. Counts stand in $4.
read_layouts() {
    local folder=$work/$1 out=$work/$1.out
    rm -rf "$out"
    mkdir "$out"
    find "$folder" -name '*.pb' -print0 | xargs -0 "$ours" ${2:+"$2"} "$out" >"$work/$1.read" 2>"$work/out" ||
        { fail "$3" "otlp_layouts: exit code $?" "$work/out"; return; }
    "$programs/1.10-refs" compare -v "$folder" "$work/$1.read" "$out" >"$4" 2>&1 || { fail "$3" "misread" "$4"; return; }
    pass "$3: $(sed -n 's/^all  *//p' "$4")"
    [ -z "${PROFRELAY_KEEP:-}" ] || sed 's/^/    /' "$4"
}

one_layout() {
    local name=layouts/$1
    "$programs/$1" generate "$work/$1" "$count" "$seed" >"$work/out" 2>&1 || { fail "$name" "generate" "$work/out"; return; }
    "$programs/$1" check "$work/$1" >"$work/out" 2>&1 || { fail "$name" "the official code reads its own otherwise" "$work/out"; return; }
    read_layouts "$1" "" "$name" "$work/$1.counts"
    case $1 in
    1.10*)
        read_layouts "$1" --current "$name with header" "$work/$1.counts-header"
        grep -q '^all .* refused 0 ' "$work/$1.counts-header" || fail "$name with header" "refuses what the header tells" "$work/$1.counts-header"
        ;;
    esac
    rm -rf "${work:?}/$1" "$work/$1.out"
}

# What we write in layout $1, of requests that fit into every layout, the official code of that release reads as it was meant.
one_emission() {
    local name=layouts/to-$1 from=$work/fits to=$work/fits-$1
    mkdir -p "$to"
    [ -d "$from" ] || "$programs/1.10" generate -fits "$from" "$((count / 10))" "$seed" >"$work/out" 2>&1 || { fail "$name" "generate" "$work/out"; return; }
    find "$from" -name '*.pb' -print0 | xargs -0 "$ours" --current --to "$1" "$to" >"$work/out" 2>&1 || { fail "$name" "otlp_layouts" "$work/out"; return; }
    grep -qE $'\t(refused|broken)\t' "$work/out" && { fail "$name" "not written" "$work/out"; return; }
    cp "$from/made.json" "$to"
    "$programs/$1" check "$to" >"$work/out" 2>&1 || { fail "$name" "the official code reads otherwise" "$work/out"; return; }
    pass "$name: $(find "$to" -name '*.pb' | wc -l) requests"
}

[ -x "$ours" ] || { fail layouts/programs "$ours is not there: build it first"; return; }
build_layouts >"$work/out" 2>&1 || { fail layouts/programs "do not build" "$work/out"; return; }
for mod in tests/interop/layouts/releases/*.mod; do
    name=${mod##*/} name=${name%.mod}
    case " ${LAYOUTS:-$name} " in *" $name "*) case layouts/$name in *"$pattern"*) one_layout "$name" ;; esac ;; esac
done
for name in 1.7 1.8 1.9; do
    case layouts/to-$name in *"$pattern"*) one_emission "$name" ;; esac
done
