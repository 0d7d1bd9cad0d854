//go:build linux

package main_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestHealthOfMany: CH-33, CH-63, CH-8: seven servers and forty clients are partitioned for such
// times that some servers detect the partition and others do not. After that, the servers are
// drained.
func TestHealthOfMany(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-33", "CH-63")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("starts 47 daemons: set ULNET_LONG=1")
	}
	w := newWardOf(t, network{kind: "tcp"}, 7, 40)
	all, clients := numbers(w.nServers), numbers(w.nClients)
	w.agree("all connected", all, clients)
	// Gossip detects a death after 3.6 s. A server that is cut off then evicts its clients after 1 s (T_q), and a
	// client whose master is dead has 3 s to name its next master (T_orphan). A master evicts a silent client after
	// 5.5 s (T_evict).
	for _, cut := range []time.Duration{3 * time.Second, 5 * time.Second, 7 * time.Second, 10 * time.Second} {
		w.trunk.Pull(w.left)
		<-time.After(cut)
		w.trunk.Plug(w.left)
		w.settle(cut)
		w.agree(fmt.Sprintf("all connected after a partition of %v", cut), all, clients)
	}
	w.drainAll()
}

// settle waits after a partition until each client either has one incarnation that is connected to a
// majority of the servers, or is connected to no server. That may take T_q and T_orphan (see TestHealthOfMany), plus
// the delays of a busy machine. Servers of the minority may learn later that a client has a new incarnation.
func (w *ward) settle(cut time.Duration) {
	w.t.Helper()
	const bound, slack = 4 * time.Second, 5 * time.Second
	healed := time.Now()
	var why string
	w.until(fmt.Sprintf("most servers or none after a partition of %v", cut), func() bool { why = w.split(); return why == "" }, func() string { return why })
	if took := time.Since(healed); took > bound+slack {
		w.t.Errorf("after a partition of %v few servers had clients that most did not have for %v, want %v", cut, took, bound)
	}
}

// split returns a client that is connected to a minority of the servers only, or to a minority in another
// incarnation than to the majority. It returns "" if there is none.
func (w *ward) split() string {
	has := map[string]int{}
	for i := range w.servers {
		var list struct{ Clients []heldClient }
		w.ask(w.servers[i], &list, "clients")
		for _, c := range list.Clients {
			has[fmt.Sprintf("%s in incarnation %d", c.Name, c.Incarnation)]++
		}
	}
	for client, n := range has {
		if 2*n < len(w.servers) {
			return fmt.Sprintf("%d servers have %s", n, client)
		}
	}
	return ""
}

// drainAll drains all servers, then kills one of them, and then the master of all clients. After each of
// these steps, no client is evicted for twice the time T_evict, and all stay connected. When another server
// takes clients again, all choose it as their master.
func (w *ward) drainAll() {
	w.t.Helper()
	all, clients := numbers(w.nServers), numbers(w.nClients)
	before := w.agree("before the drains", all, clients)
	for _, i := range all[1:] {
		w.run(i, "server", "drain")
	}
	now := w.agree("all under the only server that is not drained", all, clients)
	w.wantIncarnations(before, now)
	for name, c := range now {
		if c.Master != w.nid(0) {
			w.t.Errorf("the master of %s is %s, which is drained", name, c.Master)
		}
	}
	if out, err := w.servers[0].Lnetctl(w.t.Context(), "server", "drain"); err == nil {
		w.t.Errorf("the last server that takes clients is drained: %s", out)
	}
	w.run(0, "server", "drain", "--force", "--no-wait")
	w.keep("all drained", before, all)

	dead := w.nServers - 1
	w.servers[dead].Kill()
	w.untilDead(dead)
	left := numbers(w.nServers, dead)
	w.keep("all drained, one dead", before, left)

	w.servers[0].Kill() // this server is the master of all clients
	w.untilDeadTo(0, numbers(w.nServers, 0, dead))
	left = numbers(w.nServers, 0, dead)
	w.keep("all drained, their master dead", before, left)
	w.run(1, "server", "undrain")
	w.wantIncarnations(before, w.agree("all under the server that is not drained any more", left, clients))
}

// run runs lnetctl on a server.
func (w *ward) run(server int, args ...string) {
	w.t.Helper()
	if out, err := w.servers[server].Lnetctl(w.t.Context(), args...); err != nil {
		w.t.Fatalf("server %d: %v: %s", server+1, err, out)
	}
}

// keep waits for twice the time after which a master evicts a silent client (T_evict), and fails the test if a
// server has evicted a client.
func (w *ward) keep(what string, before agreed, servers []int) {
	w.t.Helper()
	const twoEvict = 11 * time.Second
	<-time.After(twoEvict)
	for _, s := range servers {
		var list struct{ Clients []heldClient }
		w.ask(w.servers[s], &list, "clients")
		if len(list.Clients) != w.nClients {
			w.t.Errorf("%s: server %d has %d clients, want %d", what, s+1, len(list.Clients), w.nClients)
		}
		for _, c := range list.Clients {
			if b := before[c.Name]; c.Incarnation != b.Incarnation {
				w.t.Errorf("%s: server %d: %+v, before %+v", what, s+1, c, b)
			}
		}
	}
}

// untilDeadTo waits until the servers in the list by have declared the given server dead.
func (w *ward) untilDeadTo(server int, by []int) {
	w.t.Helper()
	w.until(fmt.Sprintf("server %d held for dead", server+1), func() bool {
		return !slices.ContainsFunc(by, func(i int) bool { return !w.holdsForDead(i, server) })
	}, func() string { return "some do not" })
}
