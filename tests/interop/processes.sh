# SPDX-License-Identifier: Apache-2.0
# What the parts need in common: cases, processes, certificates. run.sh reads it.

# chosen NAME: whether that case is asked for.
chosen() { case $1 in *"$pattern"*) ;; *) return 1 ;; esac; }

# await_true PID COMMAND...: until the command succeeds; fails when the process ends before, or after a minute.
await_true() {
    local pid=$1 tries
    shift
    for ((tries = 0; tries < 1200; tries++)); do
        ! "$@" || return 0
        kill -0 "$pid" 2>/dev/null || return 1
        read -rt 0.05 <> <(:) || true
    done
    return 1
}

# await FILE PATTERN PID: until a line of the file matches
await() { await_true "$3" grep -qsE "$2" "$1"; }

# await_files FOLDER COUNT PID: until that many requests lie there
await_files() { await_true "$3" has_files "$1" "$2"; }
has_files() { [ "$(find "$1" -name '*.otlp' | wc -l)" -ge "$2" ]; }

# launch NAME COMMAND...: in the background, its words in $work/NAME.log; $launched is its pid. Whatever still runs when
# all is over is stopped.
running=()
launch() {
    local name=$1
    shift
    : >"$work/$name.log" # what the last of this name said is not read for what this one says
    "$@" >"$work/$name.log" 2>&1 &
    launched=$!
    running+=("$launched")
}

# stop PID: asks it to end and says how it ended.
stop() {
    local pid kept=()
    for pid in "${running[@]}"; do [ "$pid" = "$1" ] || kept+=("$pid"); done
    running=("${kept[@]}")
    kill "$1" 2>/dev/null
    wait "$1"
}

stop_all() {
    local pid
    for pid in "${running[@]}"; do stop "$pid"; done
}

# serve_peer NAME COMMAND...: a server that keeps what it gets in $work/NAME; $launched, $port
serve_peer() {
    local name=$1
    shift
    rm -rf "$work/$name" "$work/$name.port"
    launch "$name" "$@" -port-file "$work/$name.port" -out "$work/$name"
    await "$work/$name.port" . "$launched" && port=$(cat "$work/$name.port")
}

# serve_relay NAME: profrelay with $work/NAME.yaml, ready; $launched
serve_relay() {
    launch "$1" "$relay" --config "$work/$1.yaml"
    await "$work/$1.log" "Everything is ready" "$launched"
}

# relay_port NAME gRPC|HTTP [RECEIVER]
relay_port() { sed -n "s|.*receiver/${3:-.*}[[:space:]].*OTLP/$2 at .*port \([0-9]*\).*|\1|p" "$work/$1.log"; }

# certificate FOLDER NAME CA: NAME.pem and NAME.key for loopback, signed by CA.pem; CA = NAME makes an authority.
certificate() {
    local folder=$1 name=$2 ca=$3 by=()
    [ "$ca" = "$name" ] || by=(-CA "$folder/$ca.pem" -CAkey "$folder/$ca.key")
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" "${by[@]}" \
        -addext "basicConstraints=critical,CA:$([ "$ca" = "$name" ] && echo TRUE || echo FALSE)" \
        -addext 'subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost' \
        -keyout "$folder/$name.key" -out "$folder/$name.pem" 2>"$work/openssl.log"
}
