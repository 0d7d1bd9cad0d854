package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestHealthGossip: CH-A6: a server waits for gossip that starts later. While gossip is stopped
// the server does not know which servers are alive, and decides nothing. When gossip starts
// again the server learns of a death only if a server has really died in between.
func TestHealthGossip(t *testing.T) {
	spec.Covers(t, "CH-A6")
	t.Parallel()
	h := newHealthNodes(t, 3, 1, func(_ int, c *config.Config) { c.Gossip.Start = false })
	if _, err := h.nodes[0].Clients(ClientFilter{}); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("without gossip: %v", err)
	}
	if s, err := h.nodes[0].Status(); err != nil || s.Server.State != Waiting || s.Server.Gossip {
		t.Errorf("%+v, %v", s.Server, err)
	}
	h.gossip(t, (*gossipmod.Module).Start)
	await(t, "connections", func() bool { return h.settled(3, 3) })
	await(t, "servers", func() bool { return h.alive(0) == 3 && h.alive(1) == 3 && h.alive(2) == 3 })

	h.gossip(t, (*gossipmod.Module).Stop)
	s, _ := h.nodes[0].Status()
	if !s.Server.Unsure || s.Server.Gossip || s.Server.State != Running || s.Server.Alive != 3 {
		t.Errorf("gossip has stopped: %+v", s.Server)
	}
	lost := slices.IndexFunc(h.nodes[:3], func(n *started) bool { return n.NIDs()[0] != h.master() && n != h.nodes[0] })
	h.stop(lost)
	began := time.Now()
	h.gossip(t, (*gossipmod.Module).Start)
	s, _ = h.nodes[0].Status()
	if took := time.Since(began); took > 3*time.Second {
		t.Logf("not looked for %v: gossip finds a death in 3.2 s", took)
	} else if !s.Server.Unsure || s.Server.Alive != 3 {
		t.Errorf("gossip has begun: %+v", s.Server)
	}
	await(t, "death", func() bool {
		s, err := h.nodes[0].Status()
		return err == nil && s.Server.Alive == 2 && !s.Server.Unsure
	})
	peers, err := h.nodes[0].Servers()
	if s, _ = h.nodes[0].Status(); err != nil || s.Server.Unsure || !s.Server.Quorum || s.Server.Clients != 1 {
		t.Errorf("%+v, %v", s.Server, err)
	}
	for i, p := range peers {
		if p.Alive != (i != lost) || p.Lifetimes != map[bool]uint64{true: 1}[i == lost] {
			t.Errorf("%+v", p)
		}
	}
}

func (h *healthNodes) gossip(t *testing.T, do func(*gossipmod.Module) error) {
	t.Helper()
	for _, n := range h.nodes[:h.servers] {
		if n == nil {
			continue
		}
		if err := do(n.gossip); err != nil {
			t.Fatal(err)
		}
	}
}

// alive returns the number of servers that a server believes to be alive.
func (h *healthNodes) alive(i int) int {
	s, err := h.nodes[i].Status()
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Server.Alive
}

// master returns the master of the first client.
func (h *healthNodes) master() nid.NID {
	s, err := h.nodes[h.servers].Status()
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Client.Master
}

// TestHealthServers: CH-3, CH-21: if only some participants of gossip are servers, the quorum
// counts only servers. A server that takes no part in gossip counts as dead.
func TestHealthServers(t *testing.T) {
	spec.Covers(t, "CH-3", "CH-21")
	h := newHealthNodes(t, 3, 0, func(_ int, c *config.Config) {
		c.Health.Servers = append(slices.Clone(c.Gossip.NIDs[:2]), nid.MustParse("127.0.0.99@tcp"), nid.MustParse("127.0.0.98@tcp"))
		c.Health.Server = c.Networks != "tcp(127.0.0.83)"
	})
	await(t, "servers", func() bool { return h.alive(0) == 2 && h.alive(1) == 2 })
	s, err := h.nodes[0].Status()
	if err != nil || s.Server.Known != 4 || s.Server.Quorum {
		t.Errorf("two of four are a quorum: %+v, %v", s.Server, err)
	}
	h.nodes[0].roles.mu.Lock()
	silent := h.nodes[0].roles.silent
	h.nodes[0].roles.mu.Unlock()
	if !slices.Equal(silent, []nid.NID{nid.MustParse("127.0.0.98@tcp"), nid.MustParse("127.0.0.99@tcp")}) {
		t.Errorf("%v do not gossip", silent)
	}
}

