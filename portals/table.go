package portals

import (
	"sync"
	"sync/atomic"

	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Portals is the number of portals of a table (MAX_PORTALS).
const Portals = 64

// Table is a node's portal table and its memory descriptors.
type Table struct {
	node       *lnet.Node
	mds        slab[md]
	calls      slab[call]
	operations sync.Pool // unused values of operation
	inlines    sync.Pool // unused values of lnet.Inline
	intakes    sync.Pool // unused values of intake
	batches    sync.Pool // unused values of batch
	shared     sync.Pool // unused values of sharedSend
	acksAtOnce int       // largest number of ACKs that are posted together
	tracker    tracker
	deadlines  deadlines
	latencies  latencies
	queues     queues
	joined     memberships
	portals    [Portals]portal
}

// New makes the portal table of a node and installs it as the node's upper layer. A node has
// one table.
func New(node *lnet.Node) *Table {
	t := &Table{node: node, acksAtOnce: maxAcksDue}
	t.operations.New = func() any {
		o := new(operation)
		o.Init()
		o.Upper = o
		return o
	}
	t.inlines.New = func() any { return new(lnet.Inline) }
	t.intakes.New = func() any { return &intake{table: t} }
	t.batches.New = func() any { return new(batch) }
	t.shared.New = func() any { return new(sharedSend) }
	t.tracker.round.Store(1)
	t.latencies.every = sampled
	t.deadlines.alarm, t.deadlines.at = machine.Alarm{Clock: node.Clock(), Call: t.expire}, machine.Never
	node.SetUpper((*upper)(t))
	return t
}

// Node returns the node that the table belongs to.
func (t *Table) Node() *lnet.Node { return t.node }

func (t *Table) portal(index int) *portal {
	if index < 0 || index >= Portals {
		return nil
	}
	return &t.portals[index]
}

// portalKind is fixed by the first ME of a portal (ptl_type).
type portalKind uint8

const (
	unset portalKind = iota
	unique
	wildcard
)

// portal is one entry of the table (struct lnet_portal).
type portal struct {
	mu       sync.Mutex
	kind     portalKind      // kind of the portal; guarded by mu, like all fields below
	lazy     bool            // the portal keeps PUTs that no entry matches
	ignoring meRef           // head of the ring of MEs with ignore bits: the first ME to try
	mes      slab[me]        // match entries of the portal
	exact    index           // rings of the MEs without ignore bits, by match bits
	held     operationList   // PUTs on a lazy portal that wait for an MD
	heldOf   map[nid.NID]int // by neighbour's NID: number of its messages that are held, those that wait for a slot included
	share    *share          // bound on the messages of one neighbour; nil: none
	changes  atomic.Uint64   // number of times that an entry, or the MD of an entry, was added or removed
}
