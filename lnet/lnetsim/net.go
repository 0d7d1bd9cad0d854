// Package lnetsim runs whole LNet nodes (portals, lnet and discovery) on the
// simulated network, by the thousand: what [Stack] has, on hosts of simlnd. Its
// nodes put, get and ping, and account for each operation.
//
// It is the protocol "lnet" of scenarios, [Exchange] is its benchmark, and
// [NewStack] is for whatever is built on portals and wants to be simulated.
package lnetsim

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	scenario.Network
	// Window is that of simlnd.Config.
	Window int
	Kind   Kind
	// Rate is how many operations each node begins per second of its clock; 0:
	// only what it is told to.
	Rate float64
	// Operations, if not 0, has each node make so many as fast as it can.
	Operations  int
	Outstanding int // operations under way per node; 8. A tick that finds so many begins none
	Partners    int // nodes that each one speaks to, those that follow it; all by default
	Size        int // payload bytes; 64 by default, negative none
	// Timeout is LNet's transaction timeout; 10 s. An operation fails after
	// one to one and a half of it at the latest, once it has been sent.
	Timeout   time.Duration
	Discovery bool
	Tunables  lnd.Tunables
	// OnEvent is told what nodes tell, see Begun.
	OnEvent func(at time.Duration, node sim.NodeID, ev sim.Event)
}

func (c Config) withDefaults() (Config, error) {
	if c.Nodes < 2 {
		return c, fmt.Errorf("lnetsim: %d nodes: want 2 at least", c.Nodes)
	}
	c.Outstanding = cmp.Or(c.Outstanding, 8)
	c.Partners = min(cmp.Or(c.Partners, c.Nodes-1), c.Nodes-1)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Size = max(cmp.Or(c.Size, 64), 0)
	if c.Size > lnd.MaxPayload {
		return c, fmt.Errorf("lnetsim: %d bytes of payload: want %d at most", c.Size, lnd.MaxPayload)
	}
	return c, nil
}

// Net is a network of LNet nodes.
type Net struct {
	kit.Base
	cfg     Config
	members []*member
	memory  []byte // of every MD: nobody looks at it
	stats   Stats
	latency histogram
}

// Stats counts operations.
type Stats struct {
	Begun     uint64
	Delivered uint64 // PUTs and GETs, at their targets
	Answered  uint64
	Failed    uint64
	HeldBack  uint64 // not begun, because so many were outstanding
	Twice     uint64 // deliveries beyond the first of an operation
	Phantoms  uint64 // PUTs and GETs that were answered and not delivered

	// Of the run as a whole, see Net.Stats.
	Messages   uint64 // LNet messages sent
	Drops      uint64 // LNet messages dropped
	Unanswered uint64 // MDs given up
	MinCredits int    // lowest credits of any peer
}

// New makes a network.
func New(cfg Config) (*Net, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Net{cfg: cfg, members: make([]*member, cfg.Nodes), memory: make([]byte, cfg.Size)}
	return n, n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.boot, OnEvent: cfg.OnEvent, Window: cfg.Window})
}

func (n *Net) boot(h, _ *simlnd.Host) (err error) {
	m := &member{net: n}
	n.members[h.ID()] = m
	m.stack, err = NewStack(h, StackConfig{
		Discovery: n.cfg.Discovery, TransactionTimeout: n.cfg.Timeout, Tunables: n.cfg.Tunables,
	})
	if err == nil {
		err = m.start()
	}
	return err
}

// Stack returns the stack of a node; nil before its start.
func (n *Net) Stack(id sim.NodeID) *Stack {
	if m := n.members[id]; m != nil {
		return m.stack
	}
	return nil
}

// Begin has a node begin operations now.
func (n *Net) Begin(from, to sim.NodeID, kind Kind, count int, urgent bool) {
	n.Fabric.Do(from, func(*simlnd.Host) {
		for range count {
			n.members[from].begin(kind, to, urgent)
		}
	})
}

// mark returns what is known of an operation; nil if its initiator has begun
// another incarnation since.
func (n *Net) mark(from sim.NodeID, number uint64) *uint8 {
	m := n.members[from]
	i := number&(1<<incarnationShift-1) - 1
	if m == nil || number>>incarnationShift != m.stack.Host.Incarnation().Number || i >= uint64(len(m.marks)) {
		return nil
	}
	return &m.marks[i]
}

func (n *Net) delivered(from sim.NodeID, number uint64) {
	n.stats.Delivered++
	mark := n.mark(from, number)
	switch {
	case mark == nil:
	case *mark&markDelivered != 0:
		n.stats.Twice++
	default:
		*mark |= markDelivered
	}
}

func (n *Net) answered(m *member, o *operation) {
	n.stats.Answered++
	n.latency.add(m.now() - o.began)
	if mark := n.mark(m.stack.Host.ID(), o.number); mark != nil {
		if o.kind != Ping && *mark&markDelivered == 0 {
			n.stats.Phantoms++
		}
		*mark |= markAnswered
	}
}

// outstanding is how many operations of nodes that are up are under way.
func (n *Net) outstanding() (count int) {
	for id, m := range n.members {
		if m != nil && n.Up(sim.NodeID(id)) {
			count += m.busy
		}
	}
	return count
}

// Operations returns the counters of operations, at no cost.
func (n *Net) Operations() Stats { return n.stats }

// Counters returns all counters: those of nodes are of their latest lives.
func (n *Net) Counters() Stats {
	s := n.stats
	some := false
	for _, m := range n.members {
		if m == nil {
			continue
		}
		c := m.stack.Node.Stats()
		s.Messages += c.SendCount
		s.Drops += c.DropCount
		s.Unanswered += c.ResponseTimeouts
		if least, ok := m.stack.MinCredits(); ok && (!some || least < s.MinCredits) {
			s.MinCredits, some = least, true
		}
	}
	return s
}

// Latency is the quantile q of the time from the beginning of an operation to
// its answer, within 3 %.
func (n *Net) Latency(q float64) time.Duration { return n.latency.quantile(q) }

// creditsReturned reports whether every node that is up has all its credits.
func (n *Net) creditsReturned() (ok bool, why string) {
	for i, m := range n.members {
		id := sim.NodeID(i)
		if m == nil || !n.Up(id) {
			continue
		}
		if missing, queued := m.stack.Credits(); missing != 0 || queued != 0 {
			return false, fmt.Sprintf("node %v lacks %d credits, and %d of its messages wait", id, missing, queued)
		}
	}
	return true, ""
}

// histogram counts durations, 32 classes to each power of two.
type histogram struct {
	counts [64 * 32]uint32
	total  uint64
}

func class(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 64 {
		return int(v)
	}
	shift := bits.Len64(v) - 6
	return shift*32 + int(v>>shift)
}

// bound is the smallest duration of a class.
func bound(class int) time.Duration {
	if class < 64 {
		return time.Duration(class)
	}
	shift := class/32 - 1
	return time.Duration(class-shift*32) << shift
}

func (h *histogram) add(d time.Duration) {
	h.counts[class(d)]++
	h.total++
}

func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	for i, c := range h.counts {
		if uint64(c) > rank || h.total > 0 && uint64(c) == rank && rank == h.total {
			return bound(i)
		}
		rank -= uint64(c)
	}
	for i := len(h.counts) - 1; i >= 0; i-- {
		if h.counts[i] > 0 {
			return bound(i)
		}
	}
	return 0
}
