package o2iblnd

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/nid"
)

// crowd is nodes that start at about the same time, in virtual time. Each sends a message to
// every other one as soon as it has started.
type crowd struct {
	t       *testing.T
	clock   *emulator.Clock
	nodes   []*newcomer
	arrived int
}

// newcomer is one node of a crowd that starts together.
type newcomer struct {
	sink
	crowd *crowd
	began time.Duration
	ni    *NI
	first map[nid.NID]time.Duration // time of the first arrival from each peer
}

func (n *newcomer) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	n.first[d.Header.SrcNID] = n.crowd.clock.Now()
	n.crowd.arrived++
	return n.sink.Parse(d)
}

// newCrowd makes nodes that start within the duration spread, over a wire that loses some packets.
func newCrowd(t *testing.T, seed uint64, nodes int, spread time.Duration, loss float64, cfg Config) *crowd {
	x := &crowd{t: t, clock: emulator.NewClock()}
	net := emulator.New(emulator.Config{
		Clock: x.clock, Seed: seed, Faults: emulator.Faults{Delay: 10 * time.Microsecond, Jitter: 20 * time.Microsecond, Loss: loss},
	})
	open := softroce.NewOpener(softroce.Options{Network: net})
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range nodes {
		n := &newcomer{crowd: x, first: make(map[nid.NID]time.Duration)}
		x.nodes = append(x.nodes, n)
		if spread > 0 {
			n.began = time.Duration(r.Int64N(int64(spread)))
		}
		x.clock.AfterFunc(n.began, func() {
			n.ni = start(t, crowdAddr(i), open, cfg, n, func(c *lnd.Config) { c.Clock = x.clock })
			for k := range nodes {
				if k != i {
					n.ni.Send(newMessage(n.ni, nid.FromAddr(n.ni.nid.Net(), crowdAddr(k)), 100))
				}
			}
		})
	}
	return x
}

func crowdAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }

// meet runs the clock until every node has got a message from every other one.
func (x *crowd) meet() {
	x.t.Helper()
	for all := len(x.nodes) * (len(x.nodes) - 1); x.arrived < all; {
		if !x.clock.Step(time.Minute) {
			x.t.Fatalf("%d of %d arrived", x.arrived, all)
		}
	}
	x.clock.Run(x.clock.Now() + 10*time.Second) // let messages that are still under way arrive
}

// waits returns the times that the first messages took, counted from the start of the node that started later.
func (x *crowd) waits() (list []time.Duration) {
	for _, to := range x.nodes {
		for _, from := range x.nodes {
			if at, ok := to.first[from.ni.nid]; ok {
				list = append(list, at-max(to.began, from.began))
			}
		}
	}
	return list
}

// check returns how many pairs of nodes have more connections than the parameter most. The test fails if a
// request is left, if a node has lost too many races, or if the two nodes of a pair count their connections
// differently.
func (x *crowd) check(most int) (surplus int) {
	x.t.Helper()
	conns := make(map[[2]nid.NID]int)
	for _, n := range x.nodes {
		s := n.ni.Snapshot()
		for _, p := range s.Peers {
			if p.Connecting+p.Accepting+p.Pending > 0 || len(p.Conns) == 0 {
				x.t.Errorf("%v: %+v", n.ni.nid, p)
			}
			conns[[2]nid.NID{n.ni.nid, p.ID.NID}] = len(p.Conns)
		}
		// A node may have lost four races for each connection that comes from a peer's request: one
		// against that request, and three before.
		if races := s.Counters.Of(RejectedRace); races > uint64(4*most*(len(x.nodes)-1)) || len(n.errs)+len(n.downs) > 0 {
			x.t.Errorf("%v: %v; %v %v", n.ni.nid, n.ni.counts.nonzero(), n.errs, n.downs)
		}
	}
	for pair, n := range conns {
		if back := conns[[2]nid.NID{pair[1], pair[0]}]; n != back {
			x.t.Errorf("%v: %d connections, in the other direction %d", pair, n, back)
		}
		if n > most && higher(pair[0], pair[1]) {
			surplus++
		}
	}
	return surplus
}

func (x *crowd) shut() {
	for _, n := range x.nodes {
		v := &virtual{t: x.t, clock: x.clock, nis: [2]*NI{n.ni}}
		v.shut(0)
	}
}

// TestCommonStart: nodes start together and each sends requests to all others, while some do
// not listen yet and packets are lost. Each pair soon gets one connection, after few races.
func TestCommonStart(t *testing.T) {
	effort.OneGoroutine(t)
	const nodes, pairs = 8, 8 * 7 / 2
	seeds := effort.Of[uint64](3, 3, 10)
	for _, tt := range []struct {
		loss        float64
		most, worst time.Duration // bounds of the time to a first message, for 99 % of the pairs and for all
		surplus     int           // how many of 100 pairs may have a second connection
	}{
		{0, 20 * time.Millisecond, 20 * time.Millisecond, 0},
		{0.01, 110 * time.Millisecond, 400 * time.Millisecond, 0},
		{0.1, 500 * time.Millisecond, 2 * time.Second, 1},
	} {
		for _, spread := range []time.Duration{0, 50 * time.Microsecond, 20 * time.Millisecond, 400 * time.Millisecond} {
			t.Run(fmt.Sprintf("loss %v in %v", tt.loss, spread), func(t *testing.T) {
				var waits []time.Duration
				surplus := 0
				for seed := range seeds {
					x := newCrowd(t, seed, nodes, spread, tt.loss, Config{})
					x.meet()
					waits = append(waits, x.waits()...)
					surplus += x.check(1)
					x.shut()
				}
				slices.Sort(waits)
				median, most, worst := waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1]
				t.Logf("messages arrive after %v, %v, %v (median, 99 of 100, all)", median, most, worst)
				if median > 20*time.Millisecond || most > tt.most || worst > tt.worst {
					t.Errorf("messages arrive after %v, %v, %v", median, most, worst)
				}
				if surplus*100 > tt.surplus*pairs*int(seeds) {
					t.Errorf("%d pairs have more connections than one", surplus)
				}
			})
		}
	}
}

// TestCommonStartOfMany: nodes start together, with several connections for each peer.
func TestCommonStartOfMany(t *testing.T) {
	for seed := range uint64(3) {
		x := newCrowd(t, seed, 5, time.Millisecond, 0, Config{ConnsPerPeer: 3})
		x.meet()
		if n := x.check(3); n > 0 {
			t.Errorf("%d pairs have more connections than three", n)
		}
		x.shut()
	}
}
