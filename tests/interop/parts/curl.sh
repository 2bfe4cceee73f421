# SPDX-License-Identifier: Apache-2.0
# curl against our OTLP/HTTP receiver: every way to say the same request, on every kind of listener. What was taken
# arrives at pdata's own server as it was.
curl_random=${RANDOM_OTLP:-$(dirname "$relay")/random_otlp}
curl_path=/v1development/profiles
curl_proto=(-H 'Content-Type: application/x-protobuf') curl_json=(-H 'Content-Type: application/json')

# The same request as protobuf, as JSON, as a large JSON, and compressed.
curl_bodies() {
    "$curl_random" "$work" 2 >/dev/null && cp "$work/2.otlp" "$work/proto" &&
        "$judge" otlp-to-json "$work/proto" "$work/json" request || return 1
    { cat "$work/json" && printf '%2000000s' ''; } >"$work/large"
    gzip -k "$work/proto" "$work/json" && zstd -q "$work/proto" && zstd -q "$work/json" &&
        python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' <"$work/proto" >"$work/proto.deflate"
}

curl_start() {
    local pair="cert_file: $work/server.pem, key_file: $work/server.key"
    certificate "$work" ca ca && certificate "$work" other other || return 1
    certificate "$work" server ca && certificate "$work" client ca && certificate "$work" stranger other || return 1
    serve_peer arrived "$judge" serve && curl_peer=$launched || return 1
    cat >"$work/relay.yaml" <<YAML
receivers:
  otlp/clear:
    protocols:
      http:
        endpoint: "127.0.0.1:0"
        max_request_body_size: 4MiB
        cors: {allowed_origins: ["https://*.example.com"], allowed_headers: [x-tenant], max_age: 600}
  otlp/v6: {protocols: {http: {endpoint: "[::1]:0"}}}
  otlp/unix: {protocols: {http: {endpoint: "$work/relay.sock", transport: unix}}}
  otlp/tls: {protocols: {http: {endpoint: "127.0.0.1:0", tls: {$pair}}}}
  otlp/mutual: {protocols: {http: {endpoint: "127.0.0.1:0", tls: {$pair, client_ca_file: $work/ca.pem}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:$port"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp/clear, otlp/v6, otlp/unix, otlp/tls, otlp/mutual], exporters: [otlp_http]}}
YAML
    serve_relay relay && curl_relay=$launched
}

curl_run() { timeout 30 curl -sS "$@" 2>"$work/out"; }

# curl_says NAME WANTED FORMAT ARGUMENTS...: the body, then what curl makes of FORMAT; line ends are spaces
curl_says() {
    local name=curl/$1 wanted=$2 format=$3 got
    shift 3
    chosen "$name" || return 0
    got=$(curl_run "$@" -w "$format" | tr '\n' ' ')
    if [ "$got" = "$wanted" ]; then pass "$name"; else fail "$name" "\"$got\", not \"$wanted\"" "$work/out"; fi
}

# curl_takes NAME VERSION ARGUMENTS...: 200 over that version of HTTP, once
curl_takes() {
    local name=curl/$1 version=$2 got body=
    shift 2
    chosen "$name" || return 0
    case "$*" in *application/json*) body='{}' ;; esac
    got=$(curl_run "$@" -w ' %{http_version} %{http_code}')
    if [ "$got" = "$body $version 200" ]; then pass "$name" && curl_taken=$((curl_taken + 1))
    else fail "$name" "\"$got\", not \"$body $version 200\"" "$work/out"; fi
}

curl_fails() {
    local name=curl/$1 wanted=$2
    shift 2
    chosen "$name" || return 0
    if curl_run "$@" >"$work/answer"; then fail "$name" "it is taken" "$work/answer"; return; fi
    if grep -q "$wanted" "$work/out"; then pass "$name"; else fail "$name" "wanted: $wanted" "$work/out"; fi
}

curl_bodies_are_taken() {
    local kind
    curl_takes proto 1.1 "${curl_proto[@]}" --data-binary "@$work/proto" "$url"
    curl_takes json 1.1 "${curl_json[@]}" --data-binary "@$work/json" "$url"
    for kind in proto.gz json.gz proto.zst json.zst proto.deflate; do
        local encoding=${kind#*.} type=("${curl_proto[@]}")
        case $encoding in gz) encoding=gzip ;; zst) encoding=zstd ;; esac
        case $kind in json*) type=("${curl_json[@]}") ;; esac
        curl_takes "$kind" 1.1 "${type[@]}" -H "Content-Encoding: $encoding" --data-binary "@$work/$kind" "$url"
    done
    curl_takes version 1.1 "${curl_proto[@]}" -H 'otlp-profiles-development-version: 1' --data-binary "@$work/proto" "$url"
    curl_takes charset 1.1 -H 'Content-Type: application/json; charset=utf-8' --data-binary "@$work/json" "$url"
}

