# SPDX-License-Identifier: Apache-2.0
# Pyroscope's Push API between profrelay and connect-go with the API module that Pyroscope publishes: its client against our
# receiver in each protocol, its handler, which parses every profile with google/pprof, against our exporter.
push_here=$PWD/tests/interop/pyroscope
push=$PWD/build/pyroscope/push/push
push_facts=$PWD/build/pyroscope/facts/live-connect.tsv

push_build() {
    mkdir -p "${push%/*}" "${push_facts%/*}"
    (cd "$push_here/push" && go build -trimpath -ldflags '-s -w' -o "$push" .) >"$work/out" 2>&1
}

# push_start: connect-go's handler and pdata's server, and profrelay with a receiver for each case in front of both
push_start() {
    serve_peer pushed "$push" serve && push_peer=$launched push_peer_port=$port &&
        serve_peer arrived "$judge" serve && push_sink=$launched || return 1
    cat >"$work/relay.yaml" <<YAML
extensions: {bearertokenauth: {token: dummy-token-0001}}
receivers:
  pyroscope/open: {endpoint: "127.0.0.1:0"}
  pyroscope/token: {endpoint: "127.0.0.1:0", auth: {authenticator: bearertokenauth}}
  pyroscope/small: {endpoint: "127.0.0.1:0", max_request_body_size: 1MiB}
exporters:
  pyroscope: {endpoint: "http://127.0.0.1:$push_peer_port/pyroscope"}
  otlp_http: {endpoint: "http://127.0.0.1:$port"}
service:
  telemetry: {metrics: {level: none}}
  extensions: [bearertokenauth]
  pipelines: {profiles: {receivers: [pyroscope/open, pyroscope/token, pyroscope/small], exporters: [pyroscope, otlp_http]}}
YAML
    serve_relay relay && push_relay=$launched
}

push_stop() {
    stop "$push_relay" # sends what it holds
    stop "$push_peer"
    stop "$push_sink"
}

push_port() { sed -n "s|.*receiver/pyroscope/$1[[:space:]].*Pyroscope at .*port \([0-9]*\).*|\1|p" "$work/relay.log"; }

# push_send RECEIVER PATH ARGUMENTS...
push_send() {
    "$push" send "${@:3}" -to "http://127.0.0.1:$(push_port "$1")$2" >"$work/out" 2>&1
}

