//go:build linux

package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/spec"
)

// TestHealthOfClients: there are five servers and eight clients, twenty in a long run. A client and a master die,
// processes are paused, and the cable between the switches is cut. All servers evict the same
// clients, no eviction is wrong, and at the end each client is connected to all servers that it
// can reach (CH-17, CH-18, CH-31 to CH-33, CH-35).
func TestHealthOfClients(t *testing.T) {
	spec.Covers(t, "CH-17", "CH-18", "CH-31", "CH-32", "CH-33", "CH-35")
	if testing.Short() {
		t.Skip("takes half a minute; skipped by -short")
	}
	t.Parallel()
	onFirst(t, func(t *testing.T, on network) {
		w := newWard(t, on)
		now := w.agree("all connected", numbers(w.nServers), numbers(w.nClients))
		now = w.clientDies(now)
		if on.brief {
			w.masterDies(now)
			return
		}
		now = w.clientStandsStill(now)
		now = w.masterStandsStill(now)
		now = w.masterDies(now)
		w.partition(now)
	})
}

// crashed and paused are the numbers of two clients. The crashed one is killed and not
// restarted.
const crashed, paused = 2, 6

// clientDies kills a client, which all servers then evict.
func (w *ward) clientDies(before agreed) agreed {
	w.t.Helper()
	w.clients[crashed].Kill()
	now := w.agree("a dead client evicted by all", numbers(w.nServers), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now)
	w.wantEvicted("timed_out", 1)
	return now
}

// wantEvicted fails unless each server has evicted n clients for the given cause.
func (w *ward) wantEvicted(cause string, n int) {
	w.t.Helper()
	for i, d := range w.servers {
		var s healthDoc
		if w.ask(d, &s, "status"); s.Server.Stats["ended_"+cause] != n {
			w.t.Errorf("server %d has evicted %d for %s, want %d: %v", i+1, s.Server.Stats["ended_"+cause], cause, n, s.Server.Stats)
		}
	}
}

// clientStandsStill stops a client until all servers have evicted it. When the client continues,
// it begins a new incarnation.
func (w *ward) clientStandsStill(before agreed) agreed {
	w.t.Helper()
	w.clients[paused].Freeze()
	now := w.agree("a stopped client evicted by all", numbers(w.nServers), numbers(w.nClients, crashed, paused))
	w.wantIncarnations(before, now)
	w.clients[paused].Thaw()
	now = w.agree("its next life connected", numbers(w.nServers), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now, paused)
	return now
}

// masterStandsStill stops the busiest server until its clients have other masters and the
// server is declared dead. When the server continues, no client is evicted.
func (w *ward) masterStandsStill(before agreed) agreed {
	w.t.Helper()
	frozen := w.busiest(before)
	w.servers[frozen].Freeze()
	now := w.agree("other masters than the stopped server", numbers(w.nServers, frozen), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now)
	w.untilDead(frozen)
	w.servers[frozen].Thaw()
	now = w.agree("the server that goes on agrees", numbers(w.nServers), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now)
	return now
}

// masterDies kills the busiest server and restarts it without its records.
func (w *ward) masterDies(before agreed) agreed {
	w.t.Helper()
	killed := w.busiest(before)
	w.servers[killed].Kill()
	now := w.agree("other masters than the dead server", numbers(w.nServers, killed), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now)
	w.untilDead(killed)
	w.servers[killed] = w.startServer(killed)
	now = w.agree("the server that is back has them all", numbers(w.nServers), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now)
	return now
}

// untilDead waits until the other servers have declared the given server dead.
func (w *ward) untilDead(server int) {
	w.t.Helper()
	var unsure []string
	w.until(fmt.Sprintf("server %d held for dead", server+1), func() bool {
		unsure = nil
		for _, i := range numbers(w.nServers, server) {
			if !w.holdsForDead(i, server) {
				unsure = append(unsure, w.nid(i))
			}
		}
		return len(unsure) == 0
	}, func() string { return "it is not dead to " + strings.Join(unsure, " ") })
}

// holdsForDead reports whether a server lists the other server as dead.
func (w *ward) holdsForDead(server, other int) bool {
	w.t.Helper()
	var list []struct {
		NID   string `json:"nid"`
		Alive *bool  `json:"alive"`
	}
	w.ask(w.servers[server], &list, "servers")
	for _, p := range list {
		if p.NID == w.nid(other) {
			return p.Alive != nil && !*p.Alive
		}
	}
	w.t.Fatalf("server %d does not list %s: %+v", server+1, w.nid(other), list)
	return false
}

// await waits until holds is true for each daemon whose number is in the list.
func (w *ward) await(what string, who []int, of []*lnetdtest.Daemon, holds func(*healthDoc) bool) {
	w.t.Helper()
	var s healthDoc
	w.until(what, func() bool {
		return !slices.ContainsFunc(who, func(i int) bool {
			s = healthDoc{}
			w.ask(of[i], &s, "status")
			return !holds(&s)
		})
	}, func() string { return fmt.Sprintf("%+v", s) })
}

// minority reports whether a server is on the right switch. In a partition the servers there have no
// quorum, and tell their clients so.
func (w *ward) minority(id string) bool {
	return slices.ContainsFunc(numbers(w.nServers, numbers(w.majority)...), func(i int) bool { return w.nid(i) == id })
}

// partition cuts the cable between the switches. The minority evicts all its clients. The
// majority keeps its own clients, and evicts those that it cannot reach. When the cable is
// back, the clients of the minority begin new incarnations.
func (w *ward) partition(before agreed) {
	w.t.Helper()
	right := numbers(w.nClients, numbers(w.half)...)
	w.trunk.Pull(w.left)
	now := w.agree("majority with its clients alone", numbers(w.majority), numbers(w.half, crashed))
	w.wantIncarnations(before, now)
	w.await("majority with quorum", numbers(w.majority), w.servers, func(s *healthDoc) bool { return s.Server.Quorum && s.Server.Clients > 0 })
	w.await("minority without quorum and clients", numbers(w.nServers, numbers(w.majority)...), w.servers, func(s *healthDoc) bool {
		return !s.Server.Quorum && s.Server.Clients == 0
	})
	w.await("its clients without master", right, w.clients, func(s *healthDoc) bool {
		return s.Client.State == "electing" && !slices.ContainsFunc(s.Client.Attached, w.minority)
	})
	w.trunk.Plug(w.left)
	now = w.agree("all connected again", numbers(w.nServers), numbers(w.nClients, crashed))
	w.wantIncarnations(before, now, right...)
}
