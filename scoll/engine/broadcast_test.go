package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// TestBroadcast: SC-40, SC-43, SC-46, SC-56, SC-57 and SC-135: for all tree shapes and roots,
// every node runs the request once, the root gets all answers, and 2(N-1) messages are sent.
func TestBroadcast(t *testing.T) {
	spec.Covers(t, "SC-16", "SC-40", "SC-43", "SC-46", "SC-56", "SC-57", "SC-135")
	for _, shape := range []wire.Tree{{}, {Type: wire.KNomial, K: 4}, {Type: wire.KAry, K: 3}, {Type: wire.KAry, K: 1000}} {
		for _, n := range []int{1, 2, 3, 9, 14, 64} {
			t.Run(fmt.Sprintf("%v/%d", shape.OrDefault(), n), func(t *testing.T) {
				c := newCluster(t, n, nil)
				root := sim.NodeID(n / 2)
				c.run(0)
				g := c.create(root, shape, false)
				if c.nodes[root].sends != 0 {
					t.Error("SC-16: a delayed creation sends")
				}
				r := c.broadcast(root, g, Outgoing{Payload: []byte("x")})
				c.want(r, int(root))
				messages := 0
				for i, node := range c.nodes {
					if i == int(root) {
						node.ran["x"] = node.ran[""]
					}
					if node.ran["x"] != 1 {
						t.Errorf("node %d ran %d times", i, node.ran["x"])
					}
					if len(node.work) != 0 || node.m.requests.active != 0 {
						t.Errorf("node %d has %d requests left", i, node.m.requests.active)
					}
					messages += node.sends
				}
				if messages != 2*(n-1) {
					t.Errorf("%d messages, want %d", messages, 2*(n-1))
				}
			})
		}
	}
}

// TestSendOrder: SC-132 and SC-80: requests are sent in the order that the design lists
// (docs/spec, collectives §C.1).
func TestSendOrder(t *testing.T) {
	spec.Covers(t, "SC-80", "SC-132")
	var order []sim.NodeID
	c := newCluster(t, 9, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			if from == 0 && p.kind == "request" {
				order = append(order, to)
				if h, _, err := wire.ParseRequestHeader(p.data); err != nil || h.Tree != (wire.Tree{Type: wire.KNomial, K: 2}) || h.Nodes != 9 || h.Root != 0 {
					t.Errorf("header %+v, %v", h, err)
				}
			}
		}
	})
	c.run(0)
	c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{})
	if fmt.Sprint(order) != fmt.Sprint([]sim.NodeID{4, 2, 8, 1}) {
		t.Errorf("sent to %v", order)
	}
}

// TestTimeouts: SC-37, SC-141: the timeouts are those that the design lists (docs/spec,
// collectives §C.2).
func TestTimeouts(t *testing.T) {
	spec.Covers(t, "SC-37", "SC-141")
	const rtt, guard, p = 100 * time.Millisecond, 10 * time.Millisecond, time.Second
	h := wire.RequestHeader{RTT: rtt, Guard: guard}
	for _, c := range []struct{ n, child, levels int }{{8, 4, 3}, {8, 2, 2}, {8, 1, 1}, {5, 4, 1}, {5, 2, 2}, {5, 1, 1}} {
		for _, child := range (tree.Tree{Topology: tree.KNomial(2), N: c.n}).AppendChildren(nil, 0) {
			if child.Rank != c.child {
				continue
			}
			if got, want := childTimeout(&h, child.Depth, p), time.Duration(2*c.levels-1)*(rtt+guard)+p; got != want {
				t.Errorf("N=%d child %d: %v, want %v", c.n, c.child, got, want)
			}
		}
	}
	for depth := 1; depth <= 5; depth++ {
		arrives := answerTimeout(&h, depth) + rtt // arrival at the parent, counted from when the parent sent the request
		if parent := childTimeout(&h, depth, 0); arrives+guard/2 > parent || depth > 1 && arrives+guard > parent {
			t.Errorf("depth %d: answers at %v, parent waits %v", depth, arrives, parent)
		}
		if left := answerTimeout(&h, depth) - childTimeout(&h, depth-1, 0); depth > 1 && left < rtt+guard {
			t.Errorf("depth %d: %v is left to the service after a child was given up", depth, left)
		}
	}
	cfg := Config{RTT: rtt}.filled()
	if cfg.Guard != rtt/4 || (Config{RTT: time.Millisecond}).filled().Guard != 5*time.Millisecond {
		t.Errorf("guard %v", cfg.Guard)
	}
	if got := cfg.bulkTime(50_000_000); got != rtt+500*time.Millisecond || cfg.bulkTime(0) != 0 {
		t.Errorf("bulk takes %v", got)
	}
}

// TestMuteLeaf: SC-39, SC-142 and G-SC-3: one leaf does not answer. The result has one missing
// entry, and no parent gives up an ancestor of the leaf.
func TestMuteLeaf(t *testing.T) {
	spec.Covers(t, "SC-39", "SC-142", "G-SC-3")
	for _, how := range []string{"crashed", "silent service", "deaf service"} {
		t.Run(how, func(t *testing.T) {
			c := newCluster(t, 16, func(c *cluster, _ *sim.Config[*packet]) {
				c.service = func(id sim.NodeID) behaviour {
					return behaviour{mute: id == 15 && how != "crashed", deaf: id == 15 && how == "deaf service"}
				}
			})
			c.run(0)
			g := c.create(0, wire.Tree{}, false)
			if how == "crashed" {
				c.net.Crash(15)
			}
			r := c.broadcast(0, g, Outgoing{})
			c.want(r, 0, 15)
			const rtt, guard = 2 * time.Millisecond, time.Millisecond
			if r.missing[0].Status != wire.ETIMEDOUT || r.at > 4*rtt+5*guard {
				t.Errorf("%v after %v", r.missing, r.at)
			}
			if r.calls != 4 {
				t.Errorf("%d calls of incoming-reply", r.calls)
			}
		})
	}
}

