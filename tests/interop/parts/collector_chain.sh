# SPDX-License-Identifier: Apache-2.0
# pdata -> Collector -> profrelay -> Collector -> pdata, over gRPC and over HTTP, with default settings: what goes in comes
# out. The Collector is the real one, made by its builder (collector/builder.yaml; three minutes of two cores, then kept).
# The three of them run the same configuration file, but for the ports.
chain_manifest=$PWD/tests/interop/collector/builder.yaml
chain_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
chain_folder=$PWD/build/collector
otelcol=$chain_folder/out/otelcol

chain_build() {
    local version stamp
    version=$(sed -n 's/.*otlpreceiver //p' "$chain_manifest")
    stamp=$(go env GOVERSION && cat "$chain_manifest")
    [ ! -x "$otelcol" ] || [ "$stamp" != "$(cat "$chain_folder/stamp" 2>/dev/null)" ] || return 0
    echo "building the Collector $version (a few minutes, once)"
    rm -rf "$chain_folder"
    mkdir -p "$chain_folder"
    (cd "$chain_folder" && GOBIN=$PWD go install -trimpath -ldflags '-s -w' "go.opentelemetry.io/collector/cmd/builder@$version" &&
        ./builder --config "$chain_manifest") >"$work/out" 2>&1 && echo "$stamp" >"$chain_folder/stamp"
}

# chain_config NAME: sends on to $grpc_port and $http_port
chain_config() {
    cat >"$work/$1.yaml" <<YAML
receivers:
  otlp/grpc: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}
  otlp/http: {protocols: {http: {endpoint: "127.0.0.1:0"}}}
exporters:
  otlp_grpc: {endpoint: "127.0.0.1:$grpc_port", tls: {insecure: true}}
  otlp_http: {endpoint: "http://127.0.0.1:$http_port"}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles/grpc: {receivers: [otlp/grpc], exporters: [otlp_grpc]}
    profiles/http: {receivers: [otlp/http], exporters: [otlp_http]}
YAML
}

chain_collector() {
    chain_config "$1"
    launch "$1" "$otelcol" --config "$work/$1.yaml" --feature-gates=service.profilesSupport
    await "$work/$1.log" "Everything is ready" "$launched" || return 1
    grpc_port=$(sed -n 's/.*Starting GRPC server.*127.0.0.1:\([0-9]*\).*/\1/p' "$work/$1.log")
    http_port=$(sed -n 's/.*Starting HTTP server.*127.0.0.1:\([0-9]*\).*/\1/p' "$work/$1.log")
}

# From the end to the beginning; then $grpc_port and $http_port are the first Collector's.
chain_start() {
    serve_peer chain-grpc "$judge" grpc-serve || return 1
    grpc_port=$port
    serve_peer chain-http "$judge" serve || return 1
    http_port=$port
    chain_collector last || return 1
    chain_config relay
    serve_relay relay || return 1
    chain_relay=$launched grpc_port=$(relay_port relay gRPC) http_port=$(relay_port relay HTTP)
    chain_collector first
}

# chain_passes NAME FILE PROTOCOL SEND_COMMAND...: three times, and what arrives is what was sent.
chain_passes() {
    local name=collector-chain/$3/$1 file=$2 arrived=$work/chain-$3
    shift 3
    chosen "$name" || return 0
    rm -f "$arrived"/*
    "$judge" "$1" "$file" "${@:2}" -times 3 >"$work/out" 2>&1 || { fail "$name" "$1" "$work/out"; return; }
    ! grep -qx '0 samples each' "$work/out" || return 0 # the Collector takes them and passes nothing on
    await_files "$arrived" 3 "$chain_relay" || { fail "$name" "not all arrived" "$work/relay.log"; return; }
    "$judge" otlp-equal "$file" "$arrived"/*.otlp >"$work/out" 2>&1 || { fail "$name" "otlp-equal" "$work/out"; return; }
    pass "$name"
}

chain_file() {
    chain_passes "$1" "$2" grpc grpc-send -to "127.0.0.1:$grpc_port" -compression gzip -parallel 3
    chain_passes "$1" "$2" http http-send -to "http://127.0.0.1:$http_port" -compression gzip -parallel 3
}

chain_run() {
    local file
    mkdir -p "$work/random"
    "$chain_random" "$work/random" 10 >/dev/null || { fail collector-chain "no random requests"; return; }
    python3 tests/interop/make_samples.py "$work/samples"
    for file in "$work"/random/*; do chain_file "random-${file##*/}" "$file"; done
    for file in "$work"/samples/*; do
        "$relay" convert "$file" "$work/sample.otlp" --to otlp_proto >"$work/out" 2>&1 || fail "$file" "convert" "$work/out"
        chain_file "${file##*/}" "$work/sample.otlp"
    done
    if [ -d "$corpus/otlp" ]; then
        for file in "$corpus"/otlp/official/*-1.10*.pb "$corpus"/otlp/*-1.10.bin; do chain_file "${file##*/}" "$file"; done
    else
        skip collector-chain/corpus "$corpus is not there"
    fi
    if grep -E $'\t(warn|error)\t' "$work"/{first,relay,last}.log >"$work/out"; then fail collector-chain/silent "one of the three complains" "$work/out"
    else pass collector-chain/silent; fi
}

if [ ! -x "$chain_random" ]; then
    skip collector-chain "$chain_random is not there: build it first"
elif ! chain_build; then
    fail collector-chain "the Collector does not build" "$work/out"
elif ! chain_start; then
    fail collector-chain "does not start" "$(ls -t "$work"/*.log | head -n1)"
else
    chain_run
    stop_all
fi
