package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// phase is the state of a request.
//
//	mapping -> listing -> held -> preparing -> loading -> running -> withdrawing -> posting -> leaving -> closing
//
// A request skips those phases before running in which it has nothing to wait for. At the root
// it begins with held or running, and skips leaving.
type phase uint8

const (
	idle        phase = iota
	mapping           // the service maps the group to its members
	listing           // the list of members is being fetched
	held              // the request waits for an admission slot, see hold.go; at the root for room in the congestion window, see pace.go
	preparing         // in the pre-request callback
	loading           // bulk data is being fetched
	running           // children were sent the request
	withdrawing       // all children are done; buffers are being withdrawn
	posting           // post-reply was called; the service has to reply
	leaving           // the last part of the reply is being sent
	closing           // the reply has left; reply-out runs, or waits until no buffer is in use
	resting           // at the root: the request waits before another attempt, see again.go
)

func (p phase) String() string {
	return [...]string{
		"idle", "mapping", "listing", "held", "preparing", "loading", "running", "withdrawing", "posting", "leaving", "closing", "resting",
	}[p]
}

// callState is the state of a callback.
type callState uint8

const (
	notCalled callState = iota
	called
	returned
)

// request is a broadcast at this node.
type request struct {
	id        RequestID
	slot      int
	phase     phase
	root      bool // this node is the root
	aborted   bool
	answered  bool   // the last part of the reply has been made
	refused   bool   // the reply was an error on behalf of the subtree
	fetches   bool   // the list of members had to be fetched
	list      uint64 // bytes of the list, while the request is charged for it
	stranger  bool   // a stranger sent the request
	mapTries  uint8
	attempts  uint8 // number of failed attempts to send
	heapAt    int   // position in the heap of timers; -1: none
	hasSlot   bool  // the request has an admission slot, see hold.go
	waited    bool  // the request has been held, and has a slot now
	heldBelow bool  // a member below holds the request
	slowed    bool  // at the root: a member held the request

	incoming callState
	post     callState
	out      callState
	failed   wire.Status // status that incoming-request returned
	bulk     wire.Status // status of the fetch of the bulk data
	unsent   wire.Status // why the request was never sent; at the root only

	header     wire.RequestHeader
	body       []byte // list and payload, forwarded as they came (SC-A29)
	group      *group
	roster     *wire.Membership // members of the tree: the group's, or its live ones
	rank       int
	depth      int // number of levels of this node's subtree
	parent     nid.NID
	parentBits uint64
	bits       uint64 // match bits for the children's replies
	processing time.Duration
	pipe       pipeline
	exposed    bool // children can fetch data, or buffers may still be posted
	withdrawn  bool
	repeated   bool // an earlier attempt of the broadcast has run here
	token      any

	children []child
	pending  int // number of children that are not done
	calls    int // number of incoming-reply callbacks that have not returned
	trailer  []wire.Missing
	room     uint16   // bytes for carried answers in a child's reply
	kept     []byte   // answers to be passed on if the service does not reply, see carry.go
	lost     []uint32 // ranks of members whose answers would be lost if the service does not reply
	ups      []up     // parts of the reply whose sending has not ended
	parts    uint32

	abandoned wire.Status // why a root no longer waits for its own incoming-request
	busy      bool        // buffers were in use when post-reply was called

	waits share // what the request's sender is charged for it
	told  holding

	came  time.Duration // when the request arrived
	since time.Duration // when the request was forwarded to the children
	limit time.Duration // when the module answers in place of the service
	until time.Duration // when the phase withdrawing, or resting, ends by itself
	at    time.Duration // when the machine must process the request again
}

// childState is the state of a child.
type childState uint8

const (
	unsent   childState = iota
	waiting             // the child's reply has not arrived
	retrying            // the request could not be sent; the next try is at child.at
	done
)