curl_ways_are_taken() {
    local proto=("${curl_proto[@]}" --data-binary "@$work/proto") large=("${curl_json[@]}" --data-binary "@$work/large")
    curl_takes chunked 1.1 "${proto[@]}" -H 'Transfer-Encoding: chunked' "$url"
    curl_takes http1.0 1.1 --http1.0 "${proto[@]}" "$url" # we answer with our own version
    curl_takes h2c 2 --http2-prior-knowledge "${proto[@]}" "$url"
    curl_takes upgrade 1.1 --http2 "${proto[@]}" "$url" # a body cannot be upgraded with
    curl_takes large 1.1 "${large[@]}" "$url"
    curl_takes large-chunked 1.1 -H 'Transfer-Encoding: chunked' "${large[@]}" "$url"
    curl_takes large-h2c 2 --http2-prior-knowledge "${large[@]}" "$url"
    curl_takes ipv6 1.1 "${proto[@]}" "http://[::1]:$(relay_port relay HTTP otlp/v6)$curl_path"
    curl_takes unix 1.1 --unix-socket "$work/relay.sock" "${proto[@]}" "http://localhost$curl_path"
    curl_takes unix-h2c 2 --http2-prior-knowledge --unix-socket "$work/relay.sock" "${proto[@]}" "http://localhost$curl_path"
}

curl_continues() {
    chosen curl/continue || return 0
    curl_run -v "${curl_json[@]}" --data-binary "@$work/large" "$url" >/dev/null
    if grep -q '< HTTP/1.1 100 Continue' "$work/out" && grep -q '< HTTP/1.1 200' "$work/out"; then
        pass curl/continue && curl_taken=$((curl_taken + 1))
    else
        fail curl/continue "no 100 Continue" "$work/out"
    fi
}

curl_is_refused() {
    local base=${url%"$curl_path"}
    { cat "$work/json" && printf '%5000000s' ''; } >"$work/huge"
    curl_says get 'profiles are sent with POST  405 POST text/plain; charset=utf-8' ' %{http_code} %header{allow} %{content_type}' "$url"
    curl_says head '405 POST' '%{http_code} %header{allow}' -I -o /dev/null "$url"
    curl_says put 'profiles are sent with POST  405 POST' ' %{http_code} %header{allow}' -X PUT --data x -H 'Content-Type:' "$url"
    curl_says path 'there is nothing at this path; OTLP profiles are sent with POST to /v1development/profiles  404' ' %{http_code}' "$base/else"
    curl_says traces '{"code":12,"message":"traces are not taken here; OTLP profiles are sent with POST to /v1development/profiles"} 404' ' %{http_code}' \
        "${curl_json[@]}" --data '{}' "$base/v1/traces"
    curl_says encoding '{"code":12,"message":"unsupported content-encoding, supported: gzip, zstd, deflate, snappy, identity"} 415 gzip, zstd, deflate, snappy, identity' \
        ' %{http_code} %header{accept-encoding}' "${curl_json[@]}" -H 'Content-Encoding: br' --data-binary "@$work/json" "$url"
    curl_says type 'unsupported media type, supported: application/x-protobuf, application/json  415' ' %{http_code}' --data-binary "@$work/json" "$url"
    curl_says not-json 400 '%{http_code}' -o /dev/null "${curl_json[@]}" --data '{"resourceProfiles": 1' "$url"
    curl_says too-large-declared '413 0' '%{http_code} %{size_upload}' -o /dev/null "${curl_json[@]}" --data-binary "@$work/huge" "$url"
    curl_says too-large-chunked 413 '%{http_code}' -o /dev/null "${curl_json[@]}" -H 'Transfer-Encoding: chunked' --data-binary "@$work/huge" "$url"
    curl_says too-large-h2c 413 '%{http_code}' -o /dev/null --http2-prior-knowledge "${curl_json[@]}" --data-binary "@$work/huge" "$url"
}

