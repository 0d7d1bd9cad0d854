package path

import (
	"sync/atomic"

	"ulnet/lnet/nid"
)

// MaxHealth is the health of an NI or a gateway without failures (LNET_MAX_HEALTH_VALUE).
const MaxHealth = 1000

// Priority is the priority value of a selection rule: the lowest is the best.
type Priority uint32

// NoPriority is the priority of an NI or a net that no selection rule names. It is the worst.
const NoPriority = Priority(1<<32 - 1)

// standing has the fields that NIs and nets have in common. The zero value has no priority.
type standing struct {
	rank    atomic.Uint32 // the complement of the Priority, so that the zero value means NoPriority
	lastUse atomic.Uint64
}

// Priority is the value that a rule gives, or NoPriority.
func (s *standing) Priority() Priority { return Priority(^s.rank.Load()) }

// SetPriority sets the value that Priority returns.
func (s *standing) SetPriority(p Priority) { s.rank.Store(^uint32(p)) }

// condition has the fields that local and remote NIs have in common. The zero value is in
// full health.
type condition struct {
	standing

	harm atomic.Uint32 // MaxHealth minus the health, and the bit isDown
}

// isDown is the bit of harm for an NI without a link, or one that its node says is down.
const isDown = 1 << 10

// Health returns the health, from 0 to MaxHealth.
func (c *condition) Health() int { return MaxHealth - int(c.harm.Load()&(isDown-1)) }

// SetHealth sets the health; values outside its range count as the nearest.
func (c *condition) SetHealth(v int) { c.AddHealth(v - c.Health()) }

// AddHealth adds to the health, or takes from it, and returns the result.
func (c *condition) AddHealth(delta int) int {
	for {
		old := c.harm.Load()
		v := min(max(MaxHealth-int(old&(isDown-1))+delta, 0), MaxHealth)
		if c.harm.CompareAndSwap(old, old&isDown|uint32(MaxHealth-v)) {
			return v
		}
	}
}

// Down returns the value of the last SetDown.
func (c *condition) Down() bool { return c.harm.Load()&isDown != 0 }

// SetDown notes that the NI can carry nothing, or that it can again, and reports whether that
// is a change.
func (c *condition) SetDown(down bool) bool {
	if down {
		return c.harm.Or(isDown)&isDown == 0
	}
	return c.harm.And(^uint32(isDown))&isDown != 0
}

// Local is the state of an NI of this node. NID and Owner are set before the Local is
// part of a [Table].
type Local struct {
	condition

	NID   nid.NID // NID of the NI
	Owner any     // the object that the Local is the state of

	credits atomic.Int64
}

// SetCredits notes how many credits the NI has; negative: messages wait for some.
func (l *Local) SetCredits(n int) { l.credits.Store(int64(n)) }

// fits reports whether a NID is on the NI's net, and both NIDs fit one form of the header.
func (l *Local) fits(id nid.NID) bool { return keyOf(l.NID) == keyOf(id) }

// Remote is the state of an NI of another node. It is the same for all NIs of this node that reach
// that NI. The field NID is set before the Remote is used, and does not change any more.
type Remote struct {
	condition

	NID nid.NID // NID of the NI

	node    atomic.Pointer[Peer]
	prefers atomic.Pointer[Preference]
	source  atomic.Pointer[Local] // the NI by which messages go to a node that is not multi-rail
	busy    atomic.Int64          // messages that hold a credit or wait for one
	queued  atomic.Int64          // bytes of the messages that busy counts
}

// Preference has the preferences of selection rules for a remote NI, besides its priority.
type Preference struct {
	Locals  NIDs // if not empty: prefer one of these local NIs to reach the remote NI
	Routers NIDs // if not empty: prefer one of these gateways to reach the remote NI
}

// NIDs is a union of sets, which has no NID if there is no set.
type NIDs []nid.Set

// Has reports whether a NID is in one of the sets.
func (n NIDs) Has(id nid.NID) bool {
	for i := range n {
		if n[i].Has(id) {
			return true
		}
	}
	return false
}

// SetPreference installs the preference of selection rules; nil means none. p must not change
// afterwards.
func (r *Remote) SetPreference(p *Preference) { r.prefers.Store(p) }

// Peer is the node that the NI is known to belong to, or nil.
func (r *Remote) Peer() *Peer { return r.node.Load() }

// SetPeer notes which node the NI belongs to; nil: nothing is known.
func (r *Remote) SetPeer(p *Peer) { r.node.Store(p) }

// Begin counts a message that is on its way to the NI.
func (r *Remote) Begin(bytes int) {
	r.busy.Add(1)
	r.queued.Add(int64(bytes))
}

