package portals_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// outbox is an outbox whose messages wait in a network; told has the results that it reported.
type outbox struct {
	portals.Outbox[string]
	net  *network
	told []string
}

func newOutbox(t *testing.T, cfg portals.OutboxConfig[string]) *outbox {
	t.Helper()
	table, net := newWire(t)
	return outboxOn(table, net, cfg)
}

func outboxOn(table *portals.Table, net *network, cfg portals.OutboxConfig[string]) *outbox {
	o := &outbox{net: net}
	cfg.Done = func(note string, err error) {
		if err != nil {
			note += ": " + err.Error()
		}
		o.told = append(o.told, note)
	}
	o.Open(table, cfg)
	return o
}

// put sends a message of size bytes, all of which are the first byte of its note.
func (o *outbox) put(to nid.ProcessID, note string, size int, ack bool) {
	m := o.New()
	m.Note, m.Data = note, append(m.Data, strings.Repeat(note[:1], size)...)
	o.Put(m, portals.PutRequest{Target: to, Portal: 5, Ack: ack})
}

// take returns the results that were reported so far, and discards them.
func (o *outbox) take() []string {
	told := o.told
	o.told = nil
	return told
}

func (o *outbox) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, o.take()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func bytesOf(m *lnd.Message) (all string) {
	for _, part := range m.Payload.Append(nil) {
		all += string(part)
	}
	return all
}

// TestOutboxMessage: the parts of a message leave in order, and its memory is not reused
// before the message has left.
func TestOutboxMessage(t *testing.T) {
	o := newOutbox(t, portals.OutboxConfig[string]{})
	payload := []byte("payload ")
	m := o.New()
	m.Note, m.Priority = "first", true
	m.Data, m.Payload, m.Trailer = append(m.Data, "data "...), payload, append(m.Trailer, "trailer"...)
	o.Put(m, portals.PutRequest{Target: there, Portal: 5})
	o.put(there, "second", 4, false)
	o.want(t, "before anything has left")
	one, two := o.net.next(), o.net.next()
	if got := bytesOf(one) + " " + bytesOf(two); got != "data payload trailer ssss" {
		t.Errorf("sent %q", got)
	}
	if !one.Priority || two.Priority {
		t.Errorf("priority %v and %v, want of the first alone", one.Priority, two.Priority)
	}
	o.net.finalize(two, nil)
	o.net.finalize(one, syscall.EHOSTUNREACH)
	o.want(t, "in the end", "second", "first: no route to host")
	if again := o.New(); again != m || len(again.Data)+len(again.Payload)+len(again.Trailer) > 0 || again.Priority || again.Note != "" {
		t.Errorf("the next message is %+v, want the first one emptied", again)
	}
	if n := o.NotSent(); n != 1 {
		t.Errorf("%d messages not sent, want 1", n)
	}
}

// TestOutboxBounds: a message beyond a bound is not sent, and does not affect messages that are
// being sent. When those have left, another message can be sent.
func TestOutboxBounds(t *testing.T) {
	other := nid.ProcessID{NID: nid.MustParse("10.0.0.3@tcp"), PID: nid.LustrePID}
	full := ": " + portals.ErrOutboxFull.Error()
	for name, c := range map[string]struct {
		cfg     portals.OutboxConfig[string]
		refused []string // which of four messages of 10 bytes are refused: a, b and c to one peer, d to another
	}{
		"none":                {portals.OutboxConfig[string]{}, nil},
		"of bytes":            {portals.OutboxConfig[string]{MaxBytes: 29}, []string{"c" + full, "d" + full}},
		"of bytes, just so":   {portals.OutboxConfig[string]{MaxBytes: 40}, nil},
		"of a peer's bytes":   {portals.OutboxConfig[string]{PeerBytes: 20}, []string{"c" + full}},
		"of a peer's message": {portals.OutboxConfig[string]{PeerMessages: 1}, []string{"b" + full, "c" + full}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutbox(t, c.cfg)
			for range 2 {
				for _, note := range []string{"a", "b", "c"} {
					o.put(there, note, 10, false)
				}
				o.put(other, "d", 10, false)
				o.want(t, "while all are on their way", c.refused...)
				if want := 40 - 10*len(c.refused); o.InFlight() != want {
					t.Errorf("%d bytes are on their way, want %d", o.InFlight(), want)
				}
				for m := o.net.next(); m != nil; m = o.net.next() {
					o.net.finalize(m, nil)
				}
				if o.take(); o.InFlight() != 0 {
					t.Errorf("%d bytes are on their way when all have left", o.InFlight())
				}
			}
		})
	}
}

