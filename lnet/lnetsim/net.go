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
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// config configures a network. The zero value of a field means its default.
type config struct {
	scenario.Network
	// Window is that of simlnd.Config.
	Window int
	Kind   kind
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
	// OnEvent is told what nodes tell, see toldBegun.
	OnEvent func(at time.Duration, node sim.NodeID, ev sim.Event)
}

func (c config) withDefaults() (config, error) {
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

// network is a network of LNet nodes.
type network struct {
	kit.Base
	cfg     config
	members []*member
	memory  []byte // of every MD: nobody looks at it
	stats   counters
	took    []time.Duration // from the beginning of an operation to its answer, in any order
}

// counters counts operations.
type counters struct {
	Begun     uint64
	Delivered uint64 // PUTs and GETs, at their targets
	Answered  uint64
	Failed    uint64
	HeldBack  uint64 // not begun, because so many were outstanding
	Twice     uint64 // deliveries beyond the first of an operation
	Phantoms  uint64 // PUTs and GETs that were answered and not delivered

	// Of the run as a whole, see network.counters.
	Messages   uint64 // LNet messages sent
	Drops      uint64 // LNet messages dropped
	Unanswered uint64 // MDs given up
	MinCredits int    // lowest credits of any peer
}

// newNetwork makes a network.
func newNetwork(cfg config) (*network, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &network{cfg: cfg, members: make([]*member, cfg.Nodes), memory: make([]byte, cfg.Size)}
	return n, n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.boot, OnEvent: cfg.OnEvent, Window: cfg.Window})
}

func (n *network) boot(h, _ *simlnd.Host) (err error) {
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

// mark returns what is known of an operation; nil if its initiator has begun
// another incarnation since.
func (n *network) mark(from sim.NodeID, number uint64) *uint8 {
	m := n.members[from]
	i := number&(1<<incarnationShift-1) - 1
	if m == nil || number>>incarnationShift != m.stack.Host.Incarnation().Number || i >= uint64(len(m.marks)) {
		return nil
	}
	return &m.marks[i]
}

func (n *network) delivered(from sim.NodeID, number uint64) {
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

func (n *network) answered(m *member, o *operation) {
	n.stats.Answered++
	n.took = append(n.took, m.now()-o.began)
	if mark := n.mark(m.stack.Host.ID(), o.number); mark != nil {
		if o.kind != ping && *mark&markDelivered == 0 {
			n.stats.Phantoms++
		}
		*mark |= markAnswered
	}
}

// outstanding is how many operations of nodes that are up are under way.
func (n *network) outstanding() (count int) {
	for id, m := range n.members {
		if m != nil && n.Up(sim.NodeID(id)) {
			count += m.busy
		}
	}
	return count
}

// counters returns all counters: those of nodes are of their latest lives.
func (n *network) counters() counters {
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

// latency is the quantile q of the time from the beginning of an operation to its answer,
// 0 if there is none.
func (n *network) latency(q float64) time.Duration {
	if len(n.took) == 0 {
		return 0
	}
	slices.Sort(n.took)
	return n.took[min(int(q*float64(len(n.took))), len(n.took)-1)]
}

// creditsReturned reports whether every node that is up has all its credits.
func (n *network) creditsReturned() (ok bool, why string) {
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
