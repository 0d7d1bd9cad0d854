package softroce

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// cmFlight is a CM message that is under way.
type cmFlight struct {
	at   time.Duration
	from netip.Addr
	to   int
	b    []byte
}

// cmHappened is a cmEvent with its private data.
type cmHappened struct {
	cmEvent
	private []byte
	at      time.Duration
}

// cmNode is a node with a connection manager, and a consumer that records its events.
type cmNode struct {
	cm     *cm
	addr   netip.Addr
	wake   time.Duration
	events []cmHappened
	accept bool // whether the consumer accepts requests at once
}

// cmNet is a network of nodes in virtual time.
type cmNet struct {
	t     testing.TB
	now   time.Duration
	nodes []*cmNode
	link  weather // faults of the network; its function drop is not used
	drop  func(from int, m ibta.MAD) bool
	rng   *rand.Rand
	air   []cmFlight
	sent  map[ibta.Attribute]int
	trace bytes.Buffer
}

const testPort = 987

func newCMNet(t testing.TB, seed uint64, n int, l weather) *cmNet {
	x := &cmNet{t: t, link: l, rng: rand.New(rand.NewPCG(seed, 2)), sent: make(map[ibta.Attribute]int)}
	for i := range n {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		x.nodes = append(x.nodes, &cmNode{addr: a, wake: 1 << 62, accept: true, cm: newCM(cmConfig{
			Addr: a, GUID: ibta.GUID(0x0200<<48 + i), MTU: ibta.MTU1024, Rand: rand.New(rand.NewPCG(seed, uint64(i)+10)), MaxConns: 100,
			MaxConnsEach: maxConnsEach, MaxPending: 10, MaxGranted: maxGranted, MaxGrantedEach: maxGrantedEach,
		})})
	}
	return x
}

func (x *cmNet) step(i int, in cmInput) (ibta.CommID, error) {
	n := x.nodes[i]
	var out cmOutput
	n.wake = n.cm.Step(x.now, in, &out)
	if n.wake <= x.now {
		x.t.Fatalf("wake %v at %v", n.wake, x.now)
	}
	if err := n.cm.invariants(); err != nil {
		x.t.Fatal(err)
	}
	for k := range out.Sends {
		x.send(i, &out.Sends[k], bytes.Clone(out.Message(&out.Sends[k])))
	}
	for k := range out.Events {
		e := cmHappened{out.Events[k], bytes.Clone(out.Private(&out.Events[k])), x.now}
		n.events = append(n.events, e)
		fmt.Fprintf(&x.trace, "%v %d event %d %#x\n", x.now, i, e.Kind, e.ID)
		if e.Kind == cmRequested && n.accept {
			x.do(i, cmCall{Kind: callAccept, ID: e.ID, End: x.end(i), Private: []byte("yes")})
		}
	}
	return out.ID, out.Err
}

// end returns the parameters of one end of a connection, with a queue pair of its own.
func (x *cmNet) end(i int) cmEnd {
	n := x.nodes[i].cm
	return cmEnd{
		QPN: ibta.QPN(0x100 + len(n.conns) + int(n.nextID%0xFFFF)*16), PSN: ibta.PSN(i + 7), MTU: ibta.MTU1024, RetryCount: 5, RNRRetryCount: 6,
		AckTimeout: ackTimeout, TrafficClass: 0x68,
	}
}

func (x *cmNet) send(from int, s *cmSend, b []byte) {
	m, _, err := ibta.ParseMAD(b)
	if err != nil || len(b) != ibta.MADSize {
		x.t.Fatalf("sent %x: %v", b, err)
	}
	x.sent[m.Attribute]++
	fmt.Fprintf(&x.trace, "%v %d sends %v to %v\n", x.now, from, m.Attribute, s.To)
	to := slices.IndexFunc(x.nodes, func(n *cmNode) bool { return n.addr == s.To })
	if to < 0 || x.drop != nil && x.drop(from, m) || x.rng.Float64() < x.link.loss {
		return
	}
	copies := 1
	if x.rng.Float64() < x.link.duplicate {
		copies = 2
	}
	for range copies {
		x.put(x.nodes[from].addr, to, b)
	}
}

