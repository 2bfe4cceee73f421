// SPDX-License-Identifier: Apache-2.0

// etcd, as the server of Kubernetes' own tests wants it: Debian's is too old.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
