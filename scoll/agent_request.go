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
// [Group.NewRequest] returns. Methods may be called from any goroutine until the handle ends
// (see [Service]); after that they return ESTALE or do nothing.
type Request struct {
	// Data is any value of the service on this node.
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
	members    *Membership // nodes of the request's tree
	whole      *Membership // all nodes of the group
	rank       int
	tree       tree.Tree
	children   []tree.Child
	bulkLength int
	groupID    GroupID     // id of the group; used while group is nil
	mapped     *Membership // members of an out-of-band group; at the root only
	shape      Tree
	segment    uint32
	attempt    attempt
	treeTime   time.Duration // timeout of the tree, see Plan.Time; at the root only
	sentAt     time.Duration // when Send was called; at the root only
	few        [8]tree.Child
	single     [1]reply

	mu         sync.Mutex
	id         engine.RequestID // guarded by mu, like all below
	stage      stage
	aborted    bool
	failed     bool // IncomingRequest returned an error
	bulk       []portals.Segment
	arrived    bool // bulk data is here, or there is none to fetch
	bulkStatus Status
	timeout    time.Duration
	missing    []wire.Missing
	status     Status
	busy       bool
	parts      int    // messages of the service's reply before the last one
	final      []byte // the last message of the service's reply, to be sent

	buffers buffers
	replies []reply // messages of the reply by part; owned by apply
	sum     uint64  // checksum of the bulk data, with CheckBulk; owned by apply
	frame   *fetch  // the fetch of the bulk data; only apply uses it
}

// attempt names a broadcast to the live members; all its attempts have the same name.
type attempt struct {
	root        nid.NID
	incarnation uint64
	group       GroupID
	first       uint64
}

// stage is the state of a handle.
type stage uint8

const (
	preparingStage stage = iota // in this stage buffers may be posted
	sentStage                   // the request was sent or, on other members than the root, PreRequest has returned
	replyStage                  // in this stage the service may call Reply
	repliedStage                // the service or the module has given the last message of the reply
	endedStage
)

// Child describes the subtree of a child.
type Child struct {
	Nodes    int // number of nodes in the subtree, including the child
	Entities int // number of entities on these nodes
}

// Root reports whether this node sent the request.
func (r *Request) Root() bool { return r.root }

// Group returns the group of the request. Any member can broadcast over it and is then the
// root. A regular group stays in the cache as long as its handle is reachable, or until the
// group ends.
func (r *Request) Group() *Group {
	if r.group != nil {
		return r.group
	}
	g := &Group{agent: r.agent, service: r.service.ID, id: r.groupID, tree: r.shape, segment: r.segment, oob: !r.groupID.Creator.IsValid()}
	if !g.oob { // an out-of-band group is mapped again by its next request, and need not be held
		r.agent.hold(g)
	}
	return g
}

// Repeated reports on members other than the root whether an earlier attempt of this
// broadcast has run here (see [RequestConfig].Live). Then IncomingRequest is not called
// again, and the service has to reply with its earlier result. If that was an error the
// module replies with it.
func (r *Request) Repeated() bool { return r.repeated }

// Live reports whether the request goes to the live members only. Then it may come more than
// once, see Repeated.
func (r *Request) Live() bool { return r.flags&wire.FlagSubset != 0 }

// LeftOut returns the members of the group to which the request does not go, because they
// were dead when it was created (see [RequestConfig].Live). Unreached does not include them.
func (r *Request) LeftOut() (dead []nid.NID) {
	for rank := 0; r.members.Len() < r.whole.Len() && rank < r.whole.Len(); rank++ {
		if id := r.whole.NID(rank); r.members.Rank(id) < 0 {
			dead = append(dead, id)
		}
	}
	return dead
}

// Private returns RequestConfig.Private; nil except at the root.
func (r *Request) Private() any { return r.private }

// Payload returns the payload of the root, valid until the handle ends. On members other than
// the root the service may modify it; children get it as it came.
func (r *Request) Payload() []byte { return r.payload }

