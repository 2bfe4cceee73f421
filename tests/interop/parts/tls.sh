# SPDX-License-Identifier: Apache-2.0
# pdata's client -> profrelay -> pdata's server, over gRPC and HTTP, in clear text, TLS and mTLS, with each compression.
# Then whom we refuse and who refuses us, with what the log says of it, and certificates that change while we run.
tls_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}

# Two authorities: what "other" signed is not trusted where "ca" is.
tls_certificates() {
    local name
    certificate "$work" ca ca && certificate "$work" other other || return 1
    for name in server client; do certificate "$work" "$name" ca && certificate "$work" "other-$name" other || return 1; done
}

pair() { echo "cert_file: $work/$1.pem, key_file: $work/$1.key"; }
files() { echo "-cert $work/$1.pem -key $work/$1.key"; }

# tls_start PROTOCOL RECEIVER_TLS EXPORTER_TLS EXPORTER_KEYS PEER_OPTIONS...: the tables may be empty. $tls_to, $tls_relay,
# $tls_peer
tls_start() {
    local protocol=$1 receiver=$2 exporter=$3 keys=$4 server=serve scheme=http name=HTTP
    shift 4
    [ "$protocol" = http ] || server=grpc-serve name=gRPC
    serve_peer arrived "$judge" "$server" "$@" && tls_peer=$launched || return 1
    [ -z "$exporter" ] || scheme=https
    cat >"$work/relay.yaml" <<YAML
receivers: {otlp: {protocols: {$protocol: {endpoint: "127.0.0.1:0"${receiver:+, tls: {$receiver\}}}}}}
exporters:
  otlp_$protocol:
    endpoint: "$scheme://127.0.0.1:$port"
    tls: {$exporter}
    retry_on_failure: {initial_interval: 100ms, max_interval: 100ms}
    $keys
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_$protocol]}}
YAML
    serve_relay relay && tls_relay=$launched || return 1
    tls_to=127.0.0.1:$(relay_port relay "$name")
    [ "$protocol" = grpc ] || tls_to=http${receiver:+s}://$tls_to
}

tls_stop() {
    stop "$tls_relay" && stop "$tls_peer"
}

# tls_send PROTOCOL OPTIONS...
tls_send() { "$judge" "$1-send" "$tls_request" -to "$tls_to" "${@:2}" >"$work/out" 2>&1; }