// TestHealthList: if the list of servers comes from gossip, it changes when gossip's list
// changes.
func TestHealthList(t *testing.T) {
	h := newHealthNodes(t, 2, 0, nil)
	await(t, "servers", func() bool { return h.alive(0) == 2 && h.alive(1) == 2 })
	third := nid.MustParse("127.0.0.83@tcp") // this server has not started yet
	list := fmt.Sprintf("%v\n%v\n%v\n", third, h.nid(1), h.nid(0))
	h.gossip(t, func(g *gossipmod.Module) error { return g.Stage(strings.NewReader(list)) })
	h.gossip(t, func(g *gossipmod.Module) error { return g.Commit(gossipmod.CommitRequest{Anyway: true}) })
	await(t, "three servers", func() bool {
		for _, n := range h.nodes {
			if list, err := n.Servers(); err != nil || len(list) != 3 || list[2].NID != third || list[2].Alive {
				return false
			}
		}
		return true
	})
}

// TestHealthLeaves: GO-A21, CH-30, CH-33: a server leaves the list of gossip, from which client health has its servers. It says
// so, has no quorum, and ends its connections with clients, here only. Clients stay connected to the other servers, with one
// of these as their master, in the incarnation that they had.
func TestHealthLeaves(t *testing.T) {
	spec.Covers(t, "GO-A21", "CH-30", "CH-33")
	t.Parallel()
	h := newHealthNodes(t, 3, 2, func(_ int, c *config.Config) { c.Health.Times.Quorum = time.Second })
	await(t, "connections", func() bool { return h.settled(3, 3) && h.settled(4, 3) })
	await(t, "servers", func() bool { return h.alive(0)+h.alive(1)+h.alive(2) == 9 })
	h.drainAllBut(0)
	incarnations := map[int]uint64{}
	for i := 3; i < 5; i++ {
		s, _ := h.nodes[i].Status()
		incarnations[i] = s.Client.Incarnation
	}
	list := fmt.Sprintf("%v\n%v\n", h.nid(1), h.nid(2))
	h.gossip(t, func(g *gossipmod.Module) error { return g.Stage(strings.NewReader(list)) })
	h.gossip(t, func(g *gossipmod.Module) error { return g.Commit(gossipmod.CommitRequest{Anyway: true}) })
	await(t, "end of the connections", func() bool {
		s, err := h.nodes[0].Status()
		return err == nil && !s.Server.Unsure && !s.Server.Quorum && s.Server.Clients == 0 && s.Server.NoQuorum.Why == LackLeft
	})
	for i, incarnation := range incarnations {
		await(t, "master", func() bool { return h.settledWithout(i, 0, incarnation) })
	}
}

// drainAllBut makes the first client choose a server as its master.
func (h *healthNodes) drainAllBut(k int) {
	h.t.Helper()
	for _, on := range []bool{true, false} {
		for i, n := range h.nodes[:h.servers] {
			if i == k {
				continue
			}
			if err := n.Drain(DrainRequest{On: on}); err != nil {
				h.t.Fatal(err)
			}
		}
		if on {
			await(h.t, "master", func() bool { return h.master() == h.nid(k) && h.settled(h.servers, h.servers) })
		}
	}
}

// settledWithout reports whether client i is connected to all servers but one, and these show it as connected, all in the
// same incarnation.
func (h *healthNodes) settledWithout(i, left int, incarnation uint64) bool {
	h.t.Helper()
	s, err := h.nodes[i].Status()
	if err != nil || s.Client.Incarnation != incarnation {
		h.t.Fatalf("client %d was evicted: %+v, %v", i, s.Client, err)
	}
	if s.Client.State != "settled" || s.Client.Master == h.nid(left) || len(s.Client.Attached) != h.servers-1 {
		return false
	}
	for k, n := range h.nodes[:h.servers] {
		info, err := n.Client(s.Client.Client.String())
		if connected := err == nil && info.State == "connected" && info.Master == s.Client.Master && info.Incarnation == incarnation; connected != (k != left) {
			return false
		}
	}
	return true
}
