# SPDX-License-Identifier: Apache-2.0
# Our gRPC client (tests/support/grpc_send.c) against pdata's own service on grpc-go: in clear text and TLS, with and
# without gzip, while the server sends its clients away (GOAWAY) all the time. Each call arrives once, as it was sent.
grpc_send=${GRPC_SEND:-$(dirname "$relay")/grpc_send}
grpc_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
grpc_path=/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export

# grpc_case NAME SCHEME SERVER_OPTIONS -- CLIENT_OPTIONS: leaves the client's exit code in $grpc_code, its words in $work/out
grpc_case() {
    local scheme=$2 options=() pid
    shift 2
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    rm -rf "$work/port" "$work/arrived"
    "$judge" grpc-serve -port-file "$work/port" -out "$work/arrived" "${options[@]}" >"$work/serve.out" 2>&1 &
    pid=$!
    while [ ! -s "$work/port" ]; do
        kill -0 "$pid" 2>/dev/null || return 1
        read -rt 0.05 <> <(:) || true
    done
    "$grpc_send" "$scheme://127.0.0.1:$(cat "$work/port")" "$grpc_path" "$work/grpc/2.otlp" "$@" >"$work/out" 2>&1
    grpc_code=$?
    kill "$pid"
    wait "$pid" 2>/dev/null
}

# grpc_arrives NAME COUNT SCHEME ...: so many calls arrive, no fewer, no more, and say what was sent.
grpc_arrives() {
    local name=grpc-$1 count=$2 scheme=$3 last
    shift 3
    case $name in *"$pattern"*) ;; *) return ;; esac
    grpc_case "$name" "$scheme" "$@" --times "$count" || { fail "$name" "no server" "$work/serve.out"; return; }
    [ "$grpc_code" = 0 ] || { fail "$name" "calls failed" "$work/out"; return; }
    [ "$(ls "$work/arrived" | wc -l)" = "$count" ] || { fail "$name" "other than $count arrived" "$work/serve.out"; return; }
    last=$work/arrived/request-$((count - 1)).otlp
    "$judge" otlp-equal "$work/grpc/2.otlp" "$last" >"$work/out" 2>&1 || { fail "$name" "otlp-equal" "$work/out"; return; }
    pass "$name"
}

# grpc_says NAME TEXT SCHEME ...: the call fails, and this is said.
grpc_says() {
    local name=grpc-$1 text=$2 scheme=$3
    shift 3
    case $name in *"$pattern"*) ;; *) return ;; esac
    grpc_case "$name" "$scheme" "$@" || { fail "$name" "no server" "$work/serve.out"; return; }
    grep -qF "$text" "$work/out" && [ "$grpc_code" = 1 ] && pass "$name" || fail "$name" "wanted: $text" "$work/out"
}

if [ -x "$grpc_send" ] && [ -x "$grpc_random" ]; then
    mkdir -p "$work/grpc"
    "$grpc_random" "$work/grpc" 2 >/dev/null || fail grpc "no random request"
    mkdir -p "$work/grpc" && ca=$work/grpc/ca.pem
    grpc_arrives none 100 http -- --parallel 10
    grpc_arrives gzip 100 http -- --parallel 10 --gzip
    grpc_arrives few-streams 100 http -max-streams 2 -- --parallel 20
    grpc_arrives goaway 600 http -max-age 20ms -- --parallel 10 --gzip
    grpc_arrives tls 100 https -tls "$ca" -- --parallel 10 --ca "$ca"
    grpc_arrives tls-goaway 600 https -tls "$ca" -max-age 20ms -- --parallel 10 --gzip --ca "$ca"
    grpc_says retry-info "RESOURCE_EXHAUSTED (the peer's, perhaps processed): told to answer so: 100 % €, 88 bytes of details" \
        http -- --metadata judge-code=8 --metadata judge-retry-ms=1500
    grpc_says deadline "DEADLINE_EXCEEDED" http -- --metadata judge-delay-ms=5000 --timeout 100
    grpc_says untrusted "certificate verify failed" https -tls "$ca" --
else
    skip grpc "$grpc_send or $grpc_random is not there"
fi
