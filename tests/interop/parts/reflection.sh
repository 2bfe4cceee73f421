# SPDX-License-Identifier: Apache-2.0
# grpcurl, which knows nothing of our services, learns them by reflection and calls them; grpc-go watches our health.
grpcurl=$PWD/build/judge/grpcurl
profiles_service=opentelemetry.proto.collector.profiles.v1development.ProfilesService

# reflection_says NAME TEXT ARGUMENTS: grpcurl's words contain the text.
reflection_says() {
    local name=reflection/$1 text=$2
    shift 2
    chosen "$name" || return
    timeout 20 "$grpcurl" -plaintext "$@" >"$work/out" 2>&1
    if grep -qF "$text" "$work/out"; then pass "$name"; else fail "$name" "wanted: $text" "$work/out"; fi
}

reflection_list() {
    chosen reflection/list || return
    printf '%s\n' grpc.health.v1.Health grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection \
        "$profiles_service" >"$work/wanted"
    timeout 20 "$grpcurl" -plaintext "$1" list >"$work/out" 2>&1
    if cmp -s "$work/wanted" "$work/out"; then pass reflection/list; else fail reflection/list "other services" "$work/out"; fi
}

# Everything that is described can be compiled again.
reflection_protos() {
    chosen reflection/protos || return
    if timeout 20 "$grpcurl" -plaintext -proto-out-dir "$work/protos" "$1" describe "$profiles_service" >"$work/out" 2>&1 &&
        protoc -I"$work/protos" --descriptor_set_out=/dev/null "$work"/protos/*.proto >"$work/out" 2>&1; then
        pass reflection/protos
    else
        fail reflection/protos "grpcurl or protoc" "$work/out"
    fi
}

# Our end is heard by who watches.
reflection_watch() {
    chosen reflection/watch || return
    printf '%s\n' READY SERVING NOT_SERVING >"$work/wanted"
    launch watch "$judge" grpc-watch -to "$1" -service "$profiles_service"
    local watcher=$launched
    await "$work/watch.log" '^SERVING' "$watcher"
    stop "$2"
    wait "$watcher"
    head -n 3 "$work/watch.log" >"$work/out"
    if cmp -s "$work/wanted" "$work/out" && grep -q '^Unavailable' "$work/watch.log"; then pass reflection/watch
    else fail reflection/watch "other words" "$work/watch.log"; fi
}

cat >"$work/relay.yaml" <<'YAML'
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:0"}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:1"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_http]}}
YAML
if ! (cd tests/interop/grpcurl && go build -trimpath -ldflags '-s -w' -o "$grpcurl" github.com/fullstorydev/grpcurl/cmd/grpcurl) \
    >"$work/out" 2>&1; then
    fail grpcurl "does not build" "$work/out"
elif ! serve_relay relay; then
    fail reflection "does not start" "$work/relay.log"
else
    reflection_relay=$launched
    to=127.0.0.1:$(relay_port relay gRPC)
    reflection_list "$to"
    reflection_says service 'rpc Export ( .opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest )' \
        "$to" describe
    reflection_says message 'repeated .opentelemetry.proto.profiles.v1development.Sample samples = 2;' \
        "$to" describe opentelemetry.proto.profiles.v1development.Profile
    reflection_says field '.opentelemetry.proto.common.v1.KeyValueList kvlist_value = 6;' \
        "$to" describe opentelemetry.proto.common.v1.AnyValue.kvlist_value
    reflection_says enum 'SERVICE_UNKNOWN = 3;' "$to" describe grpc.health.v1.HealthCheckResponse.ServingStatus
    reflection_says unknown 'Symbol not found: no.Such' "$to" describe no.Such
    reflection_says check '"status": "SERVING"' -d '{}' "$to" grpc.health.v1.Health/Check
    reflection_says check-unknown 'Code: NotFound' -d '{"service": "x"}' "$to" grpc.health.v1.Health/Check
    reflection_says export '{}' -d '{"resource_profiles": []}' "$to" "$profiles_service/Export"
    reflection_says export-invalid 'Code: InvalidArgument' \
        -d '{"resource_profiles": [{"scope_profiles": [{"profiles": [{"samples": [{"stack_index": 99}]}]}]}]}' \
        "$to" "$profiles_service/Export"
    reflection_protos "$to"
    reflection_watch "$to" "$reflection_relay"
fi
