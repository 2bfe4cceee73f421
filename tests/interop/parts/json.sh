# SPDX-License-Identifier: Apache-2.0
# OTLP/JSON: pdata reads what `profrelay convert` writes, and convert reads what pdata writes (in both of its ways, with
# strings inline and by index) and what Google's runtime wrote (in the corpus). Each comes back as what went in.
random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}

# convert $1 (of format $2) into $3 (of format $4)
convert() {
    "$relay" convert "$1" "$3" --from "$2" --to "$4" >"$work/out" 2>&1
}

same() {
    "$judge" otlp-equal "$1" "$2" >"$work/out" 2>&1
}

json_round_trip() {
    local file=$1 name=$2 way
    convert "$file" otlp_proto "$work/ours.json" otlp_json || { fail "$name" "convert to JSON" "$work/out"; return; }
    "$judge" otlp-from-json "$work/ours.json" "$work/theirs.otlp" >"$work/out" 2>&1 ||
        { fail "$name" "pdata does not read our JSON" "$work/out"; return; }
    same "$file" "$work/theirs.otlp" || { fail "$name" "pdata reads our JSON as something else" "$work/out"; return; }
    for way in file request; do
        "$judge" otlp-to-json "$file" "$work/theirs.json" "$way" >"$work/out" 2>&1 ||
            { fail "$name" "pdata writes no JSON ($way)" "$work/out"; return; }
        convert "$work/theirs.json" otlp_json "$work/ours.otlp" otlp_proto ||
            { fail "$name" "we do not read pdata's JSON ($way)" "$work/out"; return; }
        same "$file" "$work/ours.otlp" || { fail "$name" "we read pdata's JSON ($way) as something else" "$work/out"; return; }
    done
    pass "$name"
}

# $1: JSON as others wrote it; $2: protobuf that says the same.
json_reads_as() {
    local name=json/corpus/${1##*/}
    convert "$1" otlp_json "$work/ours.otlp" otlp_proto || { fail "$name" "convert" "$work/out"; return; }
    same "$2" "$work/ours.otlp" || { fail "$name" "reads as something else" "$work/out"; return; }
    pass "$name"
}

[ -x "$random" ] || { fail json/programs "$random is not there: build it first"; return; }
mkdir -p "$work/random"
"$random" "$work/random" 40 || { fail json/random "no requests"; return; }
for file in "$work"/random/*.otlp; do
    case json/random/${file##*/} in *"$pattern"*) json_round_trip "$file" "json/random/${file##*/}" ;; esac
done
if [ -d "$corpus/otlp" ]; then
    for file in "$corpus"/otlp/official/*-1.10*.pb "$corpus"/otlp/*-1.10.bin; do
        case json/${file##*/} in *"$pattern"*) json_round_trip "$file" "json/${file##*/}" ;; esac
    done
    for file in "$corpus"/otlp/official/*-1.{9,10}*.json "$corpus"/otlp/*.protojson.json; do
        proto=${file%.protojson.json}.bin
        [ -e "$proto" ] || { proto=${file##*/} proto=$corpus/otlp/official/${proto%%-*}-1.10.pb; }
        case json/${file##*/} in *"$pattern"*) json_reads_as "$file" "$proto" ;; esac
    done
else
    skip json/corpus "$corpus is not there"
fi
