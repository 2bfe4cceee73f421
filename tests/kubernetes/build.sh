#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds kube-apiserver and etcd from their modules, which no package has: ten minutes of CPU, once. They stay in the
# user's cache, whose folder is printed; --where: only that.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
version_of() { sed -nE "s#^(require )?\s*$1 v([0-9.]+)( .*)?\$#\2#p" "$2"; }
kubernetes=$(version_of k8s.io/kubernetes apiserver/go.mod)
etcd=$(version_of go.etcd.io/etcd/server/v3 etcd/go.mod)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/profrelay/kubernetes-$kubernetes-etcd-$etcd

# build FOLDER PROGRAM PACKAGE LDFLAGS: nothing half made gets the name.
build() {
    [[ -x $folder/$2 ]] && return
    echo "building $2 in $folder" >&2
    (cd "$1" && nice -n 19 go build -trimpath -ldflags "-s -w $4" -o "$folder/$2.new" "$3")
    mv "$folder/$2.new" "$folder/$2"
}

if [[ ${1:-} != --where ]]; then
    mkdir -p "$folder"
    of=k8s.io/component-base/version
    IFS=. read -r major minor _ <<<"$kubernetes"
    build apiserver kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver \
        "-X $of.gitVersion=v$kubernetes -X $of.gitMajor=$major -X $of.gitMinor=$minor"
    build etcd etcd . ""
fi
echo "$folder"
