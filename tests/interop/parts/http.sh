# SPDX-License-Identifier: Apache-2.0
# Our server (tests/support/http_echo_server.c) against h2spec, curl and, where it is installed, h2load: in clear text and TLS.
echo_server=${ECHO_SERVER:-$(dirname "$relay")/http_echo_server}
h2spec=$PWD/build/judge/h2spec

# http_serve NAME [OPTIONS]: $http_port, $http_pid
http_serve() {
    local name=$1
    shift
    launch "$name" "$echo_server" 127.0.0.1:0 "$@"
    http_pid=$launched
    await "$work/$name.log" '^port' "$http_pid" && http_port=$(sed -n 's/^port //p' "$work/$name.log")
}

# It must drain and end by itself.
http_stop() {
    local name=$1
    if stop "$http_pid"; then pass "$name-drain"; else fail "$name-drain" "the server ended with $?" "$work/$name.log"; fi
}

http_h2spec() {
    local name=$1
    shift
    timeout 60 "$h2spec" -h 127.0.0.1 -p "$http_port" -o 2 "$@" >"$work/out" 2>&1
    if grep -q '^145 tests, 145 passed' "$work/out"; then pass "$name-h2spec"
    else sed -n '/Failures:/,$p' "$work/out" >"$work/failures"; fail "$name-h2spec" "not 145 of 145" "$work/failures"; fi
}

# http_curl NAME WANTED_ANSWER ARGUMENTS: body, then "version status" as curl saw them
http_curl() {
    local name=$1 wanted=$2 got
    shift 2
    got=$(timeout 20 curl -s "$@" -w ' %{http_version} %{http_code}' 2>&1 | tr -d '\n')
    if [ "$got" = "$wanted" ]; then pass "curl-$name"; else fail "curl-$name" "\"$got\", not \"$wanted\""; fi
}

http_echo() {
    local name=$1
    shift
    timeout 20 curl -s "$@" --data-binary "@$work/big" -o "$work/back" 2>&1
    if cmp -s "$work/big" "$work/back"; then pass "curl-$name"; else fail "curl-$name" "3 MB came back changed"; fi
}

http_clear() {
    local url
    http_serve clear || { fail http-clear "no server" "$work/clear.log"; return; }
    url=http://127.0.0.1:$http_port
    http_h2spec clear
    http_curl http1 'GET /a 1.1 200' --http1.1 "$url/a"
    http_curl http10 'GET /a 1.1 200' --http1.0 "$url/a"
    http_curl h2c 'GET /a 2 200' --http2-prior-knowledge "$url/a"
    http_curl upgrade 'GET /a 1.1 200' --http2 "$url/a"
    http_curl head ' 1.1 200' -I -o /dev/null "$url/a"
    http_curl early-http1 'not now 1.1 503' --http1.1 --data-binary "@$work/big" "$url/refused"
    http_curl early-h2c 'not now 2 503' --http2-prior-knowledge --data-binary "@$work/big" "$url/refused"
    http_echo expect-http1 --http1.1 -H 'Expect: 100-continue' "$url/x"
    http_echo chunked-http1 --http1.1 -H 'Transfer-Encoding: chunked' "$url/x"
    http_echo body-h2c --http2-prior-knowledge "$url/x"
    if command -v h2load >/dev/null; then
        h2load -n 5000 -c 20 -m 10 "$url/a" >"$work/out" 2>&1
        if grep -q ' 5000 succeeded' "$work/out"; then pass h2load; else fail h2load "not all succeeded" "$work/out"; fi
    else
        skip h2load "it is not installed (apt: nghttp2-client)"
    fi
    http_stop clear
}

http_tls() {
    local url to
    http_serve tls "$work" || { fail http-tls "no server" "$work/tls.log"; return; }
    url=https://client.example:$http_port to=(--cacert "$work/ca.pem" --resolve "client.example:$http_port:127.0.0.1")
    http_h2spec tls -t -k
    http_curl tls-http1 'GET /a 1.1 200' "${to[@]}" --http1.1 "$url/a"
    http_curl tls-h2 'GET /a 2 200' "${to[@]}" --http2 "$url/a"
    http_curl tls-no-alpn 'GET /a 1.1 200' "${to[@]}" --no-alpn "$url/a"
    http_curl tls-1.2 'GET /a 2 200' "${to[@]}" --tls-max 1.2 "$url/a"
    http_echo tls-body "${to[@]}" "$url/x"
    http_curl clear-to-tls 'this port speaks TLS: use https:// 1.1 400' "http://127.0.0.1:$http_port/a"
    http_stop tls
    http_serve mtls "$work" mtls || { fail http-mtls "no server" "$work/mtls.log"; return; }
    url=https://client.example:$http_port to=(--cacert "$work/ca.pem" --resolve "client.example:$http_port:127.0.0.1")
    http_curl mtls '127.0.0.1 CN=client 2 200' "${to[@]}" --cert "$work/cert.pem" --key "$work/key.pem" "$url/peer"
    http_curl mtls-without ' 0 000' "${to[@]}" "$url/peer"
    http_stop mtls
}

if ! (cd tests/interop/h2spec && go build -trimpath -ldflags '-s -w' -o "$h2spec" github.com/summerwind/h2spec/cmd/h2spec) \
    >"$work/out" 2>&1; then
    fail h2spec "does not build" "$work/out"
elif [ ! -x "$echo_server" ]; then
    fail http "$echo_server is not there: build it first"
else
    head -c 3000000 /dev/urandom >"$work/big"
    http_clear
    http_tls
fi
