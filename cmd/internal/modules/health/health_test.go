package health

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/rmcast"
	scollmod "ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/node"
	"ulnet/health"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// started is the module of a running node, with gossip and collectives.
type started struct {
	*Module
	node   *node.Node
	gossip *gossipmod.Module
}

func start(cfg config.Config) (s *started, err error) { return startWith(cfg, func(*Module) {}) }

// startWith starts a node, and calls prepare with the module before that is opened.
func startWith(cfg config.Config, prepare func(*Module)) (s *started, err error) {
	s = new(started)
	s.node, err = node.New(node.Config{Config: cfg, Modules: func(h node.Host) []node.Module {
		s.gossip = gossipmod.New(h)
		r := rmcast.New(h, s.gossip.SeenView())
		c := scollmod.New(h, s.gossip, r)
		s.Module = New(h, s.gossip, c)
		prepare(s.Module)
		return []node.Module{s.gossip, c, r, s.Module}
	}})
	return s, err
}

// await waits until the function holds returns true.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(60 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s", what)
		}
	}
}

// healthNodes are nodes at 127.0.0.81 and the addresses after it: first servers, then clients.
type healthNodes struct {
	t       *testing.T
	addrs   []netip.Addr
	port    int
	servers int
	dirs    []string
	change  func(i int, c *config.Config)
	nodes   []*started
}

// newHealthNodes starts servers, and clients that are connected to all of them. They ping 20 times
// as often as usual. After a silence of some seconds no client is evicted or chooses another master: the
// machine may be busy.
func newHealthNodes(t *testing.T, servers, clients int, change func(i int, c *config.Config)) *healthNodes {
	t.Helper()
	h := &healthNodes{t: t, servers: servers, change: change}
	for i := range servers + clients {
		h.addrs = append(h.addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(81 + i)}))
		h.dirs = append(h.dirs, t.TempDir())
	}
	port, err := loopback.FreePort(h.addrs...)
	if err != nil {
		t.Fatal(err)
	}
	h.port, h.nodes = int(port), make([]*started, len(h.addrs))
	for i := range h.addrs {
		h.start(i)
	}
	t.Cleanup(func() {
		for i := range h.nodes {
			h.stop(i)
		}
	})
	return h
}

func (h *healthNodes) nid(i int) nid.NID { return nid.FromAddr(nid.MakeNet(nid.TCP, 0), h.addrs[i]) }

