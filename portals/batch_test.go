package portals_test

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// batch is a connection on which PUTs to portal 5 arrive in one batch, numbered from 1 in their
// header data and their payload.
type batch struct {
	t     *testing.T
	net   *network
	d     lnd.Delivery
	from  nid.ProcessID
	count int

	differs bool // the next PUT has another header than the one before
	last    bool // the next PUT is the last message of the batch
}

func newBatch(t *testing.T, net *network) *batch { return &batch{t: t, net: net, from: there} }

// put makes the next PUT arrive and compares lnet's answer with want.
func (b *batch) put(want lnd.Answer, tweaks ...func(*wire.PutCmd)) {
	b.t.Helper()
	b.count++
	c := wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, HdrData: uint64(b.count)}
	for _, tweak := range tweaks {
		tweak(&c)
	}
	b.d.Repeats = b.count > 1 && !b.differs
	b.differs = false
	b.d.Header, b.d.From = from(b.from, putHeader(1, c)), b.from
	b.d.Data, b.d.More = []byte{byte(b.count)}, !b.last
	answer, err := b.net.up.Parse(&b.d)
	if answer != want || err != nil {
		b.t.Errorf("PUT %d: answer %v, %v, want %v", b.count, answer, err, want)
	}
	if answer == lnd.Accept {
		b.d.Data = nil
		b.net.receive(&b.d, nil)
	}
}

func (b *batch) end() { b.net.up.(lnd.Batcher).EndBatch(&b.d) }

// received returns the header data of the PUT events in a log, with "!" behind the last event of an MD.
func (l *log) received() (got []string) {
	for _, e := range l.events {
		if e.Kind == portals.EventPut {
			text := fmt.Sprint(e.HdrData)
			if e.Unlinked {
				text += "!"
			}
			got = append(got, text)
		}
	}
	return got
}

func wantReceived(t *testing.T, what string, l *log, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.received()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestBatchChanges: a handler changes something while a batch is being received. The change takes effect from
// the next message of the batch on.
func TestBatchChanges(t *testing.T) {
	type state struct {
		*harness
		net           *network
		first, second log
		firstMD       portals.MDHandle
		firstME       portals.MEHandle
	}
	attach := func(s *state, l *log, pos portals.InsertPosition, act func(e *portals.Event)) (portals.MEHandle, portals.MDHandle) {
		me, err := s.MEAttach(5, portals.Match{}, portals.Retain, pos)
		if err != nil {
			s.t.Fatal(err)
		}
		md, err := s.MDAttach(me, portals.MD{
			Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote,
			Handler: func(e *portals.Event) {
				l.handle(e)
				if act != nil && e.Kind == portals.EventPut && e.HdrData == 3 {
					act(e)
				}
			},
		}, portals.Retain)
		if err != nil {
			s.t.Fatal(err)
		}
		return me, md
	}
	must := func(t *testing.T, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	five := []string{"1", "2", "3", "4", "5"}
	for name, c := range map[string]struct {
		act           func(t *testing.T, s *state, e *portals.Event)
		first, second []string
		drops         map[string]uint64
	}{
		"nothing": {act: func(*testing.T, *state, *portals.Event) {}, first: five},
		"its own MD is unlinked": {
			act:   func(t *testing.T, s *state, _ *portals.Event) { must(t, s.MDUnlink(s.firstMD)) },
			first: five[:3], second: five[3:],
		},
		"its own ME is unlinked": {
			act:   func(t *testing.T, s *state, _ *portals.Event) { must(t, s.MEUnlink(s.firstME)) },
			first: five[:3], second: five[3:],
		},
		"an entry comes before": {
			act:   func(_ *testing.T, s *state, _ *portals.Event) { attach(s, &s.second, portals.Before, nil) },
			first: five[:3], second: five[3:],
		},
		"the event": {
			act:   func(_ *testing.T, _ *state, e *portals.Event) { *e = portals.Event{Kind: portals.EventAck} },
			first: five,
		},
		"the sender fails": {
			act:   func(t *testing.T, s *state, _ *portals.Event) { must(t, s.Node().FailNID(there.NID, 1)) },
			first: []string{"1", "2", "3", "5"}, drops: map[string]uint64{"simulated failure": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			s := &state{harness: &harness{Table: table, t: t, self: here}, net: net}
			s.firstME, s.firstMD = attach(s, &s.first, portals.After, func(e *portals.Event) { c.act(t, s, e) })
			attach(s, &s.second, portals.After, nil)
			b := newBatch(t, net)
			for n := range 5 {
				want := lnd.Taken
				if c.drops != nil && n == 3 {
					want = lnd.Accept
				}
				b.put(want)
			}
			b.end()
			wantReceived(t, "first MD", &s.first, c.first...)
			wantReceived(t, "second MD", &s.second, c.second...)
			if diff := cmp.Diff(c.drops, s.drops()); diff != "" && len(c.drops)+len(s.drops()) > 0 {
				t.Errorf("drops (-want +got):\n%s", diff)
			}
			if n := s.Node().Stats().RecvCount; n != uint64(len(c.first)+len(c.second)) {
				t.Errorf("%d messages were counted", n)
			}
		})
	}
}

// TestBatchSilent: an MD without handler and EQ takes the PUTs of a batch until it is exhausted. They are
// counted and acknowledged, and then the slot of the MD is free.
func TestBatchSilent(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	me, err := h.MEAttach(5, portals.Match{}, portals.Unlink, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 8)
	silent, err := h.MDAttach(me, portals.MD{Segments: []lnd.Segment{memory}, Threshold: 3, Options: portals.OpPut}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	var l log
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: l.handle,
	})
	b := newBatch(t, net)
	for range 5 {
		b.put(lnd.Taken, wanting(7))
	}
	b.end()
	wantReceived(t, "the other MD", &l, "4", "5")
	if want := []byte{1, 2, 3, 0, 0, 0, 0, 0}; !bytes.Equal(memory, want) {
		t.Errorf("memory %v, want %v", memory, want)
	}
	acks := 0
	for _, m := range net.waiting() {
		acks += m.Owner.(*lnd.Inline).Messages()
	}
	if n := h.Node().Stats().RecvCount; n != 5 || acks != 5 {
		t.Errorf("%d messages were counted, %d ACKs sent", n, acks)
	}
	if err := h.MDUnlink(silent); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("the exhausted MD: %v", err)
	}
	if next, err := h.MDBind(portals.MD{}, portals.Retain); err != nil || next>>2&0xffffff != silent>>2&0xffffff {
		t.Errorf("the MD after it: %#x, %v, want the slot of %#x", next, err, silent)
	}
}

