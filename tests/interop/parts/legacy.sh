# SPDX-License-Identifier: Apache-2.0
# Profiles of before profile.proto: google/pprof reads them itself, and must see the same in the pprof that profrelay makes
# of them. What it does not read (jemalloc) has a twin that it does.
convert_legacy() {
    local file=$1 name=legacy.$2 same=$1
    [ ! -e "$file.heap" ] || same=$file.heap
    rm -f "$work/legacy.pb.gz"
    "$relay" convert "$file" "$work/legacy.pb.gz" >"$work/out" 2>&1 ||
        { fail "$name" "convert: exit code $?" "$work/out"; return; }
    "$judge" pprof-equal "$same" "$work/legacy.pb.gz" >"$work/out" 2>&1 ||
        { fail "$name" "pprof-equal" "$work/out"; return; }
    pass "$name"
}

python3 tests/interop/make_legacy.py "$work/legacy"
for file in "$work"/legacy/*; do
    case $file in *"$pattern"*) convert_legacy "$file" "ours/${file##*/}" ;; esac
done
if [ -d "$corpus/pprof-legacy" ]; then
    for file in "$corpus"/pprof-legacy/*; do
        case $file in *.string) continue ;; *"$pattern"*) convert_legacy "$file" "corpus/${file##*/}" ;; esac
    done
else
    skip legacy.corpus "$corpus/pprof-legacy is not there"
fi
