package collective

import (
	"slices"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

const (
	latency    = 100 * time.Microsecond
	processing = 200 * time.Millisecond
	fewGroups  = 3 // number of other groups that a server keeps at most
)

// server is a simulated server with a Broadcaster. The test sets how the server answers requests to
// evict clients.
type server struct {
	host   *simlnd.Host
	table  *portals.Table
	agent  *scoll.Agent
	b      *Broadcaster
	view   *view
	asked  int           // how often the server was asked
	late   time.Duration // time that the server takes to answer
	answer []byte        // the answer that the server gives; nil: the usual one
}

// servers is a set of servers on one simulated network.
type servers struct {
	t      *testing.T
	fabric *simlnd.Fabric
	ids    []nid.NID
	nodes  []*server
}

// newServers starts n servers that have the same list of servers. The function change adapts the
// configuration of each server.
func newServers(t *testing.T, n int, change func(i int, cfg *Config)) *servers {
	t.Helper()
	s := &servers{t: t, nodes: make([]*server, n)}
	for i := range n {
		s.ids = append(s.ids, simlnd.NID(sim.NodeID(i)))
	}
	var err error
	s.fabric, err = simlnd.New(simlnd.Config{
		Nodes: n, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}},
		Boot: func(h, _ *simlnd.Host) { s.boot(h, change) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(time.Millisecond)
	return s
}

func (s *servers) boot(h *simlnd.Host, change func(int, *Config)) {
	k := &server{host: h, view: &view{s: s}}
	s.nodes[h.ID()] = k
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err == nil {
		k.table = node.Table
		k.agent, err = scoll.New(k.table, scoll.Config{RTT: time.Millisecond, MaxGroups: fewGroups, View: k.view})
	}
	cfg := Config{Agent: k.agent, Servers: slices.Clone(s.ids), Processing: processing, Clock: h.Clock()}
	slices.Reverse(cfg.Servers) // the order of the list does not matter
	if change != nil {
		change(int(h.ID()), &cfg)
	}
	if err == nil {
		k.b, err = New(cfg)
	}
	if err != nil {
		s.t.Error(err)
		return
	}
	k.b.Serve(func(_ nid.NID, request []byte, reply func([]byte)) { k.evict(request, reply) })
}

// evict answers that each client was evicted, unless the test has set another answer.
func (k *server) evict(request []byte, reply func([]byte)) {
	k.asked++
	batch, _ := wire.ParseBatch(request) // cannot fail: the service has checked the request
	answer := (&wire.Reply{Evicted: uint32(batch.Entries.Len())}).AppendTo(nil)
	if k.answer != nil {
		answer = k.answer
	}
	if k.late == 0 {
		reply(answer)
		return
	}
	k.host.Clock().AfterFunc(k.late, func() { reply(answer) })
}

func (s *servers) run(d time.Duration) {
	s.t.Helper()
	if err := s.fabric.Run(s.fabric.Now() + d); err != nil {
		s.t.Fatal(err)
	}
}

// broadcast makes the server root broadcast the given number of evictions, runs virtual time
// until the broadcast ends, and returns its outcome.
func (s *servers) broadcast(root, entries int) (o health.Outcome) {
	s.t.Helper()
	done := s.begin(root, batchOf(entries), &o)
	for range 100 {
		if s.run(100 * time.Millisecond); *done > 0 {
			s.run(time.Second)
			if *done > 1 {
				s.t.Errorf("called back %d times", *done)
			}
			return o
		}
	}
	s.t.Fatal("it never ends")
	return o
}

// begin starts a broadcast that stores its outcome in o. The result points to the number of
// calls of its callback.
func (s *servers) begin(root int, request []byte, o *health.Outcome) *int {
	s.t.Helper()
	within, done := true, new(int)
	s.fabric.Do(sim.NodeID(root), func(*simlnd.Host) {
		s.nodes[root].b.Broadcast(request, func(got health.Outcome) {
			if *o = got; within {
				s.t.Error("called back within the call")
			}
			*done++
		})
		within = false
	})
	return done
}

func batchOf(entries int) []byte {
	b := wire.Batch{Incarnation: 1}
	for i := range entries {
		b.Entries = wire.Entry{Client: health.ClientID{byte(i + 1), byte(i>>8 + 1)}, Incarnation: 1}.AppendTo(b.Entries)
	}
	return b.AppendTo(nil)
}

// want fails unless the outcome lists exactly the given servers as missing, and counts the
// given number of evictions.
func (s *servers) want(o health.Outcome, evicted uint32, missing ...int) wire.Reply {
	s.t.Helper()
	var ids []nid.NID
	for _, i := range missing {
		ids = append(ids, s.ids[i])
	}
	r, err := wire.ParseReply(o.Reply)
	if o.Err != nil || err != nil || r.Evicted != evicted || !slices.Equal(o.Missing, ids) {
		s.t.Errorf("%d evicted, %v missing, %v, %v; want %d, %v", r.Evicted, o.Missing, o.Err, err, evicted, ids)
	}
	return r
}

// discover reports to the servers in the parameter by that server i is dead or alive.
func (s *servers) discover(i int, alive bool, by ...int) {
	for _, k := range by {
		v := s.nodes[k].view
		if v.dead == nil {
			v.dead = make(map[nid.NID]bool)
		}
		if v.dead[s.ids[i]] = !alive; !alive {
			v.deaths++
		}
		s.nodes[k].host.Do(func() {
			for _, f := range v.watches {
				f(s.ids[i], alive, v.deaths)
			}
		})
	}
}

// view is a health.View whose answers the test sets. All servers are alive at first.
type view struct {
	s       *servers
	dead    map[nid.NID]bool
	deaths  uint64 // rises with each death of a server; users only compare it with an earlier value
	watches []func(nid.NID, bool, uint64)
}

func (v *view) Alive(id nid.NID) (bool, uint64) { return !v.dead[id], v.deaths }

func (v *view) Counts() (alive, known int) {
	for _, id := range v.s.ids {
		if !v.dead[id] {
			alive++
		}
	}
	return alive, len(v.s.ids)
}

func (v *view) Quorum() bool {
	alive, known := v.Counts()
	return 2*alive > known
}

func (v *view) Watch(f func(nid.NID, bool, uint64)) func() {
	v.watches = append(v.watches, f)
	for _, id := range v.s.ids {
		f(id, !v.dead[id], v.deaths)
	}
	return func() { v.watches = nil }
}

var _ health.View = (*view)(nil)