# push_equal SERVICE FILE COUNT: so many profiles of that service came out, each as it went in, with its labels
push_equal() {
    local service=$1 file=$2 wanted=$3 count=0 labels line
    for labels in "$work"/pushed/*.labels; do
        grep -qxF "service_name=$service" "$labels" || continue
        count=$((count + 1))
        "$judge" pprof-equal "$file" "${labels%.labels}.pprof" >"$work/out" 2>&1 || return 1
        for line in __name__=process_cpu region=eu-west-1 'dotted.name=a,b={c} ü'; do
            grep -qxF "$line" "$labels" || { cp "$labels" "$work/out"; return 1; }
        done
    done
    [ "$count" = "$wanted" ] || { echo "$count came out, not $wanted" >"$work/out"; return 1; }
}

# push_arrives NAME PROTOCOL RECEIVER PATH COUNT ARGUMENTS...: two profiles, COUNT times; both servers have them
push_arrives() {
    local name=pyroscope-push/$1 protocol=$2 receiver=$3 path=$4 count=$5 way=none
    chosen "$name" || return 0
    shift 5
    push_start || { fail "$name" "does not start" "$work/relay.log"; return; }
    [ "$receiver" != token ] || { way=Bearer && set -- "$@" -token dummy-token-0001; }
    push_send "$receiver" "$path" "${push_files[@]}" -times "$count" "$@" || { push_stop; fail "$name" "is refused" "$work/out"; return; }
    push_stop
    push_equal demo.push.0 "${push_files[0]}" "$count" && push_equal demo.push.1 "${push_files[1]}" "$count" ||
        { fail "$name" "not as it went in" "$work/out"; return; }
    "$judge" otlp-check -strict "$work"/arrived/*.otlp >"$work/out" 2>&1 || { fail "$name" "otlp-check" "$work/out"; return; }
    "$judge" otlp-leaves "$work"/arrived/*.otlp >"$work/leaves" 2>"$work/out" || { fail "$name" "otlp-leaves" "$work/out"; return; }
    [ "$(grep -c '"service.name":"demo.push.0"' "$work/leaves")" = $((2 * count)) ] || { fail "$name" "OTLP" "$work/leaves"; return; }
    printf '%s\t' "connect-go (Alloy, profilecli)" "1.19.2, $protocol" "$way" "$path" live >>"$push_facts"
    echo right >>"$push_facts"
    pass "$name"
}

# push_refused NAME RECEIVER TEXT COUNT ARGUMENTS...: the client hears TEXT in each protocol, and COUNT profiles come out
push_refused() {
    local name=pyroscope-push/$1 receiver=$2 text=$3 count=$4 protocol
    chosen "$name" || return 0
    shift 4
    push_start || { fail "$name" "does not start" "$work/relay.log"; return; }
    for protocol in connect json "grpc -http2" grpcweb grpc; do
        # shellcheck disable=SC2086  # words of their own
        ! push_send "$receiver" "" "$@" -protocol $protocol && grep -qE "$text" "$work/out" && continue
        push_stop
        fail "$name" "$protocol: wanted $text" "$work/out"
        return
    done
    push_stop
    [ "$(find "$work/pushed" -name '*.pprof' | wc -l)" = "$count" ] || { fail "$name" "not $count came out" "$work/relay.log"; return; }
    pass "$name"
}

# push_run: the client's side
push_run() {
    : >"$push_facts"
    push_arrives connect "Connect, HTTP/1.1" open "" 1
    push_arrives connect-gzip "Connect, gzip, HTTP/1.1" token /pyroscope 1 -gzip
    push_arrives connect-http2 "Connect, HTTP/2.0" open /v1/profiles/pyroscope 1 -http2
    push_arrives json "Connect JSON, HTTP/1.1" open "" 1 -protocol json
    push_arrives json-gzip "Connect JSON, gzip, HTTP/1.1" token /pyroscope 1 -protocol json -gzip
    push_arrives grpc "gRPC, HTTP/2.0" open "" 1 -protocol grpc -http2
    push_arrives grpc-gzip "gRPC, gzip, HTTP/2.0" token /pyroscope 1 -protocol grpc -http2 -gzip
    push_arrives grpc-http1 "gRPC, HTTP/1.1" open /pyroscope 1 -protocol grpc
    push_arrives grpcweb "gRPC-Web, HTTP/1.1" token "" 1 -protocol grpcweb
    push_arrives grpcweb-gzip "gRPC-Web, gzip, HTTP/1.1" open /v1/profiles/pyroscope 1 -protocol grpcweb -gzip
    push_arrives grpcweb-http2 "gRPC-Web, HTTP/2.0" open "" 1 -protocol grpcweb -http2
    push_arrives many "Connect, gzip, HTTP/2.0" open "" 100 -http2 -gzip -parallel 20
    push_refused one-bad-series open "^invalid_argument: .*series 2" 10 "${push_files[@]}" -bad 1
    push_refused only-bad-series open "^invalid_argument" 0 -bad 0
    push_refused no-series open "^invalid_argument: .*no profiles received" 0
    push_refused no-token token "^unauthenticated" 0 "${push_files[@]}"
    push_refused wrong-token token "^unauthenticated" 0 "${push_files[@]}" -token wrong
    push_refused too-large small "^resource_exhausted.*1048576" 0 -random-mib 2
    [ -n "$pattern" ] || push_matrix
}

push_matrix() {
    if /usr/bin/python3 "$push_here/matrix.py" check live "connect-go (Alloy, profilecli)" >"$work/out" 2>&1; then pass pyroscope-push/matrix
    else fail pyroscope-push/matrix "docs/pyroscope-matrix.md" "$work/out"; fi
}

# --- our exporter, their handler ---

# push_export_start KEYS SERVE_ARGUMENTS...
push_export_start() {
    local keys=$1
    shift
    serve_peer pushed "$push" serve "$@" && push_peer=$launched || return 1
    cat >"$work/relay.yaml" <<YAML
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {pyroscope: {endpoint: "http://127.0.0.1:$port", $keys}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [pyroscope]}}
YAML
    serve_relay relay && push_relay=$launched
}

push_export_stop() {
    stop "$push_relay"
    stop "$push_peer"
}

# push_import FILE SERVICE
push_import() {
    "$relay" import "$1" --to "http://127.0.0.1:$(relay_port relay HTTP)" --service "$2" --timestamp profile >"$work/out" 2>&1
}

# push_only_time: of two profiles only the time differs, and that of the first made no sense: 0, or long ago
push_only_time() {
    grep -q '^differs: 1 of the header, 0 samples only in .*, 0 only in' "$work/out" &&
        awk '/^[A-Z]/ {time = $1 == "TimeNanos:"} time && $1 == "A" && $2 < 5e17 {found = 1} END {exit !found}' "$work/out"
}

# push_export_judge FILE SERVICE NAME: one profile of that service came, and is the file; one that google/pprof refuses at
# least gives what it accepts
push_export_judge() {
    local file=$1 labels
    labels=$(grep -lxF "service_name=$2" "$work"/pushed/*.labels)
    case $file in */empty.pb.gz) [ -z "$labels" ] && pass "$3 (is not sent)" && return ;; esac
    [ -f "${labels%.labels}.pprof" ] || { fail "$3" "not one good profile: $labels" "$work/relay.log"; return; }
    grep -qE '^__name__=[a-z_]+$' "$labels" || { fail "$3" "no __name__" "$labels"; return; }
    "$judge" pprof "$file" >/dev/null 2>"$work/refusal"
    case $? in
    0) "$judge" pprof-equal "$file" "${labels%.labels}.pprof" >"$work/out" 2>&1 || push_only_time ||
        { fail "$3" pprof-equal "$work/out"; return; } ;;
    3) "$judge" pprof "${labels%.labels}.pprof" >/dev/null 2>"$work/out" || { fail "$3" "is not valid" "$work/out"; return; } ;;
    *) fail "$3" "the judge fails" "$work/refusal" && return ;;
    esac
    pass "$3"
}

