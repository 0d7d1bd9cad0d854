package portals_test

import (
	"bytes"

	"pgregory.net/rapid"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// batchedPut makes PUTs arrive in a batch (lnd.Batcher). If the table posts each ACK alone (r.acks is 1),
// one PUT arrives and the batch may go on, so that other steps can come between its PUTs. Otherwise an ACK
// can wait in the table until the next PUT of the batch. In the model no ACK waits for a later step, so the
// whole batch then arrives in this step.
func (r *modelRun) batchedPut(t *rapid.T) {
	if r.acks == 1 {
		r.putInBatch(t)
		return
	}
	for range rapid.IntRange(1, 12).Draw(t, "PUTs") {
		r.putInBatch(t)
	}
	r.endBatch()
}

// putInBatch makes a PUT of a batch arrive. Most have the header of the PUT before, for the same entry, and a
// payload that has come along with the header.
func (r *modelRun) putInBatch(t *rapid.T) {
	begins := r.batch == nil
	if begins {
		r.batch = new(lnd.Delivery)
	}
	d := r.batch
	h := r.drawBatched(t, begins)
	d.Repeats = !begins && h.SrcNID == d.Header.SrcNID && h.SrcPID == d.Header.SrcPID
	d.Header, d.From = h, nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}
	a := r.newArrival(h)
	fill := byte(a.name + 1)
	if rapid.IntRange(0, 4).Draw(t, "payload comes later") < 4 {
		d.Data = bytes.Repeat([]byte{fill}, int(h.PayloadLength))
	}
	d.More = rapid.IntRange(0, 5).Draw(t, "last") < 5
	r.deliveries[a] = d
	answer, err := r.net.up.Parse(d)
	if err != nil {
		t.Fatal(err)
	}
	want := lnd.Accept
	switch held := r.arrive(a); {
	case held:
		want = lnd.Hold
	case a.md != nil && d.Data != nil:
		want = lnd.Taken
	}
	if answer != want {
		t.Fatalf("message %d is answered with %v, want %v", a.name, answer, want)
	}
	d.Data = nil
	switch {
	case answer == lnd.Taken:
		r.model.deliver(a, fill, nil)
	case answer == lnd.Accept && a.md != nil:
		r.bring(a, nil)
	case answer == lnd.Accept:
		r.net.up.Delivered(d, nil)
	}
	if answer == lnd.Hold || !d.More {
		r.endBatch()
	}
}

// drawBatched draws the header of a PUT in a batch.
func (r *modelRun) drawBatched(t *rapid.T, begins bool) wire.Header {
	h := wire.Header{}
	c := wire.PutCmd{AckMD: wire.NoHandle()}
	if !begins {
		h, c.Portal, c.MatchBits = r.batch.Header, r.batch.Header.Put().Portal, r.batch.Header.Put().MatchBits
	}
	if begins || rapid.IntRange(0, 5).Draw(t, "other source") == 5 {
		h = drawHeader(t)
	}
	if begins || rapid.IntRange(0, 5).Draw(t, "other entry") == 5 {
		c.Portal, c.MatchBits = uint32(rapid.IntRange(0, 2).Draw(t, "portal")), drawBits(t)
	}
	c.Offset, c.HdrData = drawOffset(t), rapid.Uint64().Draw(t, "header data")
	if drawBool(t, "ack") {
		c.AckMD = handle(77)
	}
	h.PayloadLength = drawLength(t)
	h.SetPut(c)
	return h
}

// endBatch ends the batch, if there is one.
func (r *modelRun) endBatch() {
	if r.batch != nil {
		r.net.up.(lnd.Batcher).EndBatch(r.batch)
		r.batch = nil
	}
}

func (r *modelRun) batchEnds(*rapid.T) { r.endBatch() }

// batchedAcks makes equal ACKs arrive in a batch. Their events come when another message arrives or the
// batch ends.
func (r *modelRun) batchedAcks(t *rapid.T) {
	if r.batch == nil {
		r.batch = new(lnd.Delivery)
	}
	d, h := r.batch, drawHeader(t)
	h.SetAck(wire.AckCmd{DstMD: r.drawAnswered(t), MatchBits: drawBits(t), MLength: drawLength(t)})
	n := rapid.IntRange(1, 5).Draw(t, "ACKs")
	last := rapid.IntRange(0, 3).Draw(t, "last") == 3
	var taken []*modelArrival
	for i := 0; i < n; i++ {
		d.Header, d.From, d.Repeats = h, nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}, i > 0
		d.Data, d.More = []byte{}, i < n-1 || !last
		a := r.newArrival(h)
		r.deliveries[a] = d
		answer, err := r.net.up.Parse(d)
		switch d.Data = nil; {
		case err != nil || answer == lnd.Hold:
			t.Fatal(answer, err)
		case answer == lnd.Taken:
			taken = append(taken, a)
			i += r.acksAgain(t, h, n-1-i, last, &taken)
		default:
			if r.arrive(a); a.md != nil {
				r.bring(a, nil)
			} else {
				r.net.up.Delivered(d, nil)
			}
		}
	}
	if d.More {
		r.endBatch()
	}
	for _, a := range taken {
		r.arrive(a)
		r.model.deliver(a, 0, nil)
	}
	r.endBatch()
}

// acksAgain calls Again for some of the n messages that follow the latest one and are equal to it; all have
// the header h. It appends the messages for which it calls Again to taken, and returns their number. If last
// is set, the last of the n messages ends the batch, and Again is not called for it.
func (r *modelRun) acksAgain(t *rapid.T, h wire.Header, n int, last bool, taken *[]*modelArrival) int {
	if last {
		n = max(n-1, 0)
	}
	k := rapid.IntRange(0, n).Draw(t, "at once")
	if k == 0 {
		return 0
	}
	if !r.net.up.(lnd.Batcher).Again(r.batch, k) {
		t.Fatalf("%d ACKs that are equal to one of a run are refused", k)
	}
	for range k {
		a := r.newArrival(h)
		r.deliveries[a] = r.batch
		*taken = append(*taken, a)
	}
	return k
}
