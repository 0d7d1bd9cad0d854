package portals_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// ackRun is an MD from which PUTs with ACKs were sent, and a connection on which ACKs arrive.
type ackRun struct {
	*harness
	log
	net *network
	d   lnd.Delivery
	md  portals.MDHandle
	act func(e *portals.Event) // what the handler does with an ACK event after logging it; nil: nothing
}

// newAckRun sends n PUTs of 8 bytes from an MD.
func newAckRun(t *testing.T, n int, conf portals.MD, unlink portals.UnlinkOption) *ackRun {
	table, net := newWire(t)
	r := &ackRun{harness: &harness{Table: table, t: t, self: here}, net: net}
	conf.Segments = []lnd.Segment{make([]byte, 8)}
	conf.Handler = func(e *portals.Event) {
		r.handle(e)
		if r.act != nil && e.Kind == portals.EventAck {
			r.act(e)
		}
	}
	var err error
	if r.md, err = r.MDBind(conf, unlink); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := r.Put(portals.PutRequest{MD: r.md, Target: there, Portal: 5, Ack: true}); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), nil)
	}
	r.take()
	return r
}

// arrive makes n equal messages arrive in one batch.
func (r *ackRun) arrive(n int, h wire.Header) {
	r.t.Helper()
	for i := range n {
		r.d.Header, r.d.From, r.d.Repeats = h, nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}, i > 0
		r.d.Data, r.d.More = []byte{}, true
		if answer, err := r.net.up.Parse(&r.d); answer != lnd.Taken || err != nil {
			r.t.Fatalf("ACK %d: answer %v, %v", i, answer, err)
		}
	}
}

func (r *ackRun) ack() wire.Header { return ackHeader(handle(r.md), 8) }

func (r *ackRun) end() { r.net.up.(lnd.Batcher).EndBatch(&r.d) }

func (r *ackRun) expect(what string, events []string, drops map[string]uint64) {
	r.t.Helper()
	if got := r.take(); !slices.Equal(got, events) {
		r.t.Errorf("%s: events %v, want %v", what, got, events)
	}
	if diff := cmp.Diff(drops, r.drops()); diff != "" && len(drops)+len(r.drops()) > 0 {
		r.t.Errorf("%s: drops (-want +got):\n%s", what, diff)
	}
}

func acks(n int) (list []string) {
	for range n {
		list = append(list, "ACK")
	}
	return list
}

// TestAckRun: equal ACKs of a batch have an event each. These events come at the end of the batch, or
// before the event of another message. ACKs that are not awaited are dropped and counted.
func TestAckRun(t *testing.T) {
	r := newAckRun(t, 5, portals.MD{Threshold: inf}, portals.Retain)
	r.arrive(3, r.ack())
	r.expect("before the end of the batch", nil, nil)
	other := r.ack()
	other.SetAck(wire.AckCmd{DstMD: handle(r.md), MLength: 7})
	r.arrive(1, other)
	r.expect("before another ACK", acks(3), nil)
	r.end()
	r.expect("at the end", acks(1), nil)
	r.arrive(3, r.ack())
	r.end()
	r.expect("more than were awaited", acks(1), map[string]uint64{"inactive MD": 2})
	stats := r.Node().Stats()
	if stats.RecvCount != 5 || stats.DropCount != 2 || r.Node().Stats().DropLength != 0 {
		t.Errorf("counters: %+v", stats)
	}
}

// TestAckRunAgain: messages that the driver has found to be equal to the latest ACK (lnet.Upper.Again) count
// like ACKs that it passes one by one. If the latest message is no ACK of a run, Again refuses them.
func TestAckRunAgain(t *testing.T) {
	r := newAckRun(t, 6, portals.MD{Threshold: inf}, portals.Retain)
	up := r.net.up.(lnd.Batcher)
	r.arrive(2, r.ack())
	if !up.Again(&r.d, 3) {
		t.Error("equal ACKs are refused")
	}
	r.expect("before the end of the batch", nil, nil)
	r.arrive(1, r.ack())
	if !up.Again(&r.d, 2) {
		t.Error("further equal ACKs are refused")
	}
	r.end()
	r.expect("two more than were awaited", acks(6), map[string]uint64{"inactive MD": 2})
	if s := r.Node().Stats(); s.RecvCount != 6 || s.DropCount != 2 {
		t.Errorf("counters: %+v", s)
	}
	if up.Again(&r.d, 1) {
		t.Error("ACKs are taken after the end of the batch")
	}
	r.post(5, portals.Match{Bits: 1}, portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut})
	r.arrive(1, r.ack())
	h := r.ack()
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 1, Portal: 5})
	r.arrive(1, h)
	if up.Again(&r.d, 1) {
		t.Error("PUTs are taken as ACKs")
	}
	r.end()
}

