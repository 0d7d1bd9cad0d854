package engine

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

// quietRequest plays a whole request at an inner node without allocating.
type quietRequest struct {
	h        *harness
	message  []byte
	replies  [2]Input
	sequence uint64
}

func newQuietRequest(t testing.TB, h *harness) *quietRequest {
	header := h.header()
	q := &quietRequest{h: h, message: append(header.AppendTo(nil), make([]byte, 2048)...)}
	for i, rank := range []int{6, 5} {
		r := wire.ReplyHeader{RootIncarnation: 7, Flags: wire.ReplyLast}
		q.replies[i] = Input{Kind: Return, From: h.members.NID(rank), Data: r.AppendTo(nil), Length: wire.ReplyHeaderSize}
	}
	return q
}

func (q *quietRequest) step(in Input) {
	q.h.out.Reset()
	q.h.m.Step(q.h.now, in, &q.h.out)
}

func (q *quietRequest) play() {
	q.sequence++
	header := q.h.header()
	header.Sequence, header.First, header.PayloadSize = q.sequence, q.sequence, 2048
	q.message = append(header.AppendTo(q.message[:0]), q.message[wire.RequestHeaderSize:]...)
	q.step(Input{Kind: Arrival, From: q.h.members.NID(0), Data: q.message})
	id := q.h.out.Effects[0].ID
	q.step(Input{Kind: InPreRequest, ID: id})
	bits := q.h.out.Effects[0].Bits
	q.step(Input{Kind: InIncoming, ID: id})
	for i := range q.replies {
		in := q.replies[i]
		in.Bits = bits
		r := wire.ReplyHeader{RootIncarnation: 7, Sequence: q.sequence, Flags: wire.ReplyLast}
		in.Data = r.AppendTo(in.Data[:0])
		q.step(in)
		q.step(Input{Kind: InReply, ID: id, Child: i})
	}
	q.step(Input{Kind: InPostReply, ID: id})
	q.step(Input{Kind: Answer, ID: id, Final: true, Size: 8})
	q.step(Input{Kind: InSent, ID: id, Child: Upward})
	q.step(Input{Kind: InReplyOut, ID: id})
}

// TestMachineAllocations: SC-155: a request costs the machine no allocation in
// the steady state.
func TestMachineAllocations(t *testing.T) {
	spec.Covers(t, "SC-155")
	h := newHarness(t, 8, 4, nil)
	h.running(nil) // makes the group known to the machine
	q := newQuietRequest(t, h)
	q.sequence = 1
	for range 10 {
		q.play()
	}
	if n := testing.AllocsPerRun(1000, q.play); n > 0 {
		t.Errorf("%v allocations per request", n)
	}
	if s := h.m.Stats(); s.Requests != 1012 || h.m.requests.active != 1 {
		t.Errorf("%+v, %d active", s, h.m.requests.active)
	}
}

func BenchmarkMachine(b *testing.B) {
	h := newHarness(&testing.T{}, 8, 4, nil)
	h.running(nil)
	q := newQuietRequest(b, h)
	q.sequence = 1
	b.ReportAllocs()
	for b.Loop() {
		q.play()
	}
}
