package engine_test

import (
	"bytes"
	"encoding/hex"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/selftest/wire"
)

// compareReply compares a recorded reply with ours.
func (r *replay) compareReply(m *recording.Message) {
	r.t.Helper()
	e, ok := r.replies[m.Bits]
	if !ok {
		r.t.Errorf("at %v our node has no reply to %#x", r.now, m.Bits)
		return
	}
	delete(r.replies, m.Bits)
	r.seen.replies++
	r.compareEnds(&e, m)
	want, err := r.differ.Adapt(m.Data, e.Data)
	if err != nil || !bytes.Equal(want, e.Data) {
		r.t.Errorf("reply to %#x: %v (-kernel +ours):\n%s", m.Bits, err, cmp.Diff(hex.Dump(want), hex.Dump(e.Data)))
	}
	r.differ.Note(m.Data, e.Data)
}

// compareEnds: replies and bulk data go from the NID that the request was sent to, to its sender.
func (r *replay) compareEnds(e *engine.Effect, m *recording.Message) {
	r.t.Helper()
	if e.Peer != m.To || e.Self != m.From.NID {
		r.t.Errorf("%#x goes from %v to %v, the kernel's from %v to %v", m.Bits, e.Self, e.Peer, m.From, m.To)
	}
}

// compareCall finds the request of our node that corresponds to a recorded request, and notes which match
// bits ours has for its reply and its bulk data. Our requests to one service of one node must leave in
// the recorded order.
func (r *replay) compareCall(m *recording.Message) {
	r.t.Helper()
	for i := range r.calls {
		e := r.calls[i]
		if uint64(e.Service) != m.Bits || r.first(e.Peer.NID) != r.first(m.To.NID) || e.Peer.PID != m.To.PID {
			continue
		}
		want, err := r.differ.Adapt(m.Data, e.Data)
		if err != nil || !bytes.Equal(want, e.Data) {
			r.t.Fatalf("at %v our node sends another request than %+v: %v (-kernel +ours):\n%s", r.now, m.Parse(r.t).Body, err, cmp.Diff(hex.Dump(want), hex.Dump(e.Data)))
		}
		r.calls = append(r.calls[:i], r.calls[i+1:]...)
		r.seen.calls++
		r.differ.Note(m.Data, e.Data)
		r.sentCalls[e.ID], r.sentCalls[e.Bits] = e, e
		return
	}
	r.t.Fatalf("at %v our node does not send %+v", r.now, m.Parse(r.t).Body)
}

// call returns the RPC of our node that corresponds to the recorded RPC whose reply or bulk data has the
// match bits recorded.
func (r *replay) call(recorded uint64) (e engine.Effect, ok bool) {
	e, ok = r.sentCalls[r.differ.Own(recorded)]
	return e, ok
}

// compareMove compares a recorded PUT or GET, by which a server moves bulk data, with that of our node.
func (r *replay) compareMove(m *recording.Message) {
	r.t.Helper()
	e, ok := r.moves[m.Bits]
	if !ok {
		r.t.Errorf("at %v our node moves no data of %#x", r.now, m.Bits)
		return
	}
	delete(r.moves, m.Bits)
	r.compareEnds(&e, m)
	if e.Kind == engine.DoPut {
		r.compareData(&e, m)
		return
	}
	r.seen.moves++
	if e.Length != m.Length {
		r.t.Errorf("gets %d bytes of %#x, the kernel %d", e.Length, m.Bits, m.Length)
	}
	r.getting[m.Bits] = e
	if !m.Answered {
		r.step(engine.Input{Kind: engine.Moved, ID: e.ID})
	}
}

// compareData compares recorded bulk data with what our node sends in their place.
func (r *replay) compareData(e *engine.Effect, m *recording.Message) {
	r.t.Helper()
	r.seen.moves++
	ours := make([]byte, e.Length)
	engine.Fill(ours, e.Check)
	if e.Length != m.Length || m.Data != nil && !bytes.Equal(r.differ.AdaptData(m.Bits, 0, m.Data, ours), ours) {
		r.t.Errorf("%d bytes of %#x are others than the kernel's %d", e.Length, m.Bits, m.Length)
	}
}

// moved tells our node, as client, that the recorded server has put the bulk data of one of its RPCs.
func (r *replay) moved(call *engine.Effect, m *recording.Message) {
	r.seen.moves++
	good := m.Data == nil || engine.Verify(m.Data, call.Check, false)
	if !good {
		r.t.Errorf("our client takes the data of %#x for damaged", m.Bits)
	}
	r.step(engine.Input{Kind: engine.Bulk, ID: call.ID, Failed: m.Length != call.Length, Corrupt: !good})
}

// got tells our node, as server, that the data of its GET have arrived, which the recorded client sent.
func (r *replay) got(e *engine.Effect, m *recording.Message) {
	delete(r.getting, m.Bits)
	good := e.List || engine.Verify(m.Data, e.Check, e.BigEndian)
	if !good {
		r.t.Errorf("our server takes the data of %#x for damaged", m.Bits)
	}
	r.step(engine.Input{Kind: engine.Moved, ID: e.ID, Data: m.Data, Failed: m.Length != e.Length && !e.List, Corrupt: !good})
}

// over fails the test if our node has sent what the recorded one did not send, has counted a failure, or still has
// RPCs, transfers or a session.
func (r *replay) over() {
	for _, e := range r.replies {
		r.t.Errorf("our node alone replies to %#x", e.Bits)
	}
	for _, e := range r.moves {
		r.t.Errorf("our node alone moves data of %#x", e.Bits)
	}
	for _, e := range r.calls {
		r.t.Errorf("our node alone sends a request %#x to service %v", e.ID, e.Service)
	}
	for _, q := range r.own {
		r.t.Errorf("the recorded console does not come to %T after %d requests", q.body, q.sent)
	}
	s := r.node.Stats()
	if failed := uint64(s.Errors+s.Dropped+s.Expired+s.BRWErrors+s.PingErrors) + s.Malformed + s.NotAllowed + s.Overload + s.TimedOut; failed != 0 || s.Calls != 0 || s.Moving != 0 || s.Session != wire.NoSession() {
		r.t.Errorf("%+v", s)
	}
}
