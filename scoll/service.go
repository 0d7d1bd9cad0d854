package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// Service runs requests and aggregates replies. It has a number, on which all nodes agree, and
// callbacks, each of which gets the request as its argument.
//
// On a node other than the root they are called in this order; at the root the service calls
// [Group.NewRequest] in place of the first:
//
//	PreRequest        once: look at the request, post reply buffers for the children
//	IncomingRequest   once, while the children are sent the request
//	IncomingReply     for each message, or error, of each child
//	PostReply         once, when no more replies come; from then on Reply
//	ReplyOut          once, when the reply has been sent; the handle ends
//
// If members disagree about which of them are alive, the root makes another attempt of a
// broadcast to the live members. Only then is PreRequest called at the root. The request has
// other children in that attempt, for which PreRequest posts buffers, and Request.Data is nil.
// Members that ran an earlier attempt do not run the request again, but they aggregate
// ([Request.Repeated]). At the root the handle ends with PostReply or, if Request.Busy was true
// then, with ReplyOut, which is not called otherwise.
//
// Config.Worker calls IncomingRequest, which may block, unless the service is Inline. The
// goroutine that delivered a message calls the other callbacks; if several are due, a worker
// helps. A method call may itself cause callbacks: these run in a worker, or after the callback
// that made the call. Callbacks must not block. They may run at the same time as callbacks of
// other requests, as IncomingRequest, and as IncomingReply for other children. The agent holds
// no lock while it calls a callback.
type Service struct {
	ID ServiceID // id of the service, the same on all nodes
	// PreRequest refuses a request by returning an error. Then the request ends here: it is
	// not forwarded, and the parent gets the error (a [Status], otherwise EIO). Required.
	PreRequest func(*Request) error
	// IncomingRequest runs the request. If it returns an error the module replies in place of
	// the service, unless the service has called [Request.ReplyBelow]. Required. It is not
	// called at a root whose own entry in the membership lists no entities.
	IncomingRequest func(*Request) error
	// Inline says that IncomingRequest does not block, and is called like the other callbacks, not
	// by a worker: the switch to a worker takes longer than the rest of a small request's work.
	Inline bool
	// Reuse says that the service, in whichever goroutine, uses no handle after the end of the
	// request. Then the agent takes the handle for a later request, and a request allocates
	// nothing: each allocation brings the next garbage collection closer, which makes the
	// slowest requests slower. Without Reuse, methods of an ended handle return ESTALE.
	//
	// Calls inside callbacks are safe. But the module can end a request on its own, whether or not
	// the service has called Reply: when the time is over, or on Abort. So a service that calls
	// methods of a handle, such as Reply, in a goroutine of its own must set ReplyOut. When the
	// last callback returns, no such call may be under way, and none may follow. The last callback
	// is ReplyOut, at the root PostReply if Request.Busy is false, or PreRequest if it fails or
	// does not post all buffers. For example, ReplyOut takes a lock and marks the handle as ended;
	// the goroutine holds that lock during each call, and makes none if the mark is set.
	Reuse bool
	// IncomingReply gets the replies of children. May be nil.
	IncomingReply func(*Reply)
	// PostReply calls Reply, at once or later; not at the root. Required.
	PostReply func(*Request)
	// ReplyOut is the last callback, see above: no peer uses buffers of the request any more. May be nil.
	ReplyOut func(*Request)
	// MapGroup returns the membership of an out-of-band group, the same value as long as it does
	// not change. If MapGroup is nil, the service has no out-of-band groups.
	MapGroup func(OOBID) (*Membership, error)
	// Pinned keeps every out-of-band group that MapGroup knows in the cache, beyond
	// Config.MaxGroups. Requests over such a group are never refused because the cache is full.
	// Set Pinned for a service that has few groups and needs them in an emergency. Without
	// Pinned, the cache may displace groups that are not in use.
	Pinned bool

	handler *handling // the handler that these callbacks belong to, if any
}

// OOBID names an out-of-band group of a service. Only the service knows its meaning.
type OOBID struct {
	High uint64 // first eight bytes of the id
	Low  uint64 // last eight bytes of the id
}

func (id OOBID) group() GroupID { return GroupID{Incarnation: id.High, Index: id.Low} }

// Reply is a message of a child, or the error that replaces it. It is valid during the
// callback.
type Reply struct {
	Request *Request // the request that the reply belongs to
	Child   int      // index of the child in Request.Children
	// From is the node whose answer this is: the child or, if the child's module passes on
	// answers in place of its service, a node below the child.
	From nid.NID
	// Status is OK, or why the child does not answer.
	Status Status
	// Collective says that the child's module reported the error, rather than this node's.
	Collective bool
	// Payload is in the buffer that was posted for the child, if the child answers. The buffer,
	// and the payload of a node below the child, belong to the service from now on.
	Payload []byte
	Part    int  // number of this message of the answer, from 0
	Last    bool // the last part; parts with lower numbers may still follow
	// Nodes is how many nodes an error stands for: 1, or the child and all below it. Parts of
	// the child's answer that came before the error do not count.
	Nodes    int
	Entities int // number of entities on these nodes
}

// Covers reports whether a node is From or below From in the tree, so that the answer of From may
// contain that node's. A service that keeps answers apart, see AppendPiece, refuses pieces of other
// nodes: any member could otherwise answer in the name of any other. Like the reply, it can be used
// during the callback.
func (p *Reply) Covers(id nid.NID) bool {
	r := p.Request
	rank, top := r.members.Rank(id), r.members.Rank(p.From)
	return rank >= 0 && top >= 0 && isBelow(r.tree, rank, top)
}

// RegisterService registers a service. EINVAL: a callback is missing; EALREADY: a service with
// this number is registered.
func (a *Agent) RegisterService(s Service) error {
	if s.PreRequest == nil || s.IncomingRequest == nil || s.PostReply == nil {
		return EINVAL
	}
	a.mu.Lock()
	if a.services[s.ID] != nil {
		a.mu.Unlock()
		return EALREADY
	}
	a.services[s.ID] = &s
	a.mu.Unlock()
	a.tell(engine.Input{Kind: engine.Register, Service: s.ID, OOB: s.MapGroup != nil, Pinned: s.Pinned})
	return nil
}

// UnregisterService ends a service: new requests for it are answered with ENOSERVICE. Requests
// under way keep their callbacks.
func (a *Agent) UnregisterService(id ServiceID) {
	a.tell(engine.Input{Kind: engine.Unregister, Service: id})
	a.mu.Lock()
	delete(a.services, id)
	a.mu.Unlock()
}

func (a *Agent) service(id ServiceID) *Service {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.services[id]
}
