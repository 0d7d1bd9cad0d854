package collective

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
)

// watched is a cluster of servers that watch over one client.
type watched struct {
	*servers
	agents []*health.ServerAgent
	conn   *health.Connection
	gone   map[int]time.Duration // time at which each server evicted the client
}

const watchers = 5

// newWatched starts five servers, and a client that is connected to all of them.
func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{
		servers: &servers{t: t, nodes: make([]*server, watchers)},
		agents:  make([]*health.ServerAgent, watchers), gone: make(map[int]time.Duration),
	}
	for i := range watchers {
		w.ids = append(w.ids, simlnd.NID(sim.NodeID(i)))
	}
	var err error
	w.fabric, err = simlnd.New(simlnd.Config{
		Nodes: watchers + 1, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}}, Boot: w.bootAll,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run(10 * time.Second)
	if st := w.conn.Status(); len(st.Attached) != watchers || st.State != "settled" {
		t.Fatalf("%+v", st)
	}
	return w
}

func (w *watched) bootAll(h, _ *simlnd.Host) {
	if h.ID() == watchers {
		w.dial(h)
		return
	}
	w.boot(h, nil)
	i := int(h.ID())
	var err error
	w.agents[i], err = health.StartServer(w.nodes[i].table, health.AgentConfig{
		Servers: w.ids, View: w.nodes[i].view, Broadcaster: w.nodes[i].b,
		Notify: func(e health.Event) {
			if e.Kind == health.ClientEvicted {
				w.gone[i] = w.fabric.Now()
			}
		},
	})
	if err != nil {
		w.t.Error(err)
	}
}

func (w *watched) dial(h *simlnd.Host) {
	node, err := lnetsim.NewStack(h, lnetsim.StackConfig{})
	if err == nil {
		w.conn, err = health.Dial(node.Table, health.DialConfig{Name: "client", Servers: w.ids, Attach: w.ids})
	}
	if err != nil {
		w.t.Error(err)
	}
}

// TestEvictWithOneDead: CH-A22, CH-2, CH-28: a client dies while one of five servers is dead.
// Its master evicts it from all live servers at once, over the tree, and repeats the eviction to
// the dead server only for a limited time.
func TestEvictWithOneDead(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-28", "CH-A22")
	w := newWatched(t)
	master := w.conn.Status().Master
	dead := 0
	for w.ids[dead] == master {
		dead++
	}
	var rest []int
	for i := range watchers {
		if i != dead {
			rest = append(rest, i)
		}
	}
	w.fabric.Kill(sim.NodeID(dead))
	w.discover(dead, false, rest...)
	w.run(10 * time.Second) // the client is connected although one server is dead
	w.fabric.Kill(watchers)
	w.run(25 * time.Second)
	first, last := time.Hour, time.Duration(0)
	for _, i := range rest {
		at, ok := w.gone[i]
		if first, last = min(first, at), max(last, at); !ok || w.agents[i].Status().Clients != 0 {
			t.Errorf("server %d: %+v", i, w.agents[i].Status())
		}
		if st := w.agents[i].Stats(); w.ids[i] == master && (st.Evictions != 1 || st.Unsent+st.BadReplies != 0 || w.agents[i].Status().Batches != 0) {
			t.Errorf("the master: %+v, %+v", st, w.agents[i].Status())
		}
	}
	if spread := last - first; spread > 20*latency {
		t.Errorf("CH-2: the last evicted it %v after the first", spread)
	}
	for _, i := range rest {
		w.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
			if err := w.agents[i].Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if w.nodes[i].b.Stats().Memory != 0 {
			t.Error("buffers are left")
		}
	}
}
