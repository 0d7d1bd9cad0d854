package portals_test

import (
	"pgregory.net/rapid"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// drawHeader draws a header, which names the sending process.
func drawHeader(t *rapid.T) (h wire.Header) {
	from := drawSource(t)
	h.SrcNID, h.SrcPID, h.DestNID, h.DestPID = from.NID, from.PID, here.NID, here.PID
	return h
}

func drawLength(t *rapid.T) uint32 { return uint32(rapid.IntRange(0, 14).Draw(t, "length")) }

func drawOffset(t *rapid.T) uint32 {
	return rapid.SampledFrom([]uint32{0, 1, 5, 12, 13, 1<<32 - 1}).Draw(t, "offset")
}

// drawAnswered draws the handle that an ACK or REPLY names.
func (r *modelRun) drawAnswered(t *rapid.T) wire.MDHandle {
	h := wire.NoHandle()
	if d := pick(t, "MD", r.mds); d != nil {
		h = handle(d.handle)
	}
	if rapid.IntRange(0, 19).Draw(t, "earlier life") == 19 {
		h.Interface--
	}
	return h
}

func (r *modelRun) arrivePut(t *rapid.T) {
	h := drawHeader(t)
	c := wire.PutCmd{
		AckMD: wire.NoHandle(), Portal: uint32(rapid.IntRange(0, 2).Draw(t, "portal")), MatchBits: drawBits(t),
		Offset: drawOffset(t), HdrData: rapid.Uint64().Draw(t, "header data"),
	}
	if drawBool(t, "ack") {
		c.AckMD = handle(77)
	}
	h.PayloadLength = drawLength(t)
	h.SetPut(c)
	r.arrival(t, h)
}

func (r *modelRun) arriveGet(t *rapid.T) {
	h := drawHeader(t)
	h.SetGet(wire.GetCmd{
		ReturnMD: handle(77), Portal: uint32(rapid.IntRange(0, 2).Draw(t, "portal")), MatchBits: drawBits(t),
		SrcOffset: drawOffset(t), SinkLength: drawLength(t),
	})
	r.arrival(t, h)
}

func (r *modelRun) arriveAck(t *rapid.T) {
	h := drawHeader(t)
	h.SetAck(wire.AckCmd{DstMD: r.drawAnswered(t), MatchBits: drawBits(t), MLength: drawLength(t)})
	r.arrival(t, h)
}

func (r *modelRun) arriveReply(t *rapid.T) {
	h := drawHeader(t)
	h.PayloadLength = drawLength(t)
	h.SetReply(wire.ReplyCmd{DstMD: r.drawAnswered(t)})
	r.arrival(t, h)
}

// newArrival adds a message that arrives to the model.
func (r *modelRun) newArrival(h wire.Header) *modelArrival {
	a := &modelArrival{name: r.arrivals, header: h, primary: h.SrcNID}
	if h.SrcNID == beside.NID {
		a.primary = there.NID
	}
	r.arrivals++
	return a
}

// arrival makes a message arrive whose payload follows later.
func (r *modelRun) arrival(t *rapid.T, h wire.Header) {
	a := r.newArrival(h)
	d := &lnd.Delivery{Header: h, From: nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}}
	r.deliveries[a] = d
	answer, err := r.net.up.Parse(d)
	if err != nil {
		t.Fatal(err)
	}
	held := r.arrive(a)
	if held != (answer == lnd.Hold) {
		t.Fatalf("message %d held: %v, want %v", a.name, answer == lnd.Hold, held)
	}
	if a.md != nil {
		r.coming = append(r.coming, a)
		t.Logf("message %d goes into MD %d", a.name, a.md.name)
	}
}
