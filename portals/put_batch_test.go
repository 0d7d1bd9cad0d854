package portals_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// batchOf returns a batch of PUTs of one byte each to the targets.
func batchOf(md portals.MDHandle, targets ...nid.ProcessID) (r portals.PutBatchRequest) {
	r.MD = md
	for i, to := range targets {
		r.Puts = append(r.Puts, portals.PutRequest{
			Target: to, Portal: 5, MatchBits: uint64(i), HdrData: uint64(10 + i), LocalOffset: i, Length: 1, OpPtr: i,
		})
	}
	return r
}

// batchMD binds the bytes "abcd" for operations, each of one byte.
func batchMD(h *harness, threshold int, handler func(*portals.Event)) portals.MDHandle {
	return h.bind(portals.MD{Segments: []lnd.Segment{[]byte("ab"), []byte("cd")}, Threshold: threshold, Handler: handler})
}

// TestPutBatch (PT-38): every PUT of a batch leaves with its own target, match bits, header data and part of
// the MD, and its events have its OpPtr. The MD ends with the last event.
func TestPutBatch(t *testing.T) {
	spec.Covers(t, "PT-38")
	table, net := newWire(t)
	meet(t, table, net)
	var l log
	h := &harness{Table: table, t: t, self: here}
	r := batchOf(batchMD(h, 4, l.handle), there, stranger, there)
	r.Puts[2].Ack = true
	if err := table.PutBatch(r); err != nil {
		t.Fatal(err)
	}
	clear(r.Puts) // after PutBatch the caller may change r.Puts
	for i, to := range []nid.ProcessID{there, stranger, there} {
		m := net.next()
		put := m.Header.Put()
		if m.Target.NID != to.NID || put.MatchBits != uint64(i) || put.HdrData != uint64(10+i) || bytesOf(m) != string("abc"[i]) {
			t.Errorf("PUT %d to %v: %+v, %q", i, m.Target, put, bytesOf(m))
		}
		if i == 2 {
			net.mustArrive(t, ackHeader(put.AckMD, 1)) // the ACK arrives before the SEND event of its PUT
		}
		net.finalize(m, nil)
	}
	want := []string{"SEND 0", "SEND 1", "ACK 2", "SEND 2!"}
	if diff := cmp.Diff(want, l.pointers()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// pointers returns the kinds of the events so far with their OpPtr. The last event of an MD has "!" at the
// end.
func (l *log) pointers() (list []string) {
	for _, e := range l.events {
		text := fmt.Sprint(e.Kind, " ", e.OpPtr)
		if e.Unlinked {
			text += "!"
		}
		list = append(list, text)
	}
	return list
}

// TestPutBatchOneSend (PT-38): a batch has one SEND event, after the last of its PUTs has left, whether its
// PUTs leave as several inline messages in one write, as a single one, or not inline. A PUT outside the
// batch, which leaves in the same write as the first ones, has an event of its own.
func TestPutBatchOneSend(t *testing.T) {
	spec.Covers(t, "PT-38")
	table, net := newWire(t)
	meet(t, table, net)
	var l log
	h := &harness{Table: table, t: t, self: here}
	r := batchOf(batchMD(h, 5, l.handle), there, there, stranger, there)
	r.OneSend, r.OpPtr = true, "all"
	alone := portals.PutRequest{MD: r.MD, Target: there, Portal: 5, OpPtr: "alone"}
	if err := errors.Join(table.Put(alone), table.PutBatch(r)); err != nil {
		t.Fatal(err)
	}
	first, a, b, strange, c := net.next(), net.next(), net.next(), net.next(), net.next()
	net.leave(first, a, b)
	net.finalize(strange, nil)
	if got, want := l.pointers(), []string{"SEND alone"}; !slices.Equal(got, want) {
		t.Errorf("events %v before the last PUT has left, want %v", got, want)
	}
	net.finalize(c, nil)
	if got, want := l.pointers(), []string{"SEND alone", "SEND all!"}; !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	if e := l.events[1]; e.RLength != 4 || e.MLength != 4 || e.Err != nil || e.Target != there || e.HdrData != 10 {
		t.Errorf("event %+v", e)
	}
}

// TestPutBatchOneSendFails (PT-38): the SEND event tells which PUT failed first, and how much has left.
// The ACK of that PUT is not awaited any more; the ACKs of the other PUTs are.
func TestPutBatchOneSendFails(t *testing.T) {
	spec.Covers(t, "PT-38")
	table, net := newWire(t)
	meet(t, table, net)
	var l log
	h := &harness{Table: table, t: t, self: here}
	r := batchOf(batchMD(h, 8, l.handle), there, there, stranger, there)
	r.OneSend, r.OpPtr = true, "all"
	for i := range r.Puts {
		r.Puts[i].Ack = true
	}
	if err := table.PutBatch(r); err != nil {
		t.Fatal(err)
	}
	sent := []*lnd.Message{net.next(), net.next(), net.next(), net.next()}
	net.finalize(sent[0], nil)
	net.finalize(sent[2], syscall.ENETUNREACH)
	net.finalize(sent[1], syscall.EPIPE)
	net.finalize(sent[3], nil)
	for _, m := range sent {
		net.mustArrive(t, from(m.Target, ackHeader(m.Header.Put().AckMD, 1)))
	}
	if got, want := l.pointers(), []string{"SEND all", "ACK 0", "ACK 3"}; !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	e := l.events[0]
	if e.RLength != 4 || e.MLength != 2 || !errors.Is(e.Err, syscall.ENETUNREACH) || e.Target != stranger || e.HdrData != 12 || e.MatchBits != 2 {
		t.Errorf("event %+v", e)
	}
	wantDrops(t, table, map[string]uint64{"stale handle": 2})
}

// TestPutBatchOneSendWaits (PT-38): PUTs that waited for a credit share the SEND event, too, although
// they leave as inline messages in the end.
func TestPutBatchOneSendWaits(t *testing.T) {
	spec.Covers(t, "PT-38")
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock()})
	table, net := newWireOn(t, node, lnd.Tunables{PeerCredits: 1})
	meet(t, table, net)
	var l log
	r := batchOf(batchMD(&harness{Table: table, t: t, self: here}, 3, l.handle), there, there, there)
	r.OneSend = true
	if err := table.PutBatch(r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Puts {
		m := net.next()
		if _, inline := m.Owner.(*lnd.Inline); !inline {
			t.Errorf("PUT %d is no inline message", i)
		}
		net.finalize(m, nil)
		var want []string
		if i == len(r.Puts)-1 {
			want = []string{"SEND!"}
		}
		if got := l.take(); !slices.Equal(got, want) {
			t.Errorf("events %v after PUT %d, want %v", got, i, want)
		}
	}
}

// TestPutBatchUnlinked (PT-38): the handler of the first PUT unlinks the MD. PUTs that have left end
// without an error, PUTs that wait for a credit fail, and the MD ends with the last PUT.
func TestPutBatchUnlinked(t *testing.T) {
	spec.Covers(t, "PT-38")
	for _, one := range []bool{false, true} {
		node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock()})
		table, net := newWireOn(t, node, lnd.Tunables{PeerCredits: 2})
		meet(t, table, net)
		var l log
		h := &harness{Table: table, t: t, self: here}
		r := batchOf(batchMD(h, inf, l.handle), there, there, there)
		r.OneSend = one
		if err := table.PutBatch(r); err != nil {
			t.Fatal(err)
		}
		if err := table.MDUnlink(r.MD); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), nil)
		net.finalize(net.next(), nil)
		last := l.events[len(l.events)-1]
		failed := 0
		for _, e := range l.events {
			if errors.Is(e.Err, syscall.ECANCELED) {
				failed++
			}
		}
		if want := map[bool]int{false: 3, true: 1}[one]; len(l.events) != want || failed != 1 || !last.Unlinked {
			t.Errorf("one SEND: %t: %v, want %d events, one of them failed", one, l.events, want)
		}
	}
}

