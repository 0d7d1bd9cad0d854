package scollsim

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/scoll"
)

// books returns a broadcast of node 1 to five nodes that has ended.
func books(answered []sim.NodeID, missing ...sim.NodeID) *Broadcast {
	b := &Broadcast{
		Number: 1, Group: "g", Outcome: Ended, Answered: answered, Members: []sim.NodeID{0, 1, 2, 3, 4},
		ran: make([]run, 6), holder: make([]mark, 6), replied: make([]mark, 6),
	}
	for _, id := range missing {
		b.Missing = append(b.Missing, Missing{id, scoll.ETIMEDOUT})
	}
	return b
}

// TestExact: every way in which a result can be wrong is found, and an answer
// that was lost with a silent service's is no error.
func TestExact(t *testing.T) {
	tests := []struct {
		name string
		b    *Broadcast
		held map[sim.NodeID]sim.NodeID // who has whose answer
		did  []sim.NodeID              // reply, as services
		want string                    // part of the error; empty: none
	}{
		{"all answered", books([]sim.NodeID{1, 2, 3, 4}), nil, nil, ""},
		{"one missing", books([]sim.NodeID{1, 2, 4}, 3), nil, nil, ""},
		{"one forgotten", books([]sim.NodeID{1, 2, 4}), nil, nil, "no answer of node 4 came"},
		{"one twice", books([]sim.NodeID{1, 2, 3, 3, 4}), nil, nil, "node 4 is answered twice"},
		{"answered and missing", books([]sim.NodeID{1, 2, 3, 4}, 3), nil, nil, "node 4 is missing twice, or answered and missing"},
		{"missing twice", books([]sim.NodeID{1, 2, 4}, 3, 3), nil, nil, "node 4 is missing twice"},
		{"a stranger", books([]sim.NodeID{1, 2, 3, 4}, 5), nil, nil, "node 6 is no member"},
		{"lost at a silent service", books([]sim.NodeID{1, 4}, 2), map[sim.NodeID]sim.NodeID{3: 2}, nil, ""},
		{"lost further below", books([]sim.NodeID{1}, 2), map[sim.NodeID]sim.NodeID{3: 2, 4: 3}, []sim.NodeID{3}, ""},
		{"lost at a service that replied", books([]sim.NodeID{1, 4}, 2), map[sim.NodeID]sim.NodeID{3: 2}, []sim.NodeID{2}, "no answer of node 4 came"},
		{"held by one that answered", books([]sim.NodeID{1, 2, 4}), map[sim.NodeID]sim.NodeID{3: 2}, []sim.NodeID{2}, "no answer of node 4 came"},
		{"came to the root", books([]sim.NodeID{1, 2, 4}), map[sim.NodeID]sim.NodeID{3: 0}, nil, "no answer of node 4 came"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for id, at := range tt.held {
				tt.b.holder[id].put(at, 0)
			}
			for _, id := range tt.did {
				tt.b.replied[id].put(id, 0)
			}
			err := tt.b.Exact()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestExactOfLatestAttempt: what came in an earlier attempt does not count.
func TestExactOfLatestAttempt(t *testing.T) {
	b := books([]sim.NodeID{1, 4}, 2)
	b.attempt = 7
	b.holder[3].put(2, 7)
	b.replied[2].put(2, 5)
	if err := b.Exact(); err != nil {
		t.Error(err)
	}
	b.exact = false
	b.replied[2].put(2, 7)
	b.replied[2].put(2, 5) // later, of the attempt before
	if err := b.Exact(); err == nil {
		t.Error("an answer that came to a service which replied is lost")
	}
}

// TestOnce: a life that runs a broadcast twice is found, another life may; who
// answers without having run it is found.
func TestOnce(t *testing.T) {
	n := prepare(Config{Nodes: 6})
	n.ledger.list = append(n.ledger.list, books([]sim.NodeID{1, 2, 3, 4}))
	if err := n.Once(); err == nil || !strings.Contains(err.Error(), "has not run it") {
		t.Errorf("nobody has run it: %v", err)
	}
	for id := range sim.NodeID(6) {
		n.ledger.ran(1, sim.Life{Node: id})
	}
	n.ledger.ran(1, sim.Life{Node: 3, Number: 1})
	if err := n.Once(); err != nil {
		t.Error(err)
	}
	n.ledger.ran(1, sim.Life{Node: 3, Number: 1})
	if err := n.Once(); err == nil || !strings.Contains(err.Error(), "node 4 ran broadcast 1") {
		t.Errorf("twice in one life: %v", err)
	}
}

// TestInTime: what takes too long is found, unless the root was held up.
func TestInTime(t *testing.T) {
	n := prepare(Config{Nodes: 6})
	b := books(nil)
	n.ledger.list = append(n.ledger.list, b)
	b.Limit, b.Done = time.Second, 2*time.Second+Slack
	if err := n.InTime(); err != nil {
		t.Error(err)
	}
	b.Done++
	if err := n.InTime(); err == nil {
		t.Error("a late result was in time")
	}
	n.ledger.excuse(b.Root)
	if err := n.InTime(); err != nil {
		t.Error(err)
	}
}

// TestOracle: SC-158: everybody hears of a death before the return, and of the
// return no sooner than the news of the death have spread.
func TestOracle(t *testing.T) {
	const delay = 100 * time.Millisecond
	n, err := New(Config{Nodes: 20, Discovery: delay, Topology: &sim.Flat{}})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(map[sim.NodeID][]time.Duration)
	n.At(time.Second, func() { n.Kill(7); n.Control.Start(7, false) })
	n.Observe(func(s sim.Step) {
		if s.Kind == sim.Command {
			heard[s.Node] = append(heard[s.Node], s.At-time.Second)
		}
	})
	if err := n.Run(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	for id := range sim.NodeID(20) {
		list := heard[id]
		if id == 7 {
			if len(list) != 0 {
				t.Errorf("the node itself heard %v", list)
			}
			continue
		}
		if len(list) != 2 || list[0] < delay/2 || list[0] > delay || list[1] < delay*3/2 || list[1] > 2*delay {
			t.Errorf("node %v heard at %v", id, list)
		}
	}
}
