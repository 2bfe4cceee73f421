# SPDX-License-Identifier: Apache-2.0
# @grpc/grpc-js, the gRPC of Node: its client against our receiver, our exporter against its server. npm installs the
# versions that grpc_js/package-lock.json pins, without their scripts.
js_here=$PWD/tests/interop/grpc_js
js_folder=$PWD/build/grpc_js
js_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
export NODE_MODULES=$js_folder/node_modules

js_install() {
    ! cmp -s "$js_here/package-lock.json" "$js_folder/installed" || return 0
    mkdir -p "$js_folder"
    cp "$js_here/package.json" "$js_here/package-lock.json" "$js_folder"
    (cd "$js_folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$work/out" 2>&1 &&
        cp "$js_here/package-lock.json" "$js_folder/installed"
}

# js_relay KEYS_OF_GRPC EXPORTER: profrelay; $js_relay
js_relay() {
    cat >"$work/relay.yaml" <<YAML
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"$1}}}}
exporters: {${2//PORT/$port}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [${2%%:*}]}}
YAML
    serve_relay relay && js_relay=$launched
}

# js_sends NAME KEYS CLIENT_ARGUMENTS...: all cases of send.js; what they export arrives unchanged.
js_sends() {
    local name=grpc-js/$1 keys=$2 peer line code=1
    shift 2
    chosen "$name" || return 0
    serve_peer arrived "$judge" grpc-serve && peer=$launched &&
        js_relay "$keys" 'otlp_grpc: {endpoint: "127.0.0.1:PORT", tls: {insecure: true}}' ||
        { fail "$name" "does not start" "$work/relay.log"; return; }
    timeout 120 node "$js_here/send.js" "127.0.0.1:$(relay_port relay gRPC)" "$js_request" "$@" >"$work/out" 2>&1 && code=0
    stop "$js_relay"
    stop "$peer"
    while read -r line; do
        case $line in
        ok*) pass "$name/${line#ok }" ;;
        FAILED*) line=${line#FAILED } && fail "$name/${line%%:*}" "${line#*: }" ;;
        esac
    done <"$work/out"
    [ "$code" = 0 ] && grep -q '^ok' "$work/out" || fail "$name" "it ended early" "$work/out"
    [ "$(find "$work/arrived" -name '*.otlp' | wc -l)" = 230 ] || { fail "$name/count" "not 230 arrived"; return; }
    if "$judge" otlp-equal "$js_request" "$work"/arrived/*.otlp >"$work/out" 2>&1; then pass "$name/arrives"
    else fail "$name/arrives" "otlp-equal" "$work/out"; fi
}

# js_receives NAME SERVER_OPTIONS -- COUNT EXPORTER_KEYS: what is sent once arrives unchanged, with attempt COUNT.
js_receives() {
    local name=grpc-js/receive-$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    chosen "$name" || return 0
    js_once ' ok$' "$3" "${options[@]}" || { fail "$name" "does not run" "$work/relay.log"; return; }
    [ "$(wc -l <"$work/arrived.log")" = "$2" ] || { fail "$name" "not $2 attempts" "$work/arrived.log"; return; }
    "$judge" otlp-equal "$js_request" "$work/arrived/1.otlp" >"$work/out" 2>&1 || { fail "$name" "otlp-equal" "$work/out"; return; }
    awk -v wait=250 '/unavailable/ {at = $1} / ok/ && at && $1 - at < wait {exit 1}' "$work/arrived.log" ||
        { fail "$name" "RetryInfo's delay is not kept" "$work/arrived.log"; return; }
    pass "$name"
}

# js_once PATTERN EXPORTER_KEYS SERVER_OPTIONS...: until the server says so
js_once() {
    local wanted_line=$1 keys=$2 peer
    serve_peer arrived node "$js_here/serve.js" "${@:3}" && peer=$launched || return 1
    js_relay "" "otlp_grpc: {endpoint: \"127.0.0.1:PORT\", $keys}" || return 1
    "$judge" grpc-send "$js_request" -to "127.0.0.1:$(relay_port relay gRPC)" >"$work/out" 2>&1 &&
        await "$work/arrived.log" "$wanted_line" "$peer" || return 1
    stop "$js_relay"
    stop "$peer"
}

# js_logs NAME ANSWERS TEXT
js_logs() {
    local name=grpc-js/receive-$1
    chosen "$name" || return 0
    js_once "$2" "tls: {insecure: true}" -answers "$2" || { fail "$name" "does not run" "$work/relay.log"; return; }
    if [ -n "$(ls "$work/arrived")" ]; then fail "$name" "it was sent again" "$work/arrived.log"; return; fi
    if grep -qF "$3" "$work/relay.log"; then pass "$name"; else fail "$name" "wanted: $3" "$work/relay.log"; fi
}

js_run() {
    js_request=$work/random/2.otlp
    mkdir -p "$work/random"
    "$js_random" "$work/random" 2 >/dev/null || { fail grpc-js "no random request"; return; }
    certificate "$work" ca ca && certificate "$work" server ca
    local clear="tls: {insecure: true}, retry_on_failure: {initial_interval: 10ms}" tls="cert_file: $work/server.pem, key_file: $work/server.key"
    js_sends clear ", max_recv_msg_size_mib: 2"
    js_sends tls ", max_recv_msg_size_mib: 2, tls: {$tls}" "$work/ca.pem"
    js_receives gzip -- 1 "$clear"
    js_receives none -- 1 "$clear, compression: none"
    js_receives tls -cert "$work/server.pem" -key "$work/server.key" -- 1 "tls: {ca_file: $work/ca.pem}"
    js_receives unavailable -answers unavailable,unavailable -- 3 "$clear"
    js_receives late -answers late -- 2 "$clear, timeout: 300ms"
    js_logs exhausted exhausted "answers RESOURCE_EXHAUSTED: told to answer so: 100 % €"
}

if ! command -v npm >/dev/null; then
    skip grpc-js "npm is not there: install Node 18 or newer with npm"
elif [ ! -x "$js_random" ]; then
    skip grpc-js "$js_random is not there: build it first"
elif ! js_install; then
    fail grpc-js "npm does not install it" "$work/out"
else
    js_run
fi