// TestAckRunLast: an ACK that is the last message of its read ends the run. The events of the run come at
// once, not at the end of the batch.
func TestAckRunLast(t *testing.T) {
	r := newAckRun(t, 3, portals.MD{Threshold: inf}, portals.Retain)
	r.arrive(2, r.ack())
	r.d.Repeats, r.d.More, r.d.Data = true, false, []byte{}
	if answer, err := r.net.up.Parse(&r.d); answer != lnd.Taken || err != nil {
		t.Fatal(answer, err)
	}
	r.expect("last ACK", acks(3), nil)
	r.end()
}

// TestAckRunPut: a PUT that follows a run of ACKs has its event after those of the ACKs.
func TestAckRunPut(t *testing.T) {
	r := newAckRun(t, 2, portals.MD{Threshold: inf}, portals.Retain)
	r.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: r.handle,
	})
	r.arrive(2, r.ack())
	r.d.Header, r.d.Repeats, r.d.Data = putHeader(1, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), false, []byte{1}
	if answer, err := r.net.up.Parse(&r.d); answer != lnd.Taken || err != nil {
		t.Fatal(answer, err)
	}
	r.expect("a PUT after ACKs", append(acks(2), "PUT"), nil)
	r.end()
}

// TestAckRunForged: an ACK is dropped if it comes from a process to which no PUT was sent, names more bytes
// than were sent, or names an MD that does not exist.
func TestAckRunForged(t *testing.T) {
	spec.Covers(t, "PT-32")
	for why, h := range map[string]func(r *ackRun) wire.Header{
		"not asked":    func(r *ackRun) wire.Header { return from(stranger, r.ack()) },
		"too long":     func(r *ackRun) wire.Header { return ackHeader(handle(r.md), 9) },
		"stale handle": func(r *ackRun) wire.Header { return ackHeader(handle(r.md+1<<32), 8) },
	} {
		r := newAckRun(t, 3, portals.MD{Threshold: inf}, portals.Retain)
		r.arrive(3, h(r))
		r.end()
		r.expect(why, nil, map[string]uint64{why: 3})
	}
}

// TestAckRunUnlinks: a run of ACKs uses up the threshold of an MD. The last event has Unlinked set, and
// no other event has. The ACK after the last one that the threshold allows finds no MD, as it would
// without a run.
func TestAckRunUnlinks(t *testing.T) {
	r := newAckRun(t, 3, portals.MD{Threshold: 5}, portals.Unlink)
	r.arrive(3, r.ack())
	r.end()
	r.expect("threshold", []string{"ACK", "ACK!"}, map[string]uint64{"stale handle": 1})
}

// TestAckRunHandler: whatever a handler does to its event, and to its MD, the other events of the run do not
// change.
func TestAckRunHandler(t *testing.T) {
	r := newAckRun(t, 3, portals.MD{Threshold: inf, UserPtr: "mine"}, portals.Retain)
	seen := 0
	r.act = func(e *portals.Event) {
		if seen++; e.UserPtr != "mine" || e.MLength != 8 || e.Source != there || e.Unlinked || e.Err != nil {
			t.Errorf("event %d: %+v", seen, e)
		}
		if seen == 1 {
			if err := r.MDUnlink(r.md); err != nil {
				t.Error(err)
			}
		}
		trample(e)
	}
	r.arrive(3, r.ack())
	r.end()
	r.expect("unlinked by the handler", []string{"ACK", "ACK", "ACK", "UNLINK!"}, nil)
}

// TestAckRunQueue: the events of a run are in the queue, in their order, each with a number.
func TestAckRunQueue(t *testing.T) {
	r := newAckRun(t, 0, portals.MD{Threshold: inf}, portals.Retain)
	q, err := r.NewEQ(8)
	if err != nil {
		t.Fatal(err)
	}
	r.md = r.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, EQ: q})
	for range 3 {
		if err := r.Put(portals.PutRequest{MD: r.md, Target: there, Portal: 5, Ack: true}); err != nil {
			t.Fatal(err)
		}
		r.net.finalize(r.net.next(), nil)
	}
	r.arrive(3, r.ack())
	r.end()
	var got []string
	for e, ok, err := q.Get(); ok && err == nil; e, ok, err = q.Get() {
		got = append(got, fmt.Sprintf("%v%d", e.Kind, e.Sequence))
	}
	if want := []string{"SEND1", "SEND2", "SEND3", "ACK4", "ACK5", "ACK6"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// TestAckRunBusy: a run arrives while the handler runs: its events come when the handler returns.
func TestAckRunBusy(t *testing.T) {
	r := newAckRun(t, 4, portals.MD{Threshold: inf}, portals.Retain)
	done := make(chan struct{})
	r.act = func(*portals.Event) {
		r.act = nil
		go func() {
			defer close(done)
			r.arrive(3, r.ack())
			r.end()
		}()
		<-done
		if n := len(r.events); n != 1 {
			t.Errorf("%d events while the handler runs", n)
		}
	}
	r.net.mustArrive(t, r.ack())
	r.expect("after the handler", acks(4), nil)
}