# push_exports NAME KEYS FILES...: nothing is split, so that each file is one profile
push_exports() {
    local name=pyroscope-push/export-$1 keys="max_profile_bytes: 1GiB, max_profile_samples: 1000000000, $2" file sent=()
    chosen "$name" || return 0
    shift 2
    push_export_start "$keys" || { fail "$name" "does not start" "$work/relay.log"; return; }
    for file in "$@"; do
        if push_import "$file" "svc-${file##*/}"; then sent+=("$file")
        else fail "$name/${file##*/}" "import" "$work/out"; fi
    done
    push_export_stop
    for file in "${sent[@]}"; do push_export_judge "$file" "svc-${file##*/}" "$name/${file##*/}"; done
}

# push_retried NAME ANSWERS COUNT: what is sent once arrives with attempt COUNT
push_retried() {
    local name=pyroscope-push/export-$1
    chosen "$name" || return 0
    push_export_start "retry_on_failure: {initial_interval: 10ms}" -answers "$2" && push_import "${push_files[0]}" retried &&
        await "$work/pushed.log" '^[0-9]+ ok' "$push_peer" || { fail "$name" "does not run" "$work/relay.log"; return; }
    push_export_stop
    [ "$(wc -l <"$work/pushed.log")" = "$3" ] || { fail "$name" "not $3 attempts" "$work/pushed.log"; return; }
    push_export_judge "${push_files[0]}" retried "$name"
}

# push_given_up NAME ANSWERS COUNT TEXT: attempt COUNT is the last, and our log has TEXT and the server's words
push_given_up() {
    local name=pyroscope-push/export-$1
    chosen "$name" || return 0
    push_export_start "retry_on_failure: {initial_interval: 10ms}" -answers "$2" && push_import "${push_files[0]}" lost &&
        await "$work/relay.log" "$4.*told to answer so: 100 % €" "$push_relay" || { fail "$name" "wanted in the log: $4" "$work/relay.log"; return; }
    push_export_stop
    [ "$(wc -l <"$work/pushed.log")" = "$3" ] || { fail "$name" "not $3 attempts" "$work/pushed.log"; return; }
    pass "$name"
}

push_export_run() {
    local file files=()
    push_exports ours "" "$work"/ours/*
    push_exports plain "profile_compression: none, compression: gzip" "$work"/ours/*
    push_exports as-it-is "profile_compression: none, compression: none" "$work"/ours/*
    if [ -d "$corpus/pprof" ]; then
        for file in "$corpus"/pprof/*; do case $file in *.json) ;; *) files+=("$file") ;; esac; done
        push_exports corpus "" "${files[@]}"
    else
        skip pyroscope-push/export-corpus "$corpus is not there"
    fi
    push_retried 429 resource_exhausted,resource_exhausted 3
    push_retried 503 unavailable 2
    push_retried 500 internal 2
    push_given_up 500-unknown unknown,unknown,unknown 3 "answers 500 unknown"
    push_given_up 401 unauthenticated 1 "answers 401"
    push_given_up 400 invalid_argument 1 "answers 400"
}

if ! push_build; then
    fail pyroscope-push "does not build" "$work/out"
else
    python3 tests/interop/make_samples.py "$work/ours"
    push_files=("$work/ours/plain.pb.gz" "$work/ours/raw.pb")
    push_run
    push_export_run
fi