// TestOutboxCrowd: many NIDs read nothing. With MaxMessages, the first of them has at most a quarter of these
// messages on their way, and the second an eighth. However many there are, OwnMessages can be sent to another NID.
// There are never more than MaxMessages on their way. When all have left, as many can be sent again.
func TestOutboxCrowd(t *testing.T) {
	const most, own = 1024, 4
	o := newOutbox(t, portals.OutboxConfig[string]{MaxMessages: most, OwnMessages: own})
	fill := func(to nid.ProcessID, most int) (sent int) {
		for ; sent < most; sent++ {
			before := o.NotSent()
			if o.put(to, "m", 1, false); o.NotSent() > before {
				break
			}
		}
		return sent
	}
	peer := func(n int) nid.ProcessID {
		return nid.ProcessID{NID: nid.FromNumber(nid.MustParseNet("tcp"), uint32(10<<24+n)), PID: nid.LustrePID}
	}
	for range 2 {
		if n := fill(peer(2), most); n != most/4 {
			t.Errorf("%d messages to the first deaf NID, want %d", n, most/4)
		}
		if n := fill(peer(3), most); n != most/8 {
			t.Errorf("%d messages to the second deaf NID, want %d", n, most/8)
		}
		for n := range 100 {
			fill(peer(10+n), most)
		}
		if n := fill(peer(4), most); n != own {
			t.Errorf("%d messages to a NID beside a crowd of deaf ones, want %d", n, own)
		}
		for n := range most {
			fill(peer(1000+n), own)
		}
		sent := 0
		for m := o.net.next(); m != nil; m = o.net.next() {
			o.net.finalize(m, nil)
			sent++
		}
		if sent != most || o.InFlight() != 0 {
			t.Errorf("%d messages were on their way at a time, want %d; %d bytes in the end", sent, most, o.InFlight())
		}
	}
}

// TestOutboxSpare: no more memory is kept than the configuration allows, whether messages
// are many or large.
func TestOutboxSpare(t *testing.T) {
	const keep = 8 << 10
	o := newOutbox(t, portals.OutboxConfig[string]{Spare: keep})
	for range 100 {
		o.put(there, "small", 10, false)
	}
	o.put(there, "large", keep, false)
	for m := o.net.next(); m != nil; m = o.net.next() {
		o.net.finalize(m, nil)
	}
	if n := o.Spare(); n > keep || n < keep/2 {
		t.Errorf("%d bytes are kept, want nearly %d", n, keep)
	}
	o.Close()
	if n := o.Spare(); n != 0 {
		t.Errorf("%d bytes are kept after Close", n)
	}
}

// TestOutboxNotBegun: a message that cannot be sent is done at once, with the reason.
func TestOutboxNotBegun(t *testing.T) {
	table, net := newWire(t)
	o := outboxOn(table, net, portals.OutboxConfig[string]{})
	o.put(there, "too long", portals.MaxPayload+1, false)
	table.Node().FailNID(there.NID, 1)
	o.put(there, "failed", 10, true)
	o.Close()
	o.put(there, "late", 10, false)
	o.want(t, "of what did not begin", "too long: MDBind: invalid argument",
		"failed: Put to 10.0.0.2@tcp: input/output error", "late: "+portals.ErrOutboxClosed.Error())
	if n := o.InFlight(); n != 0 || o.NotSent() != 3 {
		t.Errorf("%d bytes on their way, %d not sent, want 0 and 3", n, o.NotSent())
	}
}

// TestOutboxAck: a message that requests an ACK is done when the ACK has arrived, when the
// message could not be sent, or when no ACK has arrived in time.
func TestOutboxAck(t *testing.T) {
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second, ResponseTracking: -1}, lnd.Tunables{})
	o := outboxOn(h.Table, net, portals.OutboxConfig[string]{})
	for _, note := range []string{"acked", "failed", "forgotten"} {
		o.put(there, note, 10, true)
	}
	acked, failed, forgotten := net.next(), net.next(), net.next()
	ack := ackHeader(acked.Header.Put().AckMD, 10)
	net.finalize(acked, nil)
	o.want(t, "before the ACK")
	net.mustArrive(t, ack)
	o.want(t, "with the ACK", "acked")
	net.finalize(failed, syscall.EIO)
	o.want(t, "after a failure", "failed: input/output error")
	net.finalize(forgotten, nil)
	clock.advance(20 * time.Second)
	o.want(t, "in the end", "forgotten: connection timed out")
	if n := o.InFlight(); n != 0 {
		t.Errorf("%d bytes on their way in the end", n)
	}
}

// TestOutboxMulticast: a message to a group is done when its datagram has left, or was too
// long for a datagram.
func TestOutboxMulticast(t *testing.T) {
	table, c := newCaster(t)
	o := outboxOn(table, nil, portals.OutboxConfig[string]{})
	for _, size := range []int{10, 1000} {
		m := o.New()
		m.Note, m.Data = "message", append(m.Data, make([]byte, size)...)
		o.PutMulticast(m, portals.PutMulticastRequest{Group: 9, Portal: 5})
	}
	o.want(t, "of both", "message", "message: PutMulticast to "+c.GroupNID(9).String()+": message too long")
}

// TestOutboxAllocates checks that messages allocate nothing in steady state.
func TestOutboxAllocates(t *testing.T) {
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	h := newHarness(t)
	received := 0
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.ManageRemote, Handler: func(*portals.Event) { received++ },
	})
	var o portals.Outbox[struct{ id, child uint64 }]
	var failed error
	o.Open(h.Table, portals.OutboxConfig[struct{ id, child uint64 }]{
		PeerMessages: 2, MaxBytes: 1 << 20,
		Done: func(_ struct{ id, child uint64 }, err error) { failed = errors.Join(failed, err) },
	})
	message := make([]byte, 64)
	allocs := testing.AllocsPerRun(1000, func() {
		m := o.New()
		m.Data, m.Note.id = append(m.Data, message...), 7
		o.Put(m, portals.PutRequest{Target: h.self, Portal: 5})
	})
	if allocs != 0 || failed != nil || received != 1001 {
		t.Errorf("%v allocations for a message, %d of 1001 received, %v", allocs, received, failed)
	}
}
