# SPDX-License-Identifier: Apache-2.0
# Our gRPC client (tests/support/grpc_send.c) against pdata's own service on grpc-go: in clear text and TLS, with and
# without gzip, while the server sends its clients away (GOAWAY) all the time. Each call arrives once, as it was sent.
grpc_send=${GRPC_SEND:-$(dirname "$relay")/grpc_send}
grpc_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
grpc_path=/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export

# grpc_case NAME SCHEME SERVER_OPTIONS -- CLIENT_OPTIONS: leaves the client's exit code in $grpc_code, its words in $work/out
grpc_case() {
    local scheme=$2 options=()
    shift 2
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    serve_peer arrived "$judge" grpc-serve "${options[@]}" || return 1
    "$grpc_send" "$scheme://127.0.0.1:$port" "$grpc_path" "$work/grpc/2.otlp" "$@" >"$work/out" 2>&1
    grpc_code=$?
    stop "$launched"
}

# grpc_arrives NAME COUNT SCHEME ...: so many calls arrive, no fewer, no more, and say what was sent.
grpc_arrives() {
    local name=grpc-$1 count=$2 scheme=$3 last
    shift 3
    chosen "$name" || return
    grpc_case "$name" "$scheme" "$@" --times "$count" || { fail "$name" "no server" "$work/arrived.log"; return; }
    [ "$grpc_code" = 0 ] || { fail "$name" "calls failed" "$work/out"; return; }
    [ "$(ls "$work/arrived" | wc -l)" = "$count" ] || { fail "$name" "other than $count arrived" "$work/arrived.log"; return; }
    last=$work/arrived/request-$((count - 1)).otlp
    "$judge" otlp-equal "$work/grpc/2.otlp" "$last" >"$work/out" 2>&1 || { fail "$name" "otlp-equal" "$work/out"; return; }
    pass "$name"
}

# grpc_says NAME TEXT SCHEME ...: the call fails, and this is said.
grpc_says() {
    local name=grpc-$1 text=$2 scheme=$3
    shift 3
    chosen "$name" || return
    grpc_case "$name" "$scheme" "$@" || { fail "$name" "no server" "$work/arrived.log"; return; }
    grep -qF "$text" "$work/out" && [ "$grpc_code" = 1 ] && pass "$name" || fail "$name" "wanted: $text" "$work/out"
}

# grpc_split NAME KEYS PATTERN: a request of some 10 MB through profrelay to a server with grpc-go's own limit of 4 MiB
# arrives whole, in parts; PATTERN must be in the log.
grpc_split() {
    local name=grpc-split/$1 keys=$2 pattern_in_log=$3 peer code
    chosen "$name" || return
    awk 'BEGIN { for (i = 0; i < 30000; i++) printf "main;work_%d_%0330d;leaf_%d %d\n", i, i, i % 100, i + 1 }' >"$work/large.folded"
    "$relay" convert "$work/large.folded" "$work/large.otlp" --to otlp_proto >"$work/out" 2>&1 || { fail "$name" "convert" "$work/out"; return; }
    [ "$(stat -c %s "$work/large.otlp")" -gt 10000000 ] || { fail "$name" "not large"; return; }
    serve_peer split "$judge" grpc-serve -default-limits || { fail "$name" "no server" "$work/split.log"; return; }
    peer=$launched
    cat >"$work/splitting.yaml" <<YAML
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_grpc: {endpoint: "http://127.0.0.1:$port"$keys}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_grpc]}}
YAML
    serve_relay splitting || { fail "$name" "does not start" "$work/splitting.log"; return; }
    "$judge" grpc-send "$work/large.otlp" -to "127.0.0.1:$(relay_port splitting gRPC)" >"$work/out" 2>&1
    code=$?
    stop "$launched"
    stop "$peer"
    [ "$code" = 0 ] || { fail "$name" "grpc-send" "$work/out"; return; }
    "$judge" otlp-together "$work/large.otlp" "$work"/split/*.otlp >"$work/out" 2>&1 || { fail "$name" "otlp-together" "$work/out"; return; }
    grep -q "$pattern_in_log" "$work/splitting.log" && pass "$name" || fail "$name" "wanted in the log: $pattern_in_log" "$work/splitting.log"
}

if [ -x "$grpc_send" ] && [ -x "$grpc_random" ]; then
    mkdir -p "$work/grpc"
    "$grpc_random" "$work/grpc" 2 >/dev/null || fail grpc "no random request"
    certificate "$work/grpc" ca ca && certificate "$work/grpc" server ca
    ca=$work/grpc/ca.pem grpc_tls=(-cert "$work/grpc/server.pem" -key "$work/grpc/server.key")
    grpc_arrives none 100 http -- --parallel 10
    grpc_arrives gzip 100 http -- --parallel 10 --gzip
    grpc_arrives few-streams 100 http -max-streams 2 -- --parallel 20
    grpc_arrives goaway 600 http -max-age 20ms -- --parallel 10 --gzip
    grpc_arrives tls 100 https "${grpc_tls[@]}" -- --parallel 10 --ca "$ca"
    grpc_arrives tls-goaway 600 https "${grpc_tls[@]}" -max-age 20ms -- --parallel 10 --gzip --ca "$ca"
    grpc_says retry-info "RESOURCE_EXHAUSTED (the peer's, perhaps processed): told to answer so: 100 % €, 88 bytes of details" \
        http -- --metadata judge-code=8 --metadata judge-retry-ms=1500
    grpc_says deadline "DEADLINE_EXCEEDED" http -- --metadata judge-delay-ms=5000 --timeout 100
    grpc_says untrusted "certificate verify failed" https "${grpc_tls[@]}" --
    grpc_split before-sending "" ready
    grpc_split when-refused ", max_request_bytes: 100MiB" "the peer finds requests of .* too large"
else
    skip grpc "$grpc_send or $grpc_random is not there"
fi
