package scoll

import (
	"sync"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/engine"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// Request is a broadcast at one node: the handle that callbacks get and that
// [Group.NewRequest] returns. Methods may be called from any goroutine until
// the handle ends (see [Service]); after that they return ESTALE or nothing.
type Request struct {
	// Data is the service's own, on this node.
	Data any

	agent   *Agent
	service *Service
	group   *Group
	root    bool

	repeated   bool
	payload    []byte
	copied     *[]byte // the memory of payload; nil at the root
	private    any
	flags      wire.Flags
	processing time.Duration
	carry      int
	members    *Membership // nodes of the tree
	whole      *Membership // of the group
	rank       int
	tree       tree.Tree
	children   []tree.Child
	bulkLength int
	groupID    GroupID     // of group, unless that is set
	mapped     *Membership // of an out-of-band group, at the root
	shape      Tree
	segment    uint32
	attempt    attempt
	treeTime   time.Duration // at the root: see Plan.Time
	few        [8]tree.Child
	single     [1]reply

	mu         sync.Mutex
	id         engine.RequestID // guarded by mu, like all below
	stage      stage
	aborted    bool
	failed     bool // IncomingRequest returned an error
	bulk       []portals.Segment
	arrived    bool // bulk data need not be fetched
	bulkStatus Status
	timeout    time.Duration
	missing    []wire.Missing
	status     Status
	busy       bool
	parts      int    // messages of the service's reply before the last
	final      []byte // the last

	buffers buffers
	replies []reply // owned by apply: by part
	sum     uint64  // owned by apply: of bulk data, with CheckBulk
	frame   *fetch  // owned by apply: of bulk data
}

// attempt names a broadcast to the live members: it is the same in all attempts.
type attempt struct {
	root        nid.NID
	incarnation uint64
	group       GroupID
	first       uint64
}

// stage is what a handle is good for.
type stage uint8

const (
	preparingStage stage = iota // buffers may be posted
	sentStage                   // sent, or pre-request has returned
	replyStage                  // Reply is legal
	repliedStage                // the last reply was made
	endedStage
)

// Child is a child of this node, and what is below it.
type Child struct {
	Nodes    int // in its subtree, itself included
	Entities int // on them
}

// Root reports whether this node sent the request.
func (r *Request) Root() bool { return r.root }

// Group is the group of the request. On any member it can be broadcast to: this
// node is the root then. A regular group stays here as long as the handle is reachable,
// or until it ends.
func (r *Request) Group() *Group {
	if r.group != nil {
		return r.group
	}
	g := &Group{agent: r.agent, service: r.service.ID, id: r.groupID, tree: r.shape, segment: r.segment, oob: !r.groupID.Creator.IsValid()}
	if !g.oob { // an out-of-band group is mapped again
		r.agent.hold(g)
	}
	return g
}

// Repeated reports on members other than the root whether an earlier attempt of
// this broadcast was run here (see [RequestConfig].Live): IncomingRequest is not
// called once more, and the service has to reply with what it did then. If it
// failed, the module replies as it did then.
func (r *Request) Repeated() bool { return r.repeated }

// Live reports whether the request goes to the live members only. Then it may come more
// than once, see Repeated.
func (r *Request) Live() bool { return r.flags&wire.FlagSubset != 0 }

// LeftOut returns the members of the group to which the request does not go, because
// they were dead when it was made (see [RequestConfig].Live). They are not among
// Unreached.
func (r *Request) LeftOut() (dead []nid.NID) {
	for rank := 0; r.members.Len() < r.whole.Len() && rank < r.whole.Len(); rank++ {
		if id := r.whole.NID(rank); r.members.Rank(id) < 0 {
			dead = append(dead, id)
		}
	}
	return dead
}

// Private is what NewRequest was given.
func (r *Request) Private() any { return r.private }

// Payload is what the root sent. On members other than the root it may be
// modified; children get it as it came. It is valid until the handle ends.
func (r *Request) Payload() []byte { return r.payload }

// Entities are the targets of the request on this node.
func (r *Request) Entities() []Entity { return r.members.Target(r.rank).Entities }

// Children returns how many children this node has.
func (r *Request) Children() int { return len(r.children) }

// Child describes a child, from 0 to Children()-1.
func (r *Request) Child(i int) Child {
	c := r.children[i]
	return Child{c.Size, r.members.EntitiesBelow(r.tree, c.Rank)}
}

// ChildNID is the NID of a child.
func (r *Request) ChildNID(i int) nid.NID { return r.members.NID(r.children[i].Rank) }

// ChildNIDs are the NIDs of a child and of all nodes below it.
func (r *Request) ChildNIDs(i int) (ids []nid.NID) {
	for _, rank := range r.tree.AppendSubtree(nil, r.children[i].Rank) {
		ids = append(ids, r.members.NID(rank))
	}
	return ids
}

// NID is the NID of this node in the group.
func (r *Request) NID() nid.NID { return r.members.NID(r.rank) }

// RootNID is the NID of the root, as the parent says: it is as trustworthy as all
// nodes on the way from there.
func (r *Request) RootNID() nid.NID { return r.members.NID(r.tree.Root) }

// ParentNID is the NID from which the request came; zero at the root.
func (r *Request) ParentNID() (id nid.NID) {
	if rank, ok := r.tree.Parent(r.rank); ok {
		id = r.members.NID(rank)
	}
	return id
}

// BulkLength is the length of the bulk data in bytes, 0 if there are none.
func (r *Request) BulkLength() int { return r.bulkLength }

// SetBulk says in PreRequest where bulk data goes: into segments of at least
// BulkLength bytes, at most 256 of them. They are the module's until PostReply,
// or, if Busy is true then, until ReplyOut; IncomingRequest may still run then.
func (r *Request) SetBulk(segments ...[]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root || r.stage != preparingStage {
		return r.refusal()
	}
	total := 0
	for _, s := range segments {
		total += len(s)
	}
	if total < r.bulkLength || len(segments) > portals.MaxSegments {
		return EINVAL
	}
	r.bulk = cut(segments, 0, r.bulkLength)
	return nil
}

// SetArrived says in PreRequest, after SetBulk, that the segments have the bulk data
// already: it came another way than from the parent, such as by multicast, and is not
// fetched. Children fetch it from here all the same, unless they have it too. That it
// is the root's data is for the service to know. Errors as SetBulk.
func (r *Request) SetArrived() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.root || r.stage != preparingStage:
		return r.refusal()
	case len(r.bulk) == 0:
		return EINVAL
	}
	r.arrived = true
	return nil
}