// TestBatchQueue: an MD with a queue and without a handler has an event for each PUT of a batch.
func TestBatchQueue(t *testing.T) {
	spec.Covers(t, "PT-13")
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	q, err := h.NewEQ(8)
	if err != nil {
		t.Fatal(err)
	}
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, EQ: q,
	})
	b := newBatch(t, net)
	for range 3 {
		b.put(lnd.Taken)
	}
	b.end()
	for want := uint64(1); want <= 3; want++ {
		if e, ok, err := q.Get(); !ok || err != nil || e.HdrData != want {
			t.Errorf("event %v, %t, %v, want that of PUT %d", &e, ok, err, want)
		}
	}
}

// TestBatchOtherSource: in a batch, a PUT of another process is dropped. The next PUT, which
// repeats its header, must not go to the MD that took the PUTs of the first process.
func TestBatchOtherSource(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	var l log
	h.post(5, portals.Match{ID: there}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: l.handle,
	})
	b := newBatch(t, net)
	b.put(lnd.Taken)
	b.put(lnd.Taken)
	b.from, b.differs = stranger, true
	b.put(lnd.Accept)
	b.put(lnd.Accept)
	b.from, b.differs = there, true
	b.put(lnd.Taken)
	b.end()
	wantReceived(t, "MD for one process", &l, "1", "2", "5")
}

// TestBatchPeerKnown: discovery learns another primary NID of the sender while a batch is being
// received; the next event has it.
func TestBatchPeerKnown(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	var l log
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: l.handle,
	})
	b := newBatch(t, net)
	b.put(lnd.Taken)
	b.put(lnd.Taken)
	table.Node().SetPeer(lnet.Peer{Primary: beside.NID, NIs: []wire.NIStatus{{NID: beside.NID}, {NID: there.NID}}})
	b.put(lnd.Taken)
	b.end()
	want := []nid.NID{there.NID, there.NID, beside.NID}
	for i, e := range l.events {
		if e.Initiator.NID != want[i] || e.Source != there {
			t.Errorf("event %d is from %v, sent from %v", i, e.Initiator, e.Source)
		}
	}
}

// TestBatchBusy: while a goroutine is in the handler of an MD, messages for the MD come in a batch. Their
// events wait in order, and the batch goes on.
func TestBatchBusy(t *testing.T) {
	slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
		b := newBatch(t, s.net)
		for range 3 {
			b.put(lnd.Accept)
		}
		b.end()
		if len(s.events) != 1 {
			t.Fatalf("%d events while the handler runs", len(s.events))
		}
		s.open()
		if diff := cmp.Diff([]uint64{1, 1, 2, 3}, headerData(s.events)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// TestBatchCrowded: if the handler is too far behind, a message of a batch is held, and is
// delivered after the earlier ones.
func TestBatchCrowded(t *testing.T) {
	slowly(t, portals.MD{}, func(t *testing.T, s *slow) {
		s.put(portals.MaxPending)
		b := newBatch(t, s.net)
		b.put(lnd.Hold)
		b.end()
		s.net.held++
		s.open()
		got := headerData(s.events)
		if len(got) != portals.MaxPending+2 || got[len(got)-1] != 1 {
			t.Errorf("%d events, the last one of PUT %d", len(got), got[len(got)-1])
		}
	})
}

func headerData(events []portals.Event) (got []uint64) {
	for _, e := range events {
		got = append(got, e.HdrData)
	}
	return got
}

// TestBatchMayBlock: the handler of an MD with MayBlock runs in a goroutine of its own, also
// for messages of a batch.
func TestBatchMayBlock(t *testing.T) {
	slowly(t, portals.MD{Options: portals.MayBlock}, func(t *testing.T, s *slow) {
		b := newBatch(t, s.net)
		b.put(lnd.Accept)
		b.put(lnd.Accept)
		b.end()
		s.open()
		if diff := cmp.Diff([]uint64{1, 1, 2}, headerData(s.events)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// TestBatchThreshold: an MD takes as many messages of a batch as its threshold allows, and the last event has
// Unlinked set.
func TestBatchThreshold(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t, self: here}
	var first, second log
	md := portals.MD{Segments: []lnd.Segment{make([]byte, 3)}, Threshold: 3, Options: portals.OpPut, Handler: first.handle}
	h.post(5, portals.Match{}, md)
	md.Threshold, md.Options, md.MaxSize, md.Handler = inf, portals.OpPut|portals.HasMaxSize, 1, second.handle
	h.post(5, portals.Match{}, md)
	b := newBatch(t, net)
	for range 6 {
		b.put(lnd.Taken)
	}
	b.put(lnd.Accept)
	b.end()
	wantReceived(t, "MD with a threshold", &first, "1", "2", "3!")
	wantReceived(t, "MD with a maximal size", &second, "4", "5", "6!")
	if diff := cmp.Diff(map[string]uint64{"no match": 1}, h.drops()); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
}