# tls_arrives NAME COUNT: stops all; what was sent arrived that often, unchanged.
tls_arrives() {
    local count
    tls_stop || { fail "$1" "profrelay ended with $?" "$work/relay.log"; return; }
    count=$(find "$work/arrived" -name '*.otlp' | wc -l)
    [ "$count" = "$2" ] || { fail "$1" "$count of $2 arrived" "$work/relay.log"; return; }
    "$judge" otlp-equal "$tls_request" "$work"/arrived/*.otlp >"$work/out" 2>&1 || { fail "$1" "otlp-equal" "$work/out"; return; }
    pass "$1"
}

# tls_passes NAME PROTOCOL COMPRESSION RECEIVER_TLS EXPORTER_TLS CLIENT_OPTIONS PEER_OPTIONS
tls_passes() {
    local name=tls/$1-$2-$3 protocol=$2 packed=() ways=("") way count=0
    chosen "$name" || return 0
    [ "$3" = none ] || packed=(-compression "$3")
    [ "$protocol" = grpc ] || ways=("" -http2 -json)
    # shellcheck disable=SC2086  # options are words
    tls_start "$protocol" "$4" "$5" "compression: $3" $7 || { fail "$name" "does not start" "$work/relay.log"; return; }
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086
        tls_send "$protocol" -times 20 -parallel 5 "${packed[@]}" $6 $way || { fail "$name" "$protocol-send $way" "$work/out"; tls_stop; return; }
        count=$((count + 20))
    done
    tls_arrives "$name" "$count"
}

# tls_refuses NAME PROTOCOL TEXT RECEIVER_TLS CLIENT_OPTIONS...: the client fails, and our log has TEXT.
tls_refuses() {
    local name=tls/$2-refuses-$1 text=$3
    chosen "$name" || return 0
    tls_start "$2" "$4" "" "" || { fail "$name" "does not start" "$work/relay.log"; return; }
    if tls_send "$2" "${@:5}"; then fail "$name" "it is taken"; tls_stop; return; fi
    text="warn.*127\.0\.0\.1.*($text)"
    await "$work/relay.log" "$text" "$tls_relay" # the client may know it before us
    tls_stop
    if grep -qE "$text" "$work/relay.log"; then pass "$name"; else fail "$name" "wanted: $text" "$work/relay.log"; fi
}

# tls_is_refused NAME PROTOCOL TEXT EXPORTER_TLS PEER_OPTIONS...: nothing arrives, and our log has TEXT.
tls_is_refused() {
    local name=tls/$2-is-refused-$1 text=$3
    chosen "$name" || return 0
    tls_start "$2" "" "$4" "" "${@:5}" || { fail "$name" "does not start" "$work/relay.log"; return; }
    tls_send "$2" || fail "$name" "$2-send" "$work/out"
    await "$work/relay.log" "$text" "$tls_relay"
    tls_stop
    if [ -z "$(ls "$work/arrived")" ] && grep -qE "$text" "$work/relay.log"; then pass "$name"
    else fail "$name" "wanted: $text" "$work/relay.log"; fi
}

# tls_install NAME TO END: the certificate (pem) or the key becomes TO's; a rename, as careful people do it
tls_install() { cp "$work/$1.$3" "$work/new" && mv "$work/new" "$work/$2.$3"; }

# The receiver's pair and its clients' authority change; in between they do not fit.
tls_receiver_reloads() {
    local name=tls/$1-receiver-reload end
    chosen "$name" || return 0
    for end in pem key; do tls_install server now "$end"; done
    tls_install ca trusted pem
    tls_start "$1" "$(pair now), client_ca_file: $work/trusted.pem, reload_interval: 1s" "" "" || { fail "$name" "does not start" "$work/relay.log"; return; }
    # shellcheck disable=SC2046
    tls_send "$1" -ca "$work/ca.pem" $(files client) || { fail "$name" "before" "$work/out"; tls_stop; return; }
    tls_install other-server now pem
    await "$work/relay.log" "the old TLS certificate stays in use" "$tls_relay" || { fail "$name" "half a pair is taken" "$work/relay.log"; tls_stop; return; }
    # shellcheck disable=SC2046
    tls_send "$1" -ca "$work/ca.pem" $(files client) || { fail "$name" "with half a pair" "$work/out"; tls_stop; return; }
    tls_install other-server now key
    tls_install other trusted pem
    # shellcheck disable=SC2046
    await_true "$tls_relay" tls_send "$1" -ca "$work/other.pem" $(files other-client) || { fail "$name" "the new pair is not taken" "$work/relay.log"; tls_stop; return; }
    # shellcheck disable=SC2046
    if tls_send "$1" -ca "$work/ca.pem" $(files client); then fail "$name" "the old pair is still in use"; tls_stop; return; fi
    tls_arrives "$name" 3
}

# The server wants another client certificate than ours, until ours changes.
tls_exporter_reloads() {
    local name=tls/$1-exporter-reload end
    chosen "$name" || return 0
    for end in pem key; do tls_install other-client now "$end"; done
    # shellcheck disable=SC2046
    tls_start "$1" "" "$(pair now), ca_file: $work/ca.pem" "" -ca "$work/ca.pem" $(files server) || { fail "$name" "does not start" "$work/relay.log"; return; }
    tls_send "$1" || fail "$name" "$1-send" "$work/out"
    await "$work/relay.log" "does not trust the certificate" "$tls_relay" || { fail "$name" "the wrong certificate is not refused" "$work/relay.log"; tls_stop; return; }
    tls_install client now pem
    await "$work/relay.log" "the old certificates stay in use" "$tls_relay" || { fail "$name" "half a pair is taken" "$work/relay.log"; tls_stop; return; }
    tls_install client now key
    await_files "$work/arrived" 1 "$tls_relay" || { fail "$name" "the new pair is not taken" "$work/relay.log"; tls_stop; return; }
    tls_arrives "$name" 1
}

tls_run() {
    local p c ca=$work/ca.pem server client
    server=$(pair server) client=$(pair client)
    for p in grpc http; do
        for c in none gzip zstd; do
            tls_passes clear "$p" "$c" "" "" "" ""
            tls_passes one-way "$p" "$c" "$server" "ca_file: $ca" "-ca $ca" "$(files server)"
            tls_passes mutual "$p" "$c" "$server, client_ca_file: $ca" "$client, ca_file: $ca" "-ca $ca $(files client)" "-ca $ca $(files server)"
        done
        tls_refuses no-certificate "$p" "the client shows no certificate" "$server, client_ca_file: $ca" -ca "$ca"
        # shellcheck disable=SC2046
        tls_refuses other-certificate "$p" "certificate verify failed" "$server, client_ca_file: $ca" -ca "$ca" $(files other-client)
        tls_refuses distrust "$p" "the peer does not trust the certificate shown to it" "$server" -ca "$work/other.pem"
        # shellcheck disable=SC2046
        tls_is_refused other-authority "$p" "certificate verify failed .*: set tls.ca_file to the CA that signed it$" "ca_file: $ca" $(files other-server)
        # shellcheck disable=SC2046
        tls_is_refused no-certificate "$p" "the peer wants a client certificate: set tls.cert_file and tls.key_file$" "ca_file: $ca" -ca "$ca" $(files server)
        # shellcheck disable=SC2046
        tls_is_refused other-certificate "$p" "the peer does not trust the certificate shown to it .*signed it$" "$(pair other-client), ca_file: $ca" -ca "$ca" $(files server)
        tls_receiver_reloads "$p"
        tls_exporter_reloads "$p"
    done
}

if [ ! -x "$tls_random" ]; then
    skip tls "$tls_random is not there: build it first"
elif ! tls_certificates; then
    fail tls "openssl makes no certificates" "$work/openssl.log"
else
    tls_request=$work/random/2.otlp
    mkdir -p "$work/random"
    if "$tls_random" "$work/random" 2 >/dev/null; then tls_run; else fail tls "no random request"; fi
fi
