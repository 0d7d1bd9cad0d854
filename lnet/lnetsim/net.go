// Package lnetsim runs whole LNet nodes (portals, lnet and discovery) on the simulated
// network, thousands at a time. Its nodes put, get and ping, and account for each operation.
//
// It is the protocol "lnet" of scenarios. [Exchange] is a benchmark of it, and [NewStack]
// makes a stack for protocols above portals that are to be simulated.
package lnetsim

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/portals"
)

// config configures a network. The zero value of a field means its default.
type config struct {
	scenario.Network
	// Window is the Window of simlnd.Config: it bounds the bytes on their way on one connection.
	Window int
	Kind   kind // kind of the operations that Rate starts
	// Rate is how many operations each node starts per second of its clock; 0: only commands
	// start operations.
	Rate float64
	// Operations, if not 0, makes each node do that many operations as fast as it can.
	Operations  int
	Outstanding int // limit of the operations in flight per node; default 8. A tick skips its operation when the limit is reached
	Partners    int // number of following nodes that each node sends to; all by default
	Size        int // payload bytes of an operation; 0 means 64, and a negative number no payload
	// Timeout is LNet's transaction timeout; default 10 s. An operation that was sent fails
	// after at most one and a half times that.
	Timeout   time.Duration
	Discovery bool         // whether nodes have a discovery agent
	Tunables  lnd.Tunables // tunables of the nodes' NIs
	Nets      int          // number of nets that the nodes are spread over; 0: 1
	Rails     int          // NIs of each node on each of its nets; default 1
	Routers   int          // number of routers: the first nodes, which are on every net
	// Check is how often gateways are checked, see StackConfig.CheckInterval.
	Check time.Duration
	// OnEvent is called with the events of members, see toldBegun.
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
	c.Nets, c.Rails = cmp.Or(c.Nets, 1), cmp.Or(c.Rails, 1)
	return c, c.layout().validate()
}

func (c *config) layout() layout { return layout{c.Nodes, c.Nets, c.Rails, c.Routers} }

// network is a simulated network of LNet nodes.
type network struct {
	kit.Base
	cfg        config
	layout     layout
	members    []*member
	cables     []cables // cables of each node
	memory     []byte   // memory of every MD; its content does not matter
	stats      counters
	probes     probes
	lostProbes lostProbes
	failures   failures
	took       []time.Duration // durations of operations that were answered, in any order
}

// counters counts operations and, for the whole run, messages.
type counters struct {
	Begun     uint64 // operations started
	Delivered uint64 // PUTs and GETs delivered at their targets
	Answered  uint64 // operations answered
	Failed    uint64 // operations failed
	HeldBack  uint64 // operations not started, because of the limit of operations in flight
	Twice     uint64 // repeated deliveries of an operation
	Misplaced uint64 // deliveries at another node than the target, or of another size
	Surplus   uint64 // events of an operation after its answer, or of an operation that had ended
	Phantoms  uint64 // PUTs and GETs that were answered without being delivered
	Unsent    uint64 // operations that ended without a SEND event
	Resent    uint64 // repeated SEND events of an operation

	// The following fields are set only in the result of network.counters, for the whole run.
	Messages   uint64 // LNet messages sent
	Drops      uint64 // LNet messages dropped
	Unanswered uint64 // MDs that LNet has given up without an answer
	MinCredits int    // fewest credits that any peer had
}

// newNetwork makes a network of nodes that are not started.
func newNetwork(cfg config) (*network, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &network{
		cfg: cfg, layout: cfg.layout(), members: make([]*member, cfg.Nodes), cables: make([]cables, cfg.Nodes),
		memory: make([]byte, cfg.Size), failures: make(failures),
	}
	return n, n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.boot, OnEvent: cfg.OnEvent, Window: cfg.Window})
}

func (n *network) boot(h, _ *simlnd.Host) (err error) {
	m := &member{net: n}
	n.members[h.ID()] = m
	m.stack, err = NewStack(h, StackConfig{
		Discovery: n.cfg.Discovery, TransactionTimeout: n.cfg.Timeout, Tunables: n.cfg.Tunables,
		Interfaces: n.layout.interfaces(h.ID()), Routes: n.layout.routes(h.ID()), Router: n.layout.isRouter(h.ID()),
		CheckInterval: n.cfg.Check,
	})
	if err == nil {
		n.cables[h.ID()].tell(m.stack)
		err = m.start()
	}
	return err
}

// mark returns the mark of an operation, such as markDelivered; nil if its initiator was restarted since.
func (n *network) mark(from sim.NodeID, number uint64) *uint8 {
	m := n.members[from]
	i := number&(1<<incarnationShift-1) - 1
	if m == nil || number>>incarnationShift != m.stack.Host.Incarnation().Number || i >= uint64(len(m.marks)) {
		return nil
	}
	return &m.marks[i]
}

// delivered notes that a PUT or GET has arrived at a node.
func (n *network) delivered(from, at sim.NodeID, e *portals.Event) {
	n.stats.Delivered++
	mark := n.mark(from, e.MatchBits)
	switch {
	case mark == nil:
	case *mark>>markTarget != uint8(at)<<markTarget>>markTarget, int(e.MLength) != n.cfg.Size:
		n.stats.Misplaced++
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

// each yields the latest incarnation of each node that is up or, if all is true, of every node.
func (n *network) each(all bool) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for id, m := range n.members {
			if m != nil && (all || n.Up(sim.NodeID(id))) && !yield(m) {
				return
			}
		}
	}
}

// outstanding counts the operations in flight on nodes that are up.
func (n *network) outstanding() (count int) {
	for m := range n.each(false) {
		count += m.busy
	}
	return count
}

// counters returns all counters. Those of nodes are of their latest incarnation.
func (n *network) counters() counters {
	s := n.stats
	some := false
	for m := range n.each(true) {
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

// lacking describes what a node lacks of its credits; "" if they are all there.
func (m *member) lacking() string {
	if missing, queued := m.stack.Credits(); missing != 0 || queued != 0 {
		return fmt.Sprintf("node %v lacks %d credits, and %d of its messages wait", m.stack.Host.ID(), missing, queued)
	}
	return ""
}

// breaches are the reasons to drop a message for which a node closes the connection.
var breaches = [...]lnet.DropReason{lnet.BadType, lnet.BadPayload, lnet.NotDirect, lnet.WrongNI}

// breached describes a message that breaks the protocol, which the node has got; "" if there is none.
func (m *member) breached() string {
	drops := m.stack.Node.Stats().DropReasons
	for _, r := range breaches {
		if c := drops[r.String()]; c > 0 {
			return fmt.Sprintf("node %v has dropped %d messages: %v", m.stack.Host.ID(), c, r)
		}
	}
	return ""
}
