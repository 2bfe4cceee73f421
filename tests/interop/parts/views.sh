# SPDX-License-Identifier: Apache-2.0
# What `profrelay top` counts for each function, its own and in total, is what `pprof -top` counts: for every sample type
# of every file, and for the one that is shown when none is named.
views_agree() {
    local file=$1 type=$2
    "$relay" top "$file" --raw --rows 0 ${type:+--type "$type"} 2>"$work/out" | LC_ALL=C sort >"$work/ours"
    [ "${PIPESTATUS[0]}" = 0 ] || return 1
    "$judge" top "$file" $type 2>"$work/out" >"$work/theirs" || return 1
    diff -u "$work/theirs" "$work/ours" >"$work/out"
}

view_file() {
    local file=$1 name=$2 type count=0
    "$judge" types "$file" >"$work/types" 2>"$work/refusal"
    case $? in
    0) ;;
    3)
        "$relay" top "$file" >"$work/out" 2>&1 || { fail "$name" "top: exit code $?" "$work/out"; return; }
        pass "$name ($(tail -n1 "$work/refusal"))"
        return
        ;;
    *) fail "$name" "types" "$work/refusal"; return ;;
    esac
    views_agree "$file" "" || { fail "$name" "the default sample type" "$work/out"; return; }
    while read -r type; do
        views_agree "$file" "$type" || { fail "$name" "sample type $type" "$work/out"; return; }
        count=$((count + 1))
    done <"$work/types"
    [ "$count" -gt 0 ] || { fail "$name" "pprof sees no sample types"; return; }
    pass "$name, $count sample types"
}

python3 tests/interop/make_samples.py "$work/viewed"
for file in "$work"/viewed/*; do
    case $file in *"$pattern"*) view_file "$file" "views/ours/${file##*/}" ;; esac
done
for folder in pprof pprof-legacy; do
    [ -d "$corpus/$folder" ] || { skip views "$corpus/$folder is not there"; continue; }
    for file in "$corpus/$folder"/*; do
        case $file in *.json | *.string) continue ;; *"$pattern"*) view_file "$file" "views/$folder/${file##*/}" ;; esac
    done
done
