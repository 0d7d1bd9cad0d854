package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// unsent delivers that sending the request to the first child has failed.
func (h *harness) unsent() { h.step(Input{Kind: InSent, Child: 0, Status: wire.EIO}) }

// TestHoldUnsent: sending the request to a child fails, although the child got it. The child would drop a second copy
// without an answer. So the parent sends none if a Hold or a part of the reply shows that the request has arrived,
// before or after it learns of the failure. It then waits for the child as if nothing had failed.
func TestHoldUnsent(t *testing.T) {
	spec.Covers(t, "SC-161", "SC-A22")
	for name, tt := range map[string]struct {
		events func(*harness)
		held   bool
	}{
		"failure, Hold": {func(h *harness) { h.unsent(); h.say(6, true) }, true},
		"Hold, failure": {func(h *harness) { h.say(6, true); h.unsent() }, true},
		"failure, release that overtakes the Hold": {func(h *harness) { h.unsent(); h.words = 1; h.say(6, false) }, false},
		"Hold, release, failure, copy of the Hold": {func(h *harness) { h.say(6, true); h.say(6, false); h.unsent(); h.words = 0; h.say(6, true) }, false},
		"Hold, three failures":                     {func(h *harness) { h.say(6, true); h.unsent(); h.unsent(); h.unsent() }, true},
		"part of the reply, failure": {func(h *harness) {
			h.childReplies(6, func(r *wire.ReplyHeader, _ *Input) { r.Flags = 0 })
			h.unsent()
		}, false},
	} {
		h := waitsForOne(t)
		tt.events(h)
		c, r := &h.m.requests.get(h.id).children[0], h.header()
		last := h.now + childTimeout(&r, 2, 0)
		if r.Hold = testHold; tt.held {
			last += h.m.holdTime(&r, 2)
		}
		if c.state != waiting || c.at != last {
			t.Errorf("%s: state %d, given up after %v, want %v", name, c.state, c.at-h.now, last-h.now)
		}
		h.advance()
		if h.m.stats.Retries > 0 {
			t.Errorf("%s: sent again", name)
		}
	}
}

// TestHoldForgedUnsent: a Hold that the child cannot have sent does not show that the request has arrived.
func TestHoldForgedUnsent(t *testing.T) {
	spec.Covers(t, "SC-161")
	h := waitsForOne(t)
	h.unsent()
	h.words = uint64(2 * h.m.requests.get(h.id).children[0].Size)
	h.say(6, true) // its number is too high
	h.words = 0
	h.say(6, false) // the first Hold of a child is no release
	if h.advance(); h.m.stats.Retries != 1 || h.m.stats.Late != 2 {
		t.Errorf("%+v", h.m.stats)
	}
}

// TestUnsentInTime: SC-A8, SC-A22: sending the request to a child fails, at the soonest or just before the module answers
// in place of the service, and the child is silent. The wait for it ends early enough for the service of this node to
// answer: only the child is missing.
func TestUnsentInTime(t *testing.T) {
	spec.Covers(t, "SC-A8", "SC-A22")
	for _, left := range []time.Duration{testRTT + testGuard, testGuard + 1, time.Millisecond} {
		h := newHarness(t, 8, 4, nil) // node 4 has the children 6 and 5
		h.running(nil)
		limit := h.m.requests.get(h.id).limit
		h.childReplies(5, nil)
		h.step(Input{Kind: InReply, Child: 1})
		h.now = limit - left
		h.unsent()
		for h.m.requests.get(h.id).children[0].state != done {
			h.advance()
		}
		if h.now >= limit || h.m.stats.Silent > 0 {
			t.Errorf("fails %v before the module answers: the wait ends at %v, the service's time at %v", left, h.now, limit)
		}
	}
}

// waitsForOne returns the machine of member 4 of 8, which waits only for the reply of its child 6.
func waitsForOne(t *testing.T) *harness {
	t.Helper()
	h := crowded(t, 9)
	h.another(1, nil)
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InIncoming})
	h.childReplies(5, nil)
	h.step(Input{Kind: InReply, Child: 1})
	return h
}