// Entities returns the targets of the request on this node.
func (r *Request) Entities() []Entity { return r.members.Target(r.rank).Entities }

// Children returns how many children this node has.
func (r *Request) Children() int { return len(r.children) }

// Child describes a child, from 0 to Children()-1.
func (r *Request) Child(i int) Child {
	c := r.children[i]
	return Child{c.Size, r.members.EntitiesBelow(r.tree, c.Rank)}
}

// ChildNID returns the NID of a child.
func (r *Request) ChildNID(i int) nid.NID { return r.members.NID(r.children[i].Rank) }

// ChildNIDs returns the NIDs of a child and of all nodes below it.
func (r *Request) ChildNIDs(i int) (ids []nid.NID) {
	for _, rank := range r.tree.AppendSubtree(nil, r.children[i].Rank) {
		ids = append(ids, r.members.NID(rank))
	}
	return ids
}

// NID returns the NID of this node in the group.
func (r *Request) NID() nid.NID { return r.members.NID(r.rank) }

// RootNID returns the NID of the root, as reported by the parent. It is only as trustworthy as
// the nodes between the root and this one.
func (r *Request) RootNID() nid.NID { return r.members.NID(r.tree.Root) }

// ParentNID returns the NID of the parent, which sent the request; zero at the root.
func (r *Request) ParentNID() (id nid.NID) {
	if rank, ok := r.tree.Parent(r.rank); ok {
		id = r.members.NID(rank)
	}
	return id
}

// BulkLength returns the length of the bulk data in bytes, 0 if there is none.
func (r *Request) BulkLength() int { return r.bulkLength }

// SetBulk sets, in PreRequest, the memory for bulk data: at most 256 segments, of at least
// BulkLength bytes together. The segments belong to the module until PostReply or, if Busy is
// true then, until ReplyOut. IncomingRequest may still run after that.
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

// SetArrived tells the module, in PreRequest after SetBulk, that the segments already contain
// the bulk data, because the service received the data in another way, such as by multicast.
// Then the module does not fetch the data from the parent. Children fetch it from this node,
// unless they have it too. The service must make sure that the data is that of the root. Errors
// as SetBulk.
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

// hasArrived reports whether the bulk data need not be fetched, because the service has called
// SetArrived.
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

// Bulk returns the bulk data, which can be read from IncomingRequest until PostReply. It must
// not be modified, because children fetch it from here.
func (r *Request) Bulk() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bulk
}

// BulkStatus returns in IncomingRequest OK, or why bulk data could not be fetched. In the
// latter case the service must not reply, because the module has.
func (r *Request) BulkStatus() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bulkStatus
}

// SetTimeout sets in PreRequest how long the service may take on this node, if that is longer
// than RequestConfig.Processing. The parent does not learn of it.
func (r *Request) SetTimeout(d time.Duration) {
	r.mu.Lock()
	r.timeout = d
	r.mu.Unlock()
}

// Busy reports in PostReply whether some buffers are still in use: peers may be reading the bulk
// data, a child that was given up may write its reply, or the root's own IncomingRequest is
// running. The service may reuse these buffers in ReplyOut.
func (r *Request) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// Status tells, in PostReply at the root, why the broadcast was never sent: ECANCELED if it was
// aborted before, ENOGROUP if the group had ended. In ReplyOut it tells why the service was not
// asked to reply. Otherwise it is OK.
func (r *Request) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Unreached is a member whose answer did not arrive. It may have run the request; with ELOST
// it has.
type Unreached struct {
	NID    nid.NID // NID of the member
	Status Status  // why the member was not reached
}

// Unreached returns in PostReply at the root the members whose answer did not arrive, once
// each. The list is exact, whatever services do. It includes the root if its own
// IncomingRequest failed, or did not return in time.
func (r *Request) Unreached() []Unreached {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Unreached, 0, len(r.missing))
	for _, e := range r.missing {
		list = append(list, Unreached{r.members.NID(int(e.Rank)), e.Status})
	}
	return list
}