curl_from_browsers() {
    local ask=(-X OPTIONS -H 'Access-Control-Request-Method: POST' -H 'Access-Control-Request-Headers: content-type, x-tenant')
    curl_says preflight '204 https://app.example.com POST x-tenant 600 origin' \
        '%{http_code} %header{access-control-allow-origin} %header{access-control-allow-methods} %header{access-control-allow-headers} %header{access-control-max-age} %header{vary}' \
        "${ask[@]}" -H 'Origin: https://app.example.com' "$url"
    curl_says preflight-other '204 ' '%{http_code} %header{access-control-allow-origin}' "${ask[@]}" -H 'Origin: https://example.org' "$url"
    curl_says cross-origin '{} 200 https://app.example.com' ' %{http_code} %header{access-control-allow-origin}' \
        "${curl_json[@]}" -H 'Origin: https://app.example.com' --data '{}' "$url"
}

curl_reuses() {
    curl_says keep-alive '{} 200 1 {} 200 0 ' ' %{http_code} %{num_connects}\n' "${curl_json[@]}" --data '{}' "$url" "$url"
    curl_says keep-alive-after-error '405 1 405 0 ' '%{http_code} %{num_connects}\n' -o /dev/null -o /dev/null "$url" "$url"
}

curl_over_tls() {
    local one=https://localhost:$(relay_port relay HTTP otlp/tls)$curl_path both=https://localhost:$(relay_port relay HTTP otlp/mutual)$curl_path
    local proto=("${curl_proto[@]}" --data-binary "@$work/proto" --ipv4 --cacert "$work/ca.pem")
    local own=(--cert "$work/client.pem" --key "$work/client.key")
    curl_takes tls 2 "${proto[@]}" "$one"
    curl_takes tls-http1 1.1 --http1.1 "${proto[@]}" "$one"
    curl_takes tls-no-alpn 1.1 --no-alpn "${proto[@]}" "$one"
    curl_takes tls-1.2 2 --tls-max 1.2 "${proto[@]}" "$one"
    curl_takes mutual 2 "${proto[@]}" "${own[@]}" "$both"
    curl_takes mutual-http1 1.1 --http1.1 "${proto[@]}" "${own[@]}" "$both"
    curl_says tls-keep-alive '2 200 1 2 200 0 ' '%{http_version} %{http_code} %{num_connects}\n' -o /dev/null -o /dev/null \
        --ipv4 --cacert "$work/ca.pem" "${curl_json[@]}" --data '{}' "$one" "$one" # not h2c: this curl cannot (bug 10634)
    curl_fails tls-1.1 'protocol version\|unsupported protocol\|no protocols' --tls-max 1.1 "${proto[@]}" "$one"
    curl_fails tls-distrust 'unable to get local issuer\|self-signed' --ipv4 --cacert "$work/other.pem" "$one"
    curl_fails mutual-none 'certificate required' "${proto[@]}" "$both"
    curl_fails mutual-stranger 'unknown ca' "${proto[@]}" --cert "$work/stranger.pem" --key "$work/stranger.key" "$both"
    curl_says clear-to-tls 'this port speaks TLS: use https://  400' ' %{http_code}' "${one/https:\/\/localhost/http:\/\/127.0.0.1}"
}

curl_all() {
    local url
    url=http://127.0.0.1:$(relay_port relay HTTP otlp/clear)$curl_path curl_taken=0
    curl_bodies_are_taken
    curl_ways_are_taken
    curl_continues
    curl_is_refused
    curl_from_browsers
    curl_reuses
    curl_over_tls
    chosen curl/arrived || return 0
    if stop "$curl_relay" && stop "$curl_peer" && [ "$(find "$work/arrived" -name '*.otlp' | wc -l)" = "$curl_taken" ] &&
        "$judge" otlp-equal "$work/proto" "$work"/arrived/*.otlp >"$work/out" 2>&1; then pass "curl/arrived ($curl_taken)"
    else fail curl/arrived "not all $curl_taken arrived unchanged" "$work/relay.log"; fi
}

if [ ! -x "$curl_random" ]; then
    skip curl "$curl_random is not there: build it first"
elif ! curl_bodies 2>"$work/out"; then
    fail curl "no request to send" "$work/out"
elif ! curl_start; then
    fail curl "does not start" "$work/relay.log"
else
    curl_all
fi