// put makes a message arrive whose source address is the argument from.
func (x *cmNet) put(from netip.Addr, to int, b []byte) {
	f := cmFlight{x.now + x.link.delay, from, to, b}
	if x.link.jitter > 0 {
		f.at += time.Duration(x.rng.Int64N(int64(x.link.jitter)))
	}
	i := len(x.air)
	for i > 0 && x.air[i-1].at > f.at {
		i--
	}
	x.air = slices.Insert(x.air, i, f)
}

// do makes a call of node i's consumer, which must succeed.
func (x *cmNet) do(i int, call cmCall) ibta.CommID {
	x.t.Helper()
	id, err := x.step(i, cmInput{Call: call})
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

// connect makes the first node send a request to the second one.
func (x *cmNet) connect(from, to int) ibta.CommID {
	x.t.Helper()
	return x.do(from, cmCall{
		Kind: callConnect, To: netip.AddrPortFrom(x.nodes[to].addr, testPort), Port: 1023, End: x.end(from), Private: []byte("please"),
	})
}

// run advances time until nothing is left to do, or until the end.
func (x *cmNet) run(until time.Duration) {
	for {
		next, who := time.Duration(1<<62), -1
		for i, n := range x.nodes {
			if n.wake < next {
				next, who = n.wake, i
			}
		}
		arrives := len(x.air) > 0 && x.air[0].at <= next
		if arrives {
			next = x.air[0].at
		}
		if next > until {
			return
		}
		x.now = max(x.now, next)
		if arrives {
			f := x.air[0]
			x.air = x.air[1:]
			_, _ = x.step(f.to, cmInput{From: f.from, Datagram: f.b})
		} else {
			_, _ = x.step(who, cmInput{})
		}
	}
}

// kinds returns the kinds of a node's events, in order.
func (n *cmNode) kinds() (list []cmEventKind) {
	for _, e := range n.events {
		list = append(list, e.Kind)
	}
	return list
}

// expect checks which events node i has had.
func (x *cmNet) expect(i int, want ...cmEventKind) {
	x.t.Helper()
	if got := x.nodes[i].kinds(); !slices.Equal(got, want) {
		x.t.Fatalf("node %d: events %v, want %v\n%s", i, got, want, &x.trace)
	}
}

// empty checks that nothing is left of any connection.
func (x *cmNet) empty() {
	x.t.Helper()
	for i, n := range x.nodes {
		if len(n.cm.conns)+len(n.cm.remotes)+len(n.cm.qps) != 0 || n.cm.timers.First() != nil {
			x.t.Fatalf("node %d: %d connections\n%s", i, len(n.cm.conns), &x.trace)
		}
	}
}

// invariants reports an invariant that does not hold, for tests.
func (c *cm) invariants() error {
	pending, granted, ending := 0, 0, 0
	peers := make(map[netip.Addr]int)
	for id, n := range c.conns {
		if n.id != id || n.state == closed {
			return fmt.Errorf("connection %#x is %v under %#x", n.id, n.state, id)
		}
		if n.state == reqReceived {
			pending++
		}
		if n.state == repSent {
			granted++
		}
		if n.state == dreqSent || n.state == timeWait {
			ending++
		}
		peers[n.peer]++
		if timed := n.state != established; timed != n.timer.IsSet() {
			return fmt.Errorf("connection %#x is %v, timer at %d", id, n.state, n.timer.At())
		}
	}
	for _, own := range c.grants.of {
		granted -= own.Len()
	}
	if granted != 0 || c.grants.all.Len() > c.cfg.MaxGranted {
		return fmt.Errorf("%d more are granted than listed, %d of all", granted, c.grants.all.Len())
	}
	for _, own := range c.ending.of {
		ending -= own.Len()
	}
	if ending != 0 || !maps.Equal(peers, c.peers) {
		return fmt.Errorf("%d more are ending than listed; connections by peer: %v, counted as %v", ending, peers, c.peers)
	}
	if pending != c.pending || len(c.remotes) > len(c.conns) || len(c.qps) > len(c.conns) {
		return fmt.Errorf("%d connections, %d pending (%d), %d comm ids, %d queue pairs",
			len(c.conns), pending, c.pending, len(c.remotes), len(c.qps))
	}
	if first := c.timers.First(); first != nil && c.conns[first.Of.id] != first.Of {
		return fmt.Errorf("connection %#x is forgotten, and its timer is not", first.Of.id)
	}
	return nil
}