// hasArrived reports whether there is nothing to fetch.
func (r *Request) hasArrived() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived
}

// cut returns a part of the bytes of segments.
func cut(segments []portals.Segment, from, length int) (part []portals.Segment) {
	for _, s := range segments {
		if from >= len(s) {
			from -= len(s)
			continue
		}
		s = s[from:min(len(s), from+length)]
		from = 0
		if length -= len(s); len(s) > 0 {
			part = append(part, s)
		}
	}
	return part
}

// Bulk is the bulk data, to be read from IncomingRequest until PostReply. It
// must not be modified: children fetch it from here.
func (r *Request) Bulk() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bulk
}

// BulkStatus says in IncomingRequest whether bulk data could be fetched. If not,
// the service must not reply: the module has.
func (r *Request) BulkStatus() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bulkStatus
}

// SetTimeout says in PreRequest how long the service takes here, if that is
// longer than the root thinks. It is not passed on.
func (r *Request) SetTimeout(d time.Duration) {
	r.mu.Lock()
	r.timeout = d
	r.mu.Unlock()
}

// Busy says in PostReply that a peer still reads bulk data, or writes to a
// reply buffer of a child that was given up, or at the root that its own
// IncomingRequest still runs: the buffers are free in ReplyOut.
func (r *Request) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// Status says in PostReply at the root why the broadcast never left: ECANCELED if it was
// aborted before, ENOGROUP if the group had ended; in ReplyOut why the service was not asked to reply; otherwise it is OK.
func (r *Request) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Unreached is a member whose answer did not arrive, and why. It may have run
// the request; with ELOST it has.
type Unreached struct {
	NID    nid.NID
	Status Status
}

// Unreached returns in PostReply at the root the members whose answer did not
// arrive, each once. It is exact, whatever services do. The root itself is among them
// if its own IncomingRequest failed, or has not returned in time.
func (r *Request) Unreached() []Unreached {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Unreached, 0, len(r.missing))
	for _, e := range r.missing {
		list = append(list, Unreached{r.members.NID(int(e.Rank)), e.Status})
	}
	return list
}
