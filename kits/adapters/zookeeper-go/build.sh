#!/bin/sh
# build.sh SOURCES PROGRAM: builds a node out of zookeeper-go, whose sources are in the folder SOURCES (not changed).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath -m "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/adapter" "$work/zookeeper-go"
cp -r "$1/." "$work/zookeeper-go"
cp "$here/go.mod" "$here/adapter.go" "$here/../../go/node.go" "$work/adapter"

# A leader's clients come over a channel instead of TCP port 8007. Nothing else of it is changed.
sed -i -e 's/cP := make(chan network.NetMessage)/cP := Clients/' -e '/go Listentoclient(8007, cP)/d' "$work/zookeeper-go/quorum/leader.go"
cat > "$work/zookeeper-go/quorum/clients.go" <<'GO'
package quorum

import "zookeepergo/network"

// Clients is where a leader takes requests from.
var Clients = make(chan network.NetMessage)
GO

# With the simulated time of Go's playground the clock goes on only when every goroutine waits.
cd "$work/adapter"
CGO_ENABLED=0 GOFLAGS=-mod=mod GOPROXY=off go build -tags faketime -o "$program" .
