package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// mute makes a node with a child, member 6, that is back after a death and has not answered maxTries questions, with as many
// requests. It returns a function by which the child sends a request.
func mute(t *testing.T) (h *harness, tells func(incarnation uint64)) {
	h = newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
	tells = h.teller(6)
	h.discovered(6, true, 0)
	tells(7)
	h.discovered(6, false, 1)
	h.discovered(6, true, 1)
	for n := range uint64(maxTries) {
		h.forwards(n+1, "send0 tell0 send1 incoming")
		h.finish()
		h.now += askAgain
		h.step(Input{}) // the question is given up
	}
	return h, tells
}

// forwards lets the node forward a request, and checks what it does with it.
func (h *harness) forwards(sequence uint64, want string) {
	h.t.Helper()
	h.admitted(func(r *wire.RequestHeader) { r.Sequence = sequence })
	h.step(Input{Kind: InPreRequest})
	h.want(want)
	h.step(Input{Kind: InIncoming})
}

// finish lets the children answer.
func (h *harness) finish() {
	h.t.Helper()
	sequence := h.m.requests.get(h.id).header.Sequence
	for i, c := range h.m.requests.get(h.id).children {
		h.childReplies(c.Rank, func(r *wire.ReplyHeader, _ *Input) { r.Sequence = sequence })
		h.step(Input{Kind: InReply, Child: i})
	}
	h.step(Input{Kind: InWithdrawn})
}

// TestReturnedMute: SC-158: a child that is back answers no questions. It is asked maxTries times, and then once in
// askMute. Its next request ends no wait that began after its return, but a restart after that does.
func TestReturnedMute(t *testing.T) {
	spec.Covers(t, "SC-158")
	h, tells := mute(t)
	h.forwards(maxTries+1, "send0 send1 incoming")
	h.finish()
	h.now += askMute
	h.forwards(maxTries+2, "send0 tell0 send1 incoming")
	h.finish()
	h.now += askAgain
	h.step(Input{})
	h.forwards(maxTries+3, "send0 send1 incoming")
	h.now += time.Millisecond
	tells(8)
	h.want("pre") // no question, and the wait goes on
	h.now += time.Millisecond
	tells(9)
	h.want("unpost0 child0:" + wire.EREBOOT.String() + " pre")
}

// TestReturnedMuteLate: SC-158: a child that is back could not be reached when it was asked, and then a request comes that it had
// sent before its death. A wait for the child goes on when it tells its new incarnation.
func TestReturnedMuteLate(t *testing.T) {
	spec.Covers(t, "SC-158")
	h, tells := mute(t)
	tells(8) // sent before its death
	h.forwards(maxTries+1, "send0 send1 incoming")
	h.now += time.Millisecond
	tells(9)
	h.want("pre")
}