// TestTimeLeft: SC-A8: at each level a service has the time R + g (round trip time and guard) to reply after
// its node gave up a child.
func TestTimeLeft(t *testing.T) {
	spec.Covers(t, "SC-A8")
	const rtt, guard = 2 * time.Millisecond, time.Millisecond
	for _, slow := range []sim.NodeID{14, 12, 8} { // the ancestors of node 15
		for _, late := range []bool{false, true} {
			c := newCluster(t, 16, func(c *cluster, _ *sim.Config[*packet]) {
				c.service = func(id sim.NodeID) (b behaviour) {
					if id == slow {
						if b.think = rtt + guard; !late {
							b.think--
						}
					}
					return b
				}
			})
			c.run(0)
			g := c.create(0, wire.Tree{}, false)
			c.net.Crash(slow + 1<<bits.TrailingZeros(uint(slow))/2) // of its children, crash the one with the deepest subtree
			r := c.broadcast(0, g, Outgoing{})
			if named := slices.ContainsFunc(r.missing, func(e wire.Missing) bool { return e.Rank == uint32(slow) }); named != late {
				t.Errorf("rank %d replies after %v: missing %v", slow, c.nodes[slow].service.think, r.missing)
			}
		}
	}
}

// TestSilentInner: SC-A28, G-SC-8: if the service of an inner node never replies, only that
// node is missing. The answers of the members below it are passed on.
func TestSilentInner(t *testing.T) {
	spec.Covers(t, "SC-A28", "G-SC-8")
	c := newCluster(t, 16, func(c *cluster, _ *sim.Config[*packet]) {
		c.service = func(id sim.NodeID) behaviour { return behaviour{mute: id == 12} }
	})
	c.run(0)
	r := c.broadcast(0, c.create(0, wire.Tree{}, false), Outgoing{})
	c.want(r, 0, 12)
	if len(r.missing) != 1 || r.missing[0] != (wire.Missing{Rank: 12, Status: wire.ETIMEDOUT, Scope: wire.Node}) || c.nodes[12].m.Stats().Silent != 1 {
		t.Fatalf("missing %v", r.missing)
	}
}

// TestDeadInner: SC-68, SC-139 and SC-137: if an inner node is dead, exactly its subtree is
// missing; discovery ends the wait before the timeout.
func TestDeadInner(t *testing.T) {
	spec.Covers(t, "SC-68", "SC-137", "SC-139")
	for _, watch := range []bool{false, true} {
		c := newCluster(t, 16, func(c *cluster, _ *sim.Config[*packet]) { c.watch = watch })
		c.run(time.Millisecond)
		g := c.create(0, wire.Tree{}, false)
		c.net.At(c.net.Now()+500*time.Microsecond, func() { c.net.Kill(8) })
		r := c.broadcast(0, g, Outgoing{Processing: time.Second})
		c.want(r, 0, 8, 9, 10, 11, 12, 13, 14, 15)
		want := wire.ETIMEDOUT
		if watch {
			want = wire.EHOSTDOWN
		}
		if r.missing[0].Status != want || watch != (r.at < 100*time.Millisecond) {
			t.Errorf("watched %v: %v after %v", watch, r.missing[0], r.at)
		}
	}
}

// TestBulkMessages: G-SC-4, SC-36: bulk data adds N-1 fetches, each from the parent, and a node
// forwards a request only when it has the data.
func TestBulkMessages(t *testing.T) {
	spec.Covers(t, "SC-36", "SC-A17", "G-SC-4")
	const n = 14
	counts := map[string]int{}
	has := map[sim.NodeID]bool{0: true}
	shape := tree.Tree{Topology: tree.KNomial(2), N: n}
	c := newCluster(t, n, func(c *cluster, _ *sim.Config[*packet]) {
		c.tap = func(from, to sim.NodeID, p *packet) {
			counts[p.kind]++
			switch p.kind {
			case "get":
				if parent, _ := shape.Parent(int(from)); parent != int(to) {
					t.Errorf("node %d fetches from %d", from, to)
				}
			case "data":
				has[to] = true
			case "request":
				if !has[from] {
					t.Errorf("SC-A17: node %d forwards before it has the data", from)
				}
			}
		}
	})
	c.run(0)
	g := c.create(0, wire.Tree{}, false)
	c.nodes[0].bulk = make([]byte, 5000)
	c.want(c.broadcast(0, g, Outgoing{Bulk: 5000}), 0)
	if counts["request"] != n-1 || counts["reply"] != n-1 || counts["get"] != n-1 {
		t.Errorf("%v", counts)
	}
	for _, node := range c.nodes {
		if len(node.exposed) != 0 || len(node.bulk) != 5000 {
			t.Errorf("node %d: %d exposures left, %d bytes", node.id, len(node.exposed), len(node.bulk))
		}
	}
}