// TestPutBatchRefused (PT-38): a batch that cannot begin as a whole changes nothing, and the error names the
// target that is the reason.
func TestPutBatchRefused(t *testing.T) {
	spec.Covers(t, "PT-38")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, h *harness, r *portals.PutBatchRequest)
		want  string
	}{
		"no PUT":     {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.Puts = nil }, "PutBatch: invalid argument"},
		"no MD":      {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.MD += 1 << 30 }, "PutBatch: no such file or directory"},
		"threshold":  {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.Puts = append(r.Puts, r.Puts...) }, "PutBatch: no such file or directory"},
		"bad portal": {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.Puts[2].Portal = 64 }, "PutBatch to 10.0.0.4@tcp: invalid argument"},
		"bad part":   {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.Puts[2].Length = 5 }, "PutBatch to 10.0.0.4@tcp: invalid argument"},
		"other MD":   {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) { r.Puts[2].MD = r.MD + 1 }, "PutBatch to 10.0.0.4@tcp: invalid argument"},
		"too many": {func(_ *testing.T, _ *harness, r *portals.PutBatchRequest) {
			r.Puts = slices.Repeat(r.Puts[:1], portals.MaxBatch+1)
		}, "PutBatch: invalid argument"},
		"failing": {func(t *testing.T, h *harness, r *portals.PutBatchRequest) {
			if err := h.Node().FailNID(stranger.NID, 1); err != nil {
				t.Fatal(err)
			}
		}, "PutBatch to 10.0.0.4@tcp: input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			var l log
			h := &harness{Table: table, t: t, self: here}
			r := batchOf(batchMD(h, 5, l.handle), there, there, stranger)
			good := r
			good.Puts = slices.Clone(r.Puts)
			for i := range r.Puts {
				r.Puts[i].Ack = true
			}
			c.spoil(t, h, &r)
			err := table.PutBatch(r)
			if e := (*portals.OpError)(nil); !errors.As(err, &e) || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if m := net.next(); m != nil || len(l.events) > 0 {
				t.Errorf("sent %v, events %v", m, l.events)
			}
			good.MD = batchMD(h, 3, l.handle)
			if err := table.PutBatch(good); err != nil {
				t.Errorf("a batch afterwards: %v", err)
			}
		})
	}
}

