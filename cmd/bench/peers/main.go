// Peers is the systems that bench compares ulnet with and that are Go modules: workers that
// are nodes of hashicorp/memberlist (SWIM with Lifeguard), and servers and clients of
// go.etcd.io/etcd, embedded. Each is a process of its own with real sockets, so that SIGSTOP
// stops it as it would a server's.
//
// It is a Go module of its own: memberlist and etcd never enter that of ulnet.
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
		rival.Server("etcd server", serveEtcd), rival.Clients("etcd clients", etcdClients))
	if !asked {
		fmt.Fprintln(os.Stderr, "peers: bench starts this program: make bench-peers")
		code = 2
	}
	os.Exit(code)
}