func (h *healthNodes) start(i int) {
	h.t.Helper()
	var all []nid.NID
	for k := range h.servers {
		all = append(all, h.nid(k))
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.StateDir, cfg.RuntimeDir = "tcp("+h.addrs[i].String()+")", h.port, h.dirs[i], h.dirs[i]
	cfg.TCP.MinReconnect, cfg.TCP.MaxReconnect = 20*time.Millisecond, 100*time.Millisecond
	cfg.Health.Times = health.Timing{
		Ping: 250 * time.Millisecond, Client: 3 * time.Second, Elect: time.Second, Evict: 20 * time.Second, Orphan: 20 * time.Second,
		Broadcast: 200 * time.Millisecond, RTT: 50 * time.Millisecond, Tick: 50 * time.Millisecond,
	}
	if cfg.Health.Server = i < h.servers; cfg.Health.Server {
		cfg.Scoll.Enable = true
		cfg.Gossip.NIDs, cfg.Gossip.ColdStart, cfg.Gossip.Interval = all, true, 200*time.Millisecond
	} else {
		cfg.Health.Client, cfg.Health.Servers, cfg.Health.AttachAll = true, all, true
		cfg.Health.Name = fmt.Sprintf("client-%d", i)
	}
	if h.change != nil {
		h.change(i, &cfg)
	}
	var err error
	if h.nodes[i], err = start(cfg); err != nil {
		h.t.Fatal(err)
	}
}

func (h *healthNodes) stop(i int) {
	h.t.Helper()
	if h.nodes[i] == nil {
		return
	}
	if err := h.nodes[i].node.Shutdown(h.t.Context()); err != nil && h.t.Context().Err() == nil {
		h.t.Errorf("shutdown: %v", err)
	}
	h.nodes[i] = nil
}

// settled reports whether client i is connected to n servers, and all servers that run show it as connected, with
// the master and the incarnation that the client itself shows.
func (h *healthNodes) settled(i, n int) bool {
	s, err := h.nodes[i].Status()
	if err != nil {
		h.t.Fatal(err)
	}
	if s.Client.State != "settled" || len(s.Client.Attached) != n {
		return false
	}
	for k := range h.servers {
		if h.nodes[k] == nil {
			continue
		}
		info, err := h.nodes[k].Client(s.Client.Client.String())
		if err != nil || info.State != "connected" || info.Master != s.Client.Master || info.Incarnation != s.Client.Incarnation {
			return false
		}
	}
	return true
}

// TestHealthRoles: CH-1, CH-2, CH-7, CH-15, CH-51: clients and servers run, and the list of
// servers comes from gossip. All clients are connected. An administrator orders the eviction of a
// client, which only its master carries out, and drains a server. Names and filters find clients.
func TestHealthRoles(t *testing.T) {
	spec.Covers(t, "CH-1", "CH-2", "CH-7", "CH-15", "CH-51")
	h := newHealthNodes(t, 3, 2, nil)
	await(t, "connections", func() bool { return h.settled(3, 3) && h.settled(4, 3) })
	await(t, "servers", func() bool { return h.alive(0)+h.alive(1)+h.alive(2) == 9 })
	h.wantLists(t)
	h.evictByHand(t)
	h.drain(t)
	if files := h.nodes[0].files(); len(files) != 5 || !strings.Contains(string(files[4].Body), "client-3") && !strings.Contains(string(files[3].Body), "client-3") {
		t.Errorf("%d files", len(files))
	}
	if files := h.nodes[3].files(); len(files) != 3 || !strings.Contains(string(files[1].Body), "state settled\n") {
		t.Errorf("%s", files)
	}
	for _, n := range h.nodes {
		for _, f := range n.files() {
			if !slices.Contains(fileNames, f.Name) {
				t.Errorf("file %s has no place", f.Name)
			}
		}
	}
}

func (h *healthNodes) wantLists(t *testing.T) {
	t.Helper()
	n := h.nodes[1]
	c, err := n.Client("client-4")
	if err != nil || c.Peer.NID != h.nid(4) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, f := range []struct {
		filter   ClientFilter
		listed   int
		matching int
	}{
		{ClientFilter{}, 2, 2},
		{ClientFilter{Limit: 1}, 1, 2},
		{ClientFilter{Master: c.Master, State: "connected", Limit: 7}, -1, -1},
		{ClientFilter{State: "orphaned"}, 0, 0},
		{ClientFilter{NID: h.nid(3)}, 1, 1},
		{ClientFilter{Master: h.nid(4)}, 0, 0},
	} {
		list, err := n.Clients(f.filter)
		if err != nil || list.More != (list.Matching > len(list.Clients)) || f.listed >= 0 && (len(list.Clients) != f.listed || list.Matching != f.matching) {
			t.Errorf("%+v: %+v, %v", f.filter, list, err)
		}
	}
	servers, err := n.Servers()
	if err != nil || len(servers) != 3 {
		t.Fatal(servers, err)
	}
	clients := 0
	for i, p := range servers {
		if clients += p.Clients; p.NID != h.nid(i) || !p.Alive || p.Self != (i == 1) || (p.Draining != nil) != p.Self {
			t.Errorf("%+v", p)
		}
	}
	if clients != 2 {
		t.Errorf("%+v", servers)
	}
	for name, errno := range map[string]syscall.Errno{"": syscall.EINVAL, "nobody": syscall.ENOENT, health.ClientID{1}.String(): syscall.ENOENT} {
		if _, err := n.Client(name); !errors.Is(err, errno) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// evictByHand orders the eviction of a client, first from a server that is not its master, and
// then from its master.
func (h *healthNodes) evictByHand(t *testing.T) {
	t.Helper()
	before, _ := h.nodes[3].Status()
	id, master := before.Client.Client, before.Client.Master
	for i, n := range h.nodes[:3] {
		if h.nid(i) == master {
			continue
		}
		reply, err := n.Evict(t.Context(), EvictRequest{id})
		if err != nil || reply != (EvictReply{id, health.OtherMaster, master, before.Client.Incarnation}) {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	at := slices.IndexFunc(h.nodes[:3], func(n *started) bool { return n.NIDs()[0] == master })
	reply, err := h.nodes[at].Evict(t.Context(), EvictRequest{id})
	if err != nil || reply.Result != health.OK {
		t.Fatalf("%+v, %v", reply, err)
	}
	await(t, "next life", func() bool {
		now, _ := h.nodes[3].Status()
		return now.Client.Incarnation > before.Client.Incarnation && h.settled(3, 3)
	})
	for i, n := range h.nodes[:3] {
		s, _ := n.Status()
		if st := s.Server.Stats; st["ended_by_admin"]+st["ended_rebooted"] != 1 { // each server counts one of two events, whichever comes first and ends the connection: the eviction, or the connect of the next incarnation
			t.Errorf("server %d: %v", i, s.Server.Stats)
		}
	}
	await(t, "answers", func() bool {
		e, err := h.nodes[at].Eviction(EvictionQuery{id, reply.Incarnation})
		return err == nil && e.State == EvictionDone && len(e.Missing)+len(e.Owed) == 0
	})
	for incarnation, want := range map[uint64]EvictionState{reply.Incarnation: EvictionDone, reply.Incarnation + 1<<50: EvictionUnknown} {
		if e, err := h.nodes[at].Eviction(EvictionQuery{id, incarnation}); err != nil || e.State != want {
			t.Errorf("life %d: %+v, %v", incarnation, e, err)
		}
	}
	if _, err := h.nodes[at].Eviction(EvictionQuery{}); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	wantTombstones(t, h.nodes[at], id, h.nid(3))
	if _, err := h.nodes[at].Evict(t.Context(), EvictRequest{}); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	if reply, err := h.nodes[at].Evict(t.Context(), EvictRequest{health.ClientID{1}}); err != nil || reply.Result != health.NotConnected {
		t.Errorf("%+v, %v", reply, err)
	}
}

// wantTombstones checks that filters which match a client, by its id, its name or the given NID, find the
// client's tombstone, and that other filters find none.
func wantTombstones(t *testing.T, n *started, id health.ClientID, of nid.NID) {
	t.Helper()
	for _, c := range []struct {
		f    TombstoneFilter
		want int
	}{
		{TombstoneFilter{}, 1},
		{TombstoneFilter{Client: id.String(), NID: of, Since: time.Minute}, 1},
		{TombstoneFilter{Client: "client-3"}, 1},
		{TombstoneFilter{Client: "client-4"}, 0},
		{TombstoneFilter{NID: n.NIDs()[0]}, 0},
		{TombstoneFilter{Since: 1}, 0},
	} {
		list, err := n.Tombstones(c.f)
		if err != nil || list.Matching != c.want || len(list.Tombstones) != c.want || list.More {
			t.Errorf("%+v: %+v, %v", c.f, list, err)
		}
	}
	if _, err := n.Tombstones(TombstoneFilter{Limit: -1}); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
}

// drain drains a server: its clients choose other masters, and stay connected.
func (h *healthNodes) drain(t *testing.T) {
	t.Helper()
	s, _ := h.nodes[3].Status()
	at := slices.IndexFunc(h.nodes[:3], func(n *started) bool { return n.NIDs()[0] == s.Client.Master })
	if err := h.nodes[at].Drain(DrainRequest{On: true}); err != nil {
		t.Fatal(err)
	}
	await(t, "another master", func() bool {
		now, _ := h.nodes[3].Status()
		return now.Client.Master != s.Client.Master && h.settled(3, 3) && h.settled(4, 3)
	})
	st, _ := h.nodes[at].Status()
	if st.Server.Mastered != 0 || st.Server.Clients != 2 || !st.Server.Draining {
		t.Errorf("%+v", st.Server)
	}
	if err := h.nodes[at].Drain(DrainRequest{}); err != nil {
		t.Fatal(err)
	}
	if st, _ = h.nodes[at].Status(); st.Server.Draining {
		t.Error("it drains on")
	}
}