// TestPutBatchLarge: PUTs of all sizes leave in the order of the batch.
func TestPutBatchLarge(t *testing.T) {
	table, net := newWire(t)
	meet(t, table, net)
	h := &harness{Table: table, t: t, self: here}
	var l log
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 4096)}, Threshold: 3, Handler: l.handle})
	r := batchOf(md, there, there, there)
	r.OneSend, r.Puts[1].Length = true, lnd.MaxInline+1
	if err := table.PutBatch(r); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, lnd.MaxInline + 1, 1} {
		m := net.next()
		if m.Payload.Length != want || m.Header.Put().MatchBits != uint64(i) {
			t.Errorf("PUT %d has %d bytes, match bits %d", i, m.Payload.Length, m.Header.Put().MatchBits)
		}
		net.finalize(m, nil)
	}
	if got := l.take(); !slices.Equal(got, []string{"SEND!"}) {
		t.Errorf("events %v", got)
	}
}

// TestPutBatchAllocates: a batch allocates nothing, whether it has one SEND event or many.
func TestPutBatchAllocates(t *testing.T) {
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	h := newHarness(t)
	events := 0
	count := func(*portals.Event) { events++ }
	h.post(5, portals.Match{Ignore: ^uint64(0)}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: count,
	})
	r := batchOf(0, slices.Repeat([]nid.ProcessID{h.self}, 4)...)
	for i := range r.Puts {
		r.Puts[i].Ack = true
	}
	segments := []lnd.Segment{make([]byte, 4)}
	for _, r.OneSend = range []bool{false, true} {
		events = 0
		const runs = 1000
		allocs := testing.AllocsPerRun(runs, func() {
			r.MD = h.bind(portals.MD{Segments: segments, Threshold: 8, Handler: count})
			if err := h.PutBatch(r); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("one SEND: %t: %v allocations", r.OneSend, allocs)
		}
		if want := (runs + 1) * map[bool]int{false: 12, true: 9}[r.OneSend]; events != want {
			t.Errorf("one SEND: %t: %d events, want %d", r.OneSend, events, want)
		}
	}
}
