package scoll

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// Service is what runs requests and aggregates replies: its number, which all
// nodes agree on, and its callbacks. Each gets the request as its handle.
//
// On a node that is not the root they are called in this order; at the root
// the service calls [Group.NewRequest] instead of the first:
//
//	PreRequest        once: look at the request, post reply buffers for the children
//	IncomingRequest   once, while the children are sent the request
//	IncomingReply     for each message, or error, of each child
//	PostReply         once, when nothing more comes; from then on Reply
//	ReplyOut          once, when the reply has left; the end of the handle
//
// At the root PreRequest is called only if a broadcast to the live members has
// to be sent again, because some did not agree who they are: with other
// children, for which it posts buffers, and Request.Data nil. Members that ran
// it are not asked to run it twice, but to aggregate ([Request.Repeated]). At the
// root PostReply is the end of the handle. ReplyOut follows only where
// Request.Busy was true.
//
// IncomingRequest runs where Config.Worker has it run, and may block, unless
// the service is Inline. All others are called where messages arrive, or, if
// several are due there, in a worker too; what a call of a method brings about
// is called in a worker, or after the callback that made it. They must not
// block, and must be prepared to run at the same time as others: those of other
// requests, IncomingRequest, and IncomingReply of other children. No lock is
// held meanwhile.
type Service struct {
	ID ServiceID
	// PreRequest refuses a request with an error, which ends it here: it is not
	// forwarded, and the parent learns the error ([Status], otherwise EIO).
	// Required.
	PreRequest func(*Request) error
	// IncomingRequest runs the request. With an error the module replies for the
	// service, unless that calls [Request.ReplyBelow] first. Required. It is not called on a root that has no
	// entities.
	IncomingRequest func(*Request) error
	// Inline says that IncomingRequest does not block either: it is called as the
	// others are. Switching to a worker takes longer than all else that a member
	// does with a small request.
	Inline bool
	// IncomingReply sees the replies of children. May be nil.
	IncomingReply func(*Reply)
	// PostReply has to see to it that Reply is called, at once or later; not at
	// the root. Required.
	PostReply func(*Request)
	// ReplyOut is told that the handle ends. May be nil.
	ReplyOut func(*Request)
	// MapGroup returns the membership of an out-of-band group, the same value as
	// long as it does not change. nil: there are no such groups.
	MapGroup func(OOBID) (*Membership, error)
	// Pinned has every out-of-band group that MapGroup knows stay here, beyond
	// Config.MaxGroups, so that requests over it are never refused for want of a
	// place: for a service that knows few groups and needs them in an emergency.
	// Otherwise the least recently used group makes room for others.
	Pinned bool

	handler *handling // whose callbacks these are, if it is one
}

// OOBID names an out-of-band group of a service, which alone knows what it
// means.
type OOBID struct{ High, Low uint64 }

func (id OOBID) group() GroupID { return GroupID{Incarnation: id.High, Index: id.Low} }

// Reply is a message of a child, or what became of it. It is valid during the
// callback.
type Reply struct {
	Request *Request
	Child   int // index among Request.Children
	// From is the node whose answer this is: the child or, where the module of the
	// child speaks for its service, one below the child, whose answer it passes on.
	From nid.NID
	// Status is OK, or why no answer comes from the child.
	Status Status
	// Collective says that Status is an error that the child's module reports,
	// not one that was noticed here.
	Collective bool
	// Payload of the child lies in the buffer posted for it, which is the service's
	// again. That of a node below it is the service's to keep.
	Payload []byte
	Part    int  // number of this message of the answer
	Last    bool // no more follow, earlier parts apart that were overtaken
	// Nodes is how many nodes an error speaks for: 1, or the child and all below it.
	// Parts of an answer of the child that came before the error do not count.
	Nodes    int
	Entities int // on them
}

// RegisterService makes a service known. EINVAL: a callback is missing;
// EALREADY: there is one with this number.
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

// UnregisterService ends a service: new requests for it are answered with
// ENOSERVICE. Those under way keep their callbacks.
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