// UnderWay is how many messages have begun and not ended.
func (r *Remote) UnderWay() int { return int(r.busy.Load()) }

// End subtracts what Begin has added.
func (r *Remote) End(bytes int) {
	r.busy.Add(-1)
	r.queued.Add(int64(-bytes))
}

// Net is a net with the NIs that a node has on it, either those with IPv4-sized NIDs or those
// with larger ones: a header cannot hold both.
type Net[NI any] struct {
	standing

	key key
	NIs []NI // NIs in the order of configuration, or as the peer lists them
}

// ID returns the number and type of the net.
func (n *Net[NI]) ID() nid.Net { return n.key.net }

// key identifies a net in lists of nets.
type key struct {
	net   nid.Net
	large bool // the net's NIDs do not fit an IPv4-sized header
}

func keyOf(id nid.NID) key { return key{id.Net(), !id.Is4()} }

// Peer is another node. It does not change, except for the state of its NIs and nets.
type Peer struct {
	MultiRail bool            // a message may go to any of its NIDs
	Nets      []*Net[*Remote] // nets of the node, in the order in which it lists them

	rails bool
}

// NewPeer makes a node that has the given NIs.
func NewPeer(multiRail bool, nis ...*Remote) *Peer {
	nets := group(nis, func(r *Remote) nid.NID { return r.NID })
	for _, n := range nets {
		for _, r := range n.NIs {
			n.lastUse.Store(max(n.lastUse.Load(), r.lastUse.Load()))
		}
	}
	return &Peer{MultiRail: multiRail, Nets: nets, rails: multiRail && len(nis) > 1}
}

func group[NI any](nis []NI, name func(NI) nid.NID) (nets []*Net[NI]) {
next:
	for _, ni := range nis {
		for _, n := range nets {
			if n.key == keyOf(name(ni)) {
				n.NIs = append(n.NIs, ni)
				continue next
			}
		}
		nets = append(nets, &Net[NI]{key: keyOf(name(ni)), NIs: []NI{ni}})
	}
	return nets
}

// Rails reports whether the node may offer a choice of NIDs; a nil Peer does not.
func (p *Peer) Rails() bool { return p != nil && p.rails }

func (p *Peer) net(k key) *Net[*Remote] {
	for _, n := range p.Nets {
		if n.key == k {
			return n
		}
	}
	return nil
}

// Gateway is a route: a node by which a net can be reached.
type Gateway struct {
	Net      nid.Net // net to which the gateway leads
	Router   nid.NID // NID of the gateway in the configuration; its node may have other NIDs
	NI       *Remote // state of the NI with NID Router, which lnet fills in
	Hops     int     // 1 to 255; 0: undefined, which counts as 1
	Priority uint32  // priority of the route; the lowest value is best

	down    atomic.Bool
	lastUse atomic.Uint64
}

// Alive reports whether messages may go by the route.
func (g *Gateway) Alive() bool { return !g.down.Load() }

// SetAlive sets what Alive returns, and reports whether that is a change.
func (g *Gateway) SetAlive(alive bool) bool { return g.down.Swap(!alive) == alive }

// Table has all state that the choice of a path reads. It does not change, except for the
// state of the objects that it points to.
type Table struct {
	Nets   []*Net[*Local]         // nets of this node, without loopback
	Routes map[nid.Net][]*Gateway // routes by the net to which they lead

	gateways []*Gateway // gateways to all nets
}

// NewTable returns the table of a node with some NIs and routes.
func NewTable(nis []*Local, routes []*Gateway) *Table {
	t := &Table{Nets: group(nis, func(l *Local) nid.NID { return l.NID }), gateways: routes}
	if len(routes) > 0 {
		t.Routes = make(map[nid.Net][]*Gateway)
	}
	for _, g := range routes {
		t.Routes[g.Net] = append(t.Routes[g.Net], g)
	}
	return t
}

// net returns a net of this node, or nil if this node is not on the net.
func (t *Table) net(k key) *Net[*Local] {
	for _, n := range t.Nets {
		if n.key == k {
			return n
		}
	}
	return nil
}

func (t *Table) local(id nid.NID) (*Local, *Net[*Local]) {
	if n := t.net(keyOf(id)); n != nil {
		for _, l := range n.NIs {
			if l.NID == id {
				return l, n
			}
		}
	}
	return nil, nil
}

// remote returns the gateway's NI with a NID, or nil.
func (g *Gateway) remote(id nid.NID) *Remote {
	if g.NI.NID == id {
		return g.NI
	}
	if p := g.NI.Peer(); p != nil {
		if n := p.net(keyOf(id)); n != nil {
			for _, r := range n.NIs {
				if r.NID == id {
					return r
				}
			}
		}
	}
	return nil
}
