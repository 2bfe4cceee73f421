# SPDX-License-Identifier: Apache-2.0
# Pyroscope's SDKs profile small busy programs of ours and send to profrelay, by each way of authenticating they offer and
# with each base path; what arrives as OTLP is judged by pdata. docs/pyroscope-matrix.md must say what is seen here. The
# versions are pinned in pyroscope/*: go.mod, package-lock.json, requirements.txt, pom.xml. Rust's takes minutes to build: its
# recordings are sent again by the end-to-end tests, itself it runs with PYROSCOPE_RUST=1 only.
sdks_here=$PWD/tests/interop/pyroscope
sdks_folder=$PWD/build/pyroscope
sdks_python=/usr/bin/python3
sdks_ran=()

# sdks_install SDK FILE COMMAND...: in build/pyroscope/SDK, when the file that pins the versions has changed
sdks_install() {
    local sdk=$1 pin=$sdks_here/$1/$2 folder=$sdks_folder/$1
    shift 2
    mkdir -p "$folder"
    ! cmp -s "$pin" "$folder/installed" || return 0
    (cd "$folder" && "$@") >"$work/$sdk-install.log" 2>&1 && cp "$pin" "$folder/installed"
}

sdks_get_node() { cp "$sdks_here"/node/package*.json . && npm ci --ignore-scripts --no-audit --no-fund; }
sdks_get_python() { rm -rf venv && "$sdks_python" -m venv venv && venv/bin/pip install -q -r "$sdks_here/python/requirements.txt"; }
sdks_get_java() { cp "$sdks_here/java/pom.xml" . && rm -rf lib && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib; }

sdks_prepare_go() { (cd "$sdks_here/go" && go build -trimpath -ldflags '-s -w' -o "$sdks_folder/go/busy" .) >"$work/go-install.log" 2>&1; }
sdks_prepare_node() { sdks_install node package-lock.json sdks_get_node; }
sdks_prepare_python() { sdks_install python requirements.txt sdks_get_python; }
sdks_prepare_rust() {
    (cp -r "$sdks_here/rust/." "$sdks_folder/rust" && cd "$sdks_folder/rust" && cargo build -q --release) >"$work/rust-install.log" 2>&1
}
sdks_prepare_java() {
    sdks_install java pom.xml sdks_get_java &&
        (cd "$sdks_folder/java" && javac -cp "$(echo lib/agent-*.jar)" -d classes "$sdks_here/java/Busy.java") >>"$work/java-install.log" 2>&1
}

# sdks_prepare SDK TOOL...: fails when it cannot run here, and says so
sdks_prepare() {
    local sdk=$1 tool
    shift
    chosen "pyroscope-sdk/$sdk" || return
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { skip "pyroscope-sdk/$sdk" "$tool is not there"; return 1; }
    done
    mkdir -p "$sdks_folder/$sdk"
    "sdks_prepare_$sdk" || { fail "pyroscope-sdk/$sdk" "is not installed" "$work/$sdk-install.log"; return 1; }
    sdks_ran+=("$sdk")
}

sdks_relay() {
    cat >"$work/relay.yaml" <<YAML
extensions:
  bearertokenauth: {header: x-status200-token, scheme: "", token: dummy-token-0001}
receivers:
  pyroscope/open: {endpoint: "127.0.0.1:0", resource_attributes: {came.by: open}}
  pyroscope/token: {endpoint: "127.0.0.1:0", resource_attributes: {came.by: token}, auth: {authenticator: bearertokenauth}}
  pyroscope/tenant: {endpoint: "127.0.0.1:0", resource_attributes: {came.by: tenant}, tenant: {required: true, attribute: tenant}}
  pyroscope/tls:
    endpoint: "127.0.0.1:0"
    resource_attributes: {came.by: tls}
    auth: {authenticator: bearertokenauth}
    tls: {cert_file: $work/server.pem, key_file: $work/server.key}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:$port"}}
service:
  telemetry: {metrics: {level: none}}
  extensions: [bearertokenauth]
  pipelines: {profiles: {receivers: [pyroscope/open, pyroscope/token, pyroscope/tenant, pyroscope/tls], exporters: [otlp_http]}}
YAML
    serve_relay relay && sdks_relay=$launched
}