type child struct {
	tree.Child
	state  childState
	tries  uint8
	listed bool   // the request was sent again with the list of members
	ended  bool   // after that the child has said again that it does not know the group
	last   int8   // number of the last part of the child's reply, or -1
	parts  uint64 // bit set of the parts that have arrived
	held   bool   // the child, or a node below it, holds the request
	word   uint64 // number of the latest Hold of the child that was processed
	at     time.Duration
	until  time.Duration // deadline of the child, also while the request is held
}

// up is a part of the reply that is being sent.
type up struct {
	part  uint32
	own   bool
	final bool
	tries uint8
	why   wire.Status // why the module answers in place of the service
	size  uint32
	at    time.Duration // time at which the part is sent again; Never while it is being sent
}

// payload returns the payload for the service.
func (r *request) payload() []byte {
	return r.body[r.header.ListSize:][:r.header.PayloadSize]
}

// requests is the table of requests, with a heap of the requests that have a timer.
type requests struct {
	slots  []*request
	free   []int
	heap   []*request // heap ordered by at, then by slot
	byBits map[uint64]*request
	active int
}

func (t *requests) init() { t.byBits = make(map[uint64]*request) }

// add returns a new request.
func (t *requests) add() *request {
	var r *request
	if n := len(t.free); n > 0 {
		r = t.slots[t.free[n-1]]
		t.free = t.free[:n-1]
	} else {
		r = &request{id: RequestID(len(t.slots) + 1), slot: len(t.slots)}
		t.slots = append(t.slots, r)
	}
	t.active++
	r.phase, r.heapAt, r.at, r.limit, r.pipe.at = mapping, -1, machine.Never, machine.Never, machine.Never
	r.told.at = machine.Never
	return r
}

// get returns the request with an id, or nil if the request has ended.
func (t *requests) get(id RequestID) *request {
	slot := int(uint32(id)) - 1
	if slot < 0 || slot >= len(t.slots) || t.slots[slot].id != id || t.slots[slot].phase == idle {
		return nil
	}
	return t.slots[slot]
}

// kept returns the memory of a list for reuse, or nil if it is large.
func kept[T any](list []T) []T {
	if cap(list) > 4*wire.MaxMessage {
		return nil
	}
	return list[:0]
}

// drop ends a request and keeps its memory for reuse.
func (t *requests) drop(r *request) {
	if r.bits != 0 {
		delete(t.byBits, r.bits)
	}
	t.setWake(r, machine.Never)
	*r = request{
		id: r.id + 1<<32, slot: r.slot, heapAt: -1,
		body: kept(r.body), children: kept(r.children), trailer: kept(r.trailer), ups: kept(r.ups),
		kept: kept(r.kept), lost: kept(r.lost),
	}
	t.free = append(t.free, r.slot)
	t.active--
}

// wake returns when the machine must process the next request.
func (t *requests) wake() time.Duration {
	if len(t.heap) == 0 {
		return machine.Never
	}
	return t.heap[0].at
}

// setWake sets the timer of a request.
func (t *requests) setWake(r *request, at time.Duration) {
	r.at = at
	switch {
	case at == machine.Never && r.heapAt >= 0:
		t.remove(r)
	case at == machine.Never:
	case r.heapAt < 0:
		r.heapAt = len(t.heap)
		t.heap = append(t.heap, r)
		t.rise(r.heapAt)
	default:
		t.sink(t.rise(r.heapAt))
	}
}

func (t *requests) remove(r *request) {
	i, last := r.heapAt, len(t.heap)-1
	t.swap(i, last)
	t.heap[last] = nil
	t.heap = t.heap[:last]
	r.heapAt = -1
	if i < last {
		t.sink(t.rise(i))
	}
}

func (t *requests) less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	return a.at < b.at || a.at == b.at && a.slot < b.slot
}

func (t *requests) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].heapAt, t.heap[j].heapAt = i, j
}

func (t *requests) rise(i int) int {
	for i > 0 && t.less(i, (i-1)/2) {
		t.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (t *requests) sink(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.heap); c++ {
			if t.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}
