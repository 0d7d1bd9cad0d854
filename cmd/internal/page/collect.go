package page

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/internal/modules/zone"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// Sources are what a State is made of: the node and its modules. Reading takes the locks that
// 'lnetctl net show' and 'peer show' take, each for the time in which one object is copied.
type Sources struct {
	Host   node.Host      // the node
	Gossip *gossip.Module // gossip of the node
	Zone   *zone.Module   // zone of the node
	Scoll  *scoll.Module  // collectives of the node
	Rmcast *rmcast.Module // multicast groups of the node
	Health *health.Module // client health of the node: its clients, or its servers
	Recent *Recent        // the latest events

	Capture func() *Capture // returns the status of captures; a nil function or result: there are none
}

// Read returns a new copy of the state of the node.
func (s *Sources) Read() *State {
	status, mode := s.Host.NodeStatus(), s.Host.Table.Node().Router().Mode
	state := &State{
		Node: nodeOf(&status, mode == router.On), Now: nowOf(&status), NIs: nisOf(&status), Peers: s.peers(), Routes: s.routes(),
		Gossip: s.gossip(), Zone: s.zone(), Servers: s.servers(), Client: s.client(), Collectives: s.collectives(), Multicast: s.multicast(),
		Events: s.Recent.list(),
	}
	if s.Capture != nil {
		state.Capture = s.Capture()
	}
	return state
}

// hostname is the name of this host, which is empty if it has none.
var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return name
})

func nodeOf(s *node.Status, forwards bool) Node {
	n := Node{Host: hostname(), Version: cli.Version(), Incarnation: s.Incarnation, Discovery: s.DiscoveryOn, Router: forwards}
	for i := range s.NIs {
		if id := s.NIs[i].NID; !id.IsLo() {
			n.NIDs = append(n.NIDs, id)
		}
	}
	return n
}

// began is the instant from which Now.ClockMS counts.
var began = time.Now()

func nowOf(s *node.Status) Now {
	c := &s.Stats
	now := time.Now()
	return Now{
		TimeMS: now.UnixMilli(), ClockMS: float64(now.Sub(began).Microseconds()) / 1000,
		Sent: Count{c.SendCount, c.SendLength}, Received: Count{c.RecvCount, c.RecvLength},
		Routed: Count{c.RouteCount, c.RouteLength}, Dropped: Count{c.DropCount, c.DropLength},
		InFlight: c.MsgsAlloc, Errors: c.Errors, Timeouts: c.ResponseTimeouts, Resends: c.ResendCount, Drops: c.DropReasons,
	}
}

func nisOf(s *node.Status) (list []NI) {
	for i := range s.NIs {
		n := &s.NIs[i]
		if n.NID.IsLo() {
			continue
		}
		sent, received, dropped := countsOf(&n.Traffic)
		list = append(list, NI{
			NID: n.NID, Interface: n.Interface, Status: n.Status, Cause: n.Cause, Health: n.Health,
			Credits: n.Credits, MinCredits: n.MinCredits, MaxCredits: n.Tunables.Credits, Peers: n.PeerCount, Connections: n.LND.Connections,
			Sent: sent, Received: received, Dropped: dropped,
		})
	}
	return list
}

func countsOf(t *lnet.Traffic) (sent, received, dropped Count) {
	return Count{t.Sent.Total(), t.SendLength}, Count{t.Received.Total(), t.RecvLength}, Count{t.Dropped.Total(), t.DropLength}
}

// maxHealth is the health of an NI that is well.
const maxHealth = 1000

func (s *Sources) peers() Peers {
	var p Peers
	s.Host.Table.Node().EachPeer(func(from *lnet.PeerSnapshot) { p.add(from) })
	p.List = first(p.List, comparePeers)
	return p
}

// add counts a peer, and adds it to the list. From a long list it removes the peers that need the least
// attention.
func (p *Peers) add(from *lnet.PeerSnapshot) {
	sent, received, _ := countsOf(&from.Traffic)
	one := Peer{
		NID: from.NID, Via: from.Via, State: from.State, Cause: from.Cause, Health: from.Health,
		Credits: from.Credits, MinCredits: from.MinCredits, MaxCredits: from.MaxCredits, Waiting: from.Queued + from.Parked,
		Sent: sent, Received: received,
	}
	p.Total++
	p.Waiting += one.Waiting
	if one.isDown() {
		p.Down++
	}
	if one.Health < maxHealth {
		p.Unwell++
	}
	if p.List = append(p.List, one); len(p.List) >= 2*MaxRows {
		p.List = first(p.List, comparePeers)
	}
}

func (p *Peer) isDown() bool { return p.State == "down" }

// comparePeers orders peers that need attention before others.
func comparePeers(a, b Peer) int {
	return cmp.Or(
		falseLast(a.isDown(), b.isDown()), cmp.Compare(a.Health, b.Health), cmp.Compare(b.Waiting, a.Waiting),
		a.NID.Compare(b.NID), a.Via.Compare(b.Via),
	)
}

// falseLast compares two values for sorting: true comes before false.
func falseLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// first sorts a list and returns at most MaxRows elements.
func first[T any](list []T, compare func(a, b T) int) []T {
	slices.SortStableFunc(list, compare)
	return list[:min(len(list), MaxRows)]
}

func (s *Sources) routes() Routes {
	var r Routes
	for _, from := range s.Host.NodeRoutes() {
		r.List = append(r.List, Route{from.Net, from.Gateway, from.Hops, from.Priority, from.State, from.Cause})
		if from.State != wire.StatusUp.String() {
			r.Down++
		}
	}
	r.Total = len(r.List)
	r.List = first(r.List, func(a, b Route) int { return falseLast(a.State == "down", b.State == "down") })
	return r
}
