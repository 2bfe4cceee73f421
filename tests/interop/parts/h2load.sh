# SPDX-License-Identifier: Apache-2.0
# 200 connections of h2load at once, over gRPC, HTTP/2 and HTTP/1.1, in clear text and TLS: every request is taken, every
# one that was taken is counted, and everybody is served. The rates are those of the program under test (debug: no measure).
load_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
load_export=/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export
load_profiles=/v1development/profiles

load_start() {
    local tls="tls: {cert_file: $work/server.pem, key_file: $work/server.key}"
    certificate "$work" ca ca && certificate "$work" server ca || return 1
    cat >"$work/relay.yaml" <<YAML
receivers:
  otlp/clear: {protocols: {grpc: {endpoint: "127.0.0.1:0"}, http: {endpoint: "127.0.0.1:0"}}}
  otlp/tls: {protocols: {grpc: {endpoint: "127.0.0.1:0", $tls}, http: {endpoint: "127.0.0.1:0", $tls}}}
exporters: {nop: {}}
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: localhost, port: 0}}}}]}}
  pipelines: {profiles: {receivers: [otlp/clear, otlp/tls], exporters: [nop]}}
YAML
    serve_relay relay && load_relay=$launched
}

# The body as gRPC frames it: not compressed, its length, the message.
load_frame() {
    local size
    size=$(stat -c %s "$work/2.otlp")
    # shellcheck disable=SC2059  # the format is the bytes
    { printf "$(printf '\\000\\x%02x\\x%02x\\x%02x\\x%02x' $((size >> 24 & 255)) $((size >> 16 & 255)) $((size >> 8 & 255)) $((size & 255)))" &&
        cat "$work/2.otlp"; } >"$work/framed"
}

# How often the receivers said that a request's samples were taken.
load_taken() {
    local metrics
    metrics=$(sed -n 's|.*metrics at \(http://[^ ,]*\).*|\1|p' "$work/relay.log" | head -n1)
    curl -sS "$metrics" | awk '/^otelcol_receiver_accepted_profile_samples[^_]*[{ ]/ {n += $NF} END {printf "%.0f\n", n}'
}

# load_serves NAME URL OPTIONS...: 4,000 requests
load_serves() {
    local name=h2load/$1 url=$2 before after count=4000
    shift 2
    chosen "$name" || return 0
    before=$(load_taken)
    timeout 120 h2load -n "$count" -c 200 -t 2 "$@" "$url" >"$work/out" 2>&1
    after=$(load_taken)
    if ! grep -q "$count done, $count succeeded, 0 failed, 0 errored, 0 timeout" "$work/out" ||
        ! grep -q "status codes: $count 2xx, 0 3xx, 0 4xx, 0 5xx" "$work/out"; then
        fail "$name" "not all of $count succeeded" "$work/out"
    elif [ $((after - before)) != $((count * load_samples)) ]; then
        fail "$name" "$((after - before)) samples were taken, not $count times $load_samples"
    else
        pass "$name ($(sed -n 's/^finished in \([^,]*\), \([^,]*\),.*/\1, \2/p' "$work/out"))"
    fi
}

load_run() {
    local grpc=(-d "$work/framed" -H 'content-type: application/grpc' -H 'te: trailers')
    local http=(-d "$work/2.otlp" -H 'content-type: application/x-protobuf') from=http://127.0.0.1 tls=https://127.0.0.1
    load_samples=$("$judge" otlp "$work/2.otlp" | grep -c '"Profile":\[')
    load_serves grpc "$from:$(relay_port relay gRPC otlp/clear)$load_export" -m 10 "${grpc[@]}"
    load_serves h2c "$from:$(relay_port relay HTTP otlp/clear)$load_profiles" -m 10 "${http[@]}"
    load_serves http1 "$from:$(relay_port relay HTTP otlp/clear)$load_profiles" --h1 "${http[@]}"
    load_serves grpc-tls "$tls:$(relay_port relay gRPC otlp/tls)$load_export" -m 10 "${grpc[@]}"
    load_serves h2 "$tls:$(relay_port relay HTTP otlp/tls)$load_profiles" -m 10 "${http[@]}"
    load_serves http1-tls "$tls:$(relay_port relay HTTP otlp/tls)$load_profiles" --h1 "${http[@]}"
    if stop "$load_relay"; then pass h2load/end; else fail h2load/end "profrelay ended with $?" "$work/relay.log"; fi
}

if ! command -v h2load >/dev/null; then
    skip h2load "it is not installed (apt: nghttp2-client)"
elif [ ! -x "$load_random" ] || ! "$load_random" "$work" 2 >/dev/null; then
    skip h2load "$load_random is not there: build it first"
elif ! load_frame || ! load_start; then
    fail h2load "does not start" "$work/relay.log"
else
    load_run
fi