sdks_port() { sed -n "s|.*receiver/pyroscope/$1[[:space:]].*Pyroscope at .*port \([0-9]*\).*|\1|p" "$work/relay.log"; }

# sdks_report COMMAND...: its lines as cases
sdks_report() {
    local line lines=0
    while read -r line; do
        case $line in
        "ok "*) pass "${line#ok }" ;;
        "FAILED "*) line=${line#FAILED } && fail "${line%%: *}" "${line#*: }" ;;
        *) continue ;;
        esac
        lines=$((lines + 1))
    done < <(timeout 300 "$@" 2>"$work/report.log")
    [ "$lines" -gt 0 ] || fail "${*:2:2}" "said nothing" "$work/report.log"
}

# sdks_send SDK SECONDS PROGRAM...
sdks_send() {
    local sdk=$1 seconds=$2
    shift 2
    timeout 300 "$sdks_python" "$sdks_here/sdks.py" run "$sdk" "$work" "$seconds" 6 "$sdks_ports" "$@" >"$work/out" 2>&1 ||
        fail "pyroscope-sdk/$sdk" "does not run" "$work/out"
}

sdks_run() {
    local sdk
    certificate "$work" ca ca && certificate "$work" server ca && serve_peer arrived "$judge" serve && sdks_relay || { fail pyroscope-sdk "profrelay does not start" "$work/relay.log"; return; }
    sdks_ports="open=$(sdks_port open),token=$(sdks_port token),tenant=$(sdks_port tenant),tls=$(sdks_port tls)"
    export DEMO_CA=$work/ca.pem NODE_MODULES=$sdks_folder/node/node_modules
    for sdk in "${sdks_ran[@]}"; do
        case $sdk in
        # On a busy machine the signals to preempt and to sample come together, and asyncPreempt seems to burn the CPU.
        go) sdks_send go 1.5 env GODEBUG=asyncpreemptoff=1 "$sdks_folder/go/busy" ;;
        node) sdks_send node 1.5 node "$sdks_here/node/main.js" ;;
        rust) sdks_send rust 1.5 "$sdks_folder/rust/target/release/busy" ;;
        python) sdks_send python 1.5 "$sdks_folder/python/venv/bin/python" "$sdks_here/python/main.py" ;;
        esac
    done
    stop "$sdks_relay" # sends what it holds
    for sdk in "${sdks_ran[@]}"; do
        case $sdk in
        java) PROFRELAY=$relay sdks_report "$sdks_python" "$sdks_here/java.py" "$sdks_folder/java/classes" "$(echo "$sdks_folder"/java/lib/agent-*.jar)" 5 ;;
        *) sdks_report "$sdks_python" "$sdks_here/sdks.py" judge "$sdk" "$work" "$judge" "$work/arrived" ;;
        esac
    done
}

# sdks_matrix: whether the page says of those that ran what was seen
sdks_matrix() {
    local names=("${sdks_ran[@]^}") # as matrix.py calls them; of Rust it has no live cells
    if "$sdks_python" "$sdks_here/matrix.py" check live "${names[@]}" >"$work/out" 2>&1; then pass pyroscope-sdk/matrix
    else fail pyroscope-sdk/matrix "docs/pyroscope-matrix.md" "$work/out"; fi
}

sdks_prepare go go
sdks_prepare node npm node
sdks_prepare python "$sdks_python"
sdks_prepare java mvn javac java
[ -z "${PYROSCOPE_RUST:-}" ] || sdks_prepare rust cargo
if [ ${#sdks_ran[@]} -gt 0 ]; then
    sdks_run
    sdks_matrix
fi
