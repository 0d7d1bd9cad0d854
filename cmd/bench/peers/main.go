// Peers runs the Go systems with which bench compares ulnet, as workers: nodes of
// hashicorp/memberlist (SWIM with Lifeguard), servers and clients of go.etcd.io/etcd, embedded, and
// a server of NATS with its clients. Each worker is a process with real sockets, so that SIGSTOP
// has the same effect as on a server.
//
// It is a Go module of its own, so that the module of ulnet does not depend on memberlist,
// etcd and NATS.
package main

import (
	"fmt"
	"os"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
)

func main() {
	code, asked := worker.Child(os.Args[1:],
		rival.Membership("memberlist", scaled), rival.Membership("memberlist-lan", startMemberlist),
		rival.Server("etcd server", serveEtcd), rival.Clients("etcd clients", etcdClients),
		natsServer, natsResponder, natsCallers)
	if !asked {
		fmt.Fprintln(os.Stderr, "peers: bench starts this program: make bench-peers")
		code = 2
	}
	os.Exit(code)
}
