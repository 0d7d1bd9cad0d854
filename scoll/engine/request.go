package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// phase is how far a request is.
//
//	mapping -> listing -> held -> preparing -> loading -> running -> withdrawing -> posting -> leaving -> closing
//
// Those before running are skipped where there is nothing to wait for; the root
// begins with held or running and skips leaving.
type phase uint8

const (
	idle        phase = iota
	mapping           // the service is asked who the members are
	listing           // the list of members is being fetched
	held              // it waits for a place, see hold.go; at the root until the window opens, see pace.go
	preparing         // in the pre-request callback
	loading           // bulk data is being fetched
	running           // children were sent the request
	withdrawing       // all children are done; buffers are taken back
	posting           // post-reply was called; the service has to reply
	leaving           // the last reply is on its way
	closing           // in the reply-out callback, or before it
	resting           // at the root: before another attempt, see again.go
)

func (p phase) String() string {
	return [...]string{
		"idle", "mapping", "listing", "held", "preparing", "loading", "running", "withdrawing", "posting", "leaving", "closing", "resting",
	}[p]
}

// callState is what is known of a callback.
type callState uint8

const (
	notCalled callState = iota
	called
	returned
)

// request is a broadcast that is under way at this node.
type request struct {
	id        RequestID
	slot      int
	phase     phase
	root      bool // it is ours
	aborted   bool
	answered  bool   // the last reply is made, by the service or for it
	refused   bool   // the reply was an error for the subtree
	fetches   bool   // the list of members was fetched
	list      uint64 // its bytes while that is so
	stranger  bool   // sent it
	mapTries  uint8
	attempts  uint8 // that have failed
	heapAt    int   // position in the heap, or -1
	hasSlot   bool  // it has a place, see hold.go
	waited    bool  // for it
	heldBelow bool  // it is held by a child, or below it
	slowed    bool  // at the root: that was so

	incoming callState
	post     callState
	out      callState
	failed   wire.Status // of incoming-request
	bulk     wire.Status // of bulk data
	unsent   wire.Status // at the root: why it never left

	header     wire.RequestHeader
	body       []byte // list and payload, forwarded as they came (SC-A29)
	group      *group
	roster     *wire.Membership // the group's, or its live members
	rank       int
	depth      int // levels of our subtree
	parent     nid.NID
	parentBits uint64
	bits       uint64 // for the children's replies
	processing time.Duration
	pipe       pipeline
	exposed    bool // children can fetch something, or buffers may still be posted
	withdrawn  bool
	repeated   bool // an earlier attempt has run here
	token      any

	children []child
	pending  int // children that are not done
	calls    int // incoming-reply callbacks that have not returned
	trailer  []wire.Missing
	room     uint16   // for what a child carries
	kept     []byte   // answers to be carried if the service does not reply, see carry.go
	lost     []uint32 // ranks of those that it would lose
	ups      []up     // replies on their way
	parts    uint32

	abandoned wire.Status // why a root waits no longer for its own incoming-request
	busy      bool        // post-reply was told so

	waits share // what its sender is charged
	told  holding

	came  time.Duration // when it arrived
	since time.Duration // when it was sent on to the children
	limit time.Duration // when the module answers for the service
	until time.Duration // withdrawing: how long to wait
	at    time.Duration // when it wants to be looked at
}

// childState is how far a child is.
type childState uint8

const (
	unsent   childState = iota
	waiting             // for its reply
	retrying            // the request could not be sent; once more at child.at
	done
)

type child struct {
	tree.Child
	state  childState
	tries  uint8
	listed bool   // was sent the list of members after all
	last   int8   // number of the last part, or -1
	parts  uint64 // that have come
	held   bool   // it, or a node below it, holds the request
	word   uint64 // number of the latest that says so, or that it is no more
	words  int    // of these, that have come
	at     time.Duration
	until  time.Duration // at the latest, whatever it says
}

// up is a reply that has not left.
type up struct {
	part  uint32
	own   bool
	final bool
	tries uint8
	why   wire.Status // of the module, which speaks for the service
	size  uint32
	at    time.Duration // of the next try; Never: it is on its way
}

// payload is what the request says to the service.
func (r *request) payload() []byte {
	return r.body[r.header.ListSize:][:r.header.PayloadSize]
}

// requests is the table of requests, with a heap of those that want to be
// looked at.
type requests struct {
	slots  []*request
	free   []int
	heap   []*request // by at, then slot
	byBits map[uint64]*request
	active int
}

func (t *requests) init() { t.byBits = make(map[uint64]*request) }

// add makes a request.
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

// get returns the request of an id, or nil if it is over.
func (t *requests) get(id RequestID) *request {
	slot := int(uint32(id)) - 1
	if slot < 0 || slot >= len(t.slots) || t.slots[slot].id != id || t.slots[slot].phase == idle {
		return nil
	}
	return t.slots[slot]
}

// kept is the memory of a list that is used again, unless it is much.
func kept[T any](list []T) []T {
	if cap(list) > 4*wire.MaxMessage {
		return nil
	}
	return list[:0]
}

// drop ends a request and keeps its memory.
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

// wake is when the first request wants to be looked at.
func (t *requests) wake() time.Duration {
	if len(t.heap) == 0 {
		return machine.Never
	}
	return t.heap[0].at
}

// setWake says when a request wants to be looked at.
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
