# SPDX-License-Identifier: Apache-2.0
# pdata's own client on grpc-go against our receiver: what it exports arrives once and unchanged, and it understands what
# we refuse with, details included. From there on our exporters send to pdata's own servers, over HTTP and gRPC.
transport_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}

# The peer's command and the exporter, with PORT in it.
transport_server=(serve) transport_exporter='otlp_http: {endpoint: "http://127.0.0.1:PORT"}'

# transport_start EXTRA_KEYS_OF_THE_RECEIVER: a peer, and profrelay in front of it.
transport_start() {
    serve_peer arrived "$judge" "${transport_server[@]}" || return 1
    transport_peer=$launched
    cat >"$work/relay.yaml" <<YAML
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"$1}}}}
exporters: {${transport_exporter//PORT/$port}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [${transport_exporter%%:*}]}}
YAML
    serve_relay relay && transport_relay=$launched
}

# profrelay sends what it holds before it ends.
transport_stop() {
    stop "$transport_relay"
    stop "$transport_peer"
}

# transport_arrives NAME FILE COUNT KEYS SEND_OPTIONS...
transport_arrives() {
    local name=otlp-transport/$1 file=$2 count=$3 keys=$4
    shift 4
    chosen "$name" || return
    transport_start "$keys" || { fail "$name" "does not start" "$work/relay.log"; return; }
    "$judge" grpc-send "$file" -to "127.0.0.1:$(relay_port relay gRPC)" -times "$count" -health "$@" >"$work/out" 2>&1
    local code=$?
    transport_stop
    [ "$code" = 0 ] || { fail "$name" "grpc-send" "$work/out"; return; }
    grep -q SERVING "$work/out" || { fail "$name" "health" "$work/out"; return; }
    [ "$(ls "$work"/arrived/*.otlp | wc -l)" = "$count" ] || { fail "$name" "$(ls "$work"/arrived/*.otlp | wc -l) of $count arrived" "$work/relay.log"; return; }
    "$judge" otlp-equal "$file" "$work"/arrived/*.otlp >"$work/out" 2>&1 || { fail "$name" "otlp-equal" "$work/out"; return; }
    pass "$name"
}

# transport_says NAME FILE TEXT KEYS SEND_OPTIONS...: the call fails, and this is said.
transport_says() {
    local name=otlp-transport/$1 file=$2 text=$3 keys=$4
    shift 4
    chosen "$name" || return
    transport_start "$keys" || { fail "$name" "does not start" "$work/relay.log"; return; }
    "$judge" grpc-send "$file" -to "127.0.0.1:$(relay_port relay gRPC)" "$@" >"$work/out" 2>&1
    local code=$?
    transport_stop
    grep -qF "$text" "$work/out" && [ "$code" = 1 ] && pass "$name" || fail "$name" "wanted: $text" "$work/out"
}

# transport_logs NAME FILE TEXT EXPORTER: what is sent does not arrive whole, and profrelay says why.
transport_logs() {
    local name=otlp-transport/$1 file=$2 text=$3 transport_exporter=$4
    chosen "$name" || return
    transport_start "" || { fail "$name" "does not start" "$work/relay.log"; return; }
    "$judge" grpc-send "$file" -to "127.0.0.1:$(relay_port relay gRPC)" >"$work/out" 2>&1
    transport_stop
    grep -qF "$text" "$work/relay.log" && pass "$name" || fail "$name" "wanted: $text" "$work/relay.log"
}

if [ -x "$transport_random" ]; then
    mkdir -p "$work/random"
    "$transport_random" "$work/random" 2 >/dev/null || fail otlp-transport "no random request"
    random_request=$work/random/2.otlp
    transport_arrives none "$random_request" 50 "" -parallel 10
    transport_arrives gzip "$random_request" 50 "" -parallel 10 -compression gzip
    transport_arrives zstd "$random_request" 50 "" -parallel 10 -compression zstd
    transport_arrives snappy "$random_request" 50 "" -parallel 10 -compression snappy
    transport_arrives few-streams "$random_request" 50 ", max_concurrent_streams: 2" -parallel 20
    transport_arrives old-connections "$random_request" 300 ", keepalive: {server_parameters: {max_connection_age: 20ms}}" -parallel 10
    # samples of one service with a stack that is not there: fields 1, 2, 2, 2 and in it stack_index 99
    printf '\012\010\022\006\022\004\022\002\010\143' >"$work/broken.otlp"
    transport_says bad-request "$work/broken.otlp" \
        "field resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: stack_index 99 is not below 1" ""

    # Our exporter against pdata's own service.
    transport_server=(grpc-serve) transport_exporter='otlp_grpc: {endpoint: "http://127.0.0.1:PORT"}'
    transport_arrives to-grpc "$random_request" 50 "" -parallel 10
    transport_exporter='otlp: {endpoint: "127.0.0.1:PORT", tls: {insecure: true}, compression: none, balancer_name: pick_first}'
    transport_arrives to-grpc-none "$random_request" 50 "" -parallel 10
    transport_exporter='otlp_grpc: {endpoint: "http://127.0.0.1:PORT", compression: zstd}'
    transport_arrives to-grpc-zstd "$random_request" 50 "" -parallel 10
    transport_server=(grpc-serve -max-age 20ms -max-streams 2)
    transport_arrives to-grpc-goaway "$random_request" 300 "" -parallel 10
    certificate "$work" ca ca && certificate "$work" server ca
    transport_server=(grpc-serve -cert "$work/server.pem" -key "$work/server.key") transport_exporter="otlp_grpc: {endpoint: \"127.0.0.1:PORT\", tls: {ca_file: $work/ca.pem}}"
    transport_arrives to-grpc-tls "$random_request" 50 "" -parallel 10
    transport_server=(grpc-serve)
    transport_logs to-grpc-refused "$random_request" "answers INVALID_ARGUMENT: told to answer so: 100 % €" \
        'otlp_grpc: {endpoint: "http://127.0.0.1:PORT", headers: {judge-code: "3"}}'
    transport_logs to-grpc-too-large "$random_request" "answers RESOURCE_EXHAUSTED: told to answer so: 100 % € (a request too large" \
        'otlp_grpc: {endpoint: "http://127.0.0.1:PORT", headers: {judge-code: "8"}}'
    transport_logs to-grpc-partial "$random_request" "told to reject them" \
        'otlp_grpc: {endpoint: "http://127.0.0.1:PORT", headers: {judge-partial: "1"}}'
    transport_logs to-grpc-throttled "$random_request" "answers RESOURCE_EXHAUSTED: told to answer so: 100 % €" \
        'otlp_grpc: {endpoint: "http://127.0.0.1:PORT", headers: {judge-code: "8", judge-retry-ms: "10"}, retry_on_failure: {max_elapsed_time: 1s}}'
    transport_logs to-grpc-no-tls "$random_request" "for clear text set tls.insecure: true" \
        'otlp_grpc: {endpoint: "127.0.0.1:PORT", retry_on_failure: {enabled: false}}'
else
    skip otlp-transport "$transport_random is not there: build it first"
fi
