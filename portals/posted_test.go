package portals_test

import (
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/portals"
)

// meet sends a first message to a process. lnet never sends the first one inline, but may
// send later ones inline (lnd.Inline).
func meet(t *testing.T, table *portals.Table, net *network) {
	t.Helper()
	h := &harness{Table: table, t: t, self: here}
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 1)}, Threshold: 1})
	if err := table.Put(portals.PutRequest{MD: md, Target: there, Portal: 5}); err != nil {
		t.Fatal(err)
	}
	net.finalize(net.next(), nil)
}

// TestPostedUnlinked: two messages leave with one write. While the handler runs for the SEND event
// of the first one, the ACKs of both arrive. The event with Unlinked is still the last one of the
// MD.
func TestPostedUnlinked(t *testing.T) {
	table, net := newWire(t)
	meet(t, table, net)
	var h portals.MDHandle
	var events log
	md := portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 4, Handler: func(e *portals.Event) {
		events.handle(e)
		for len(events.events) == 1 && e.Kind == portals.EventSend {
			e.Kind = portals.EventGet // ends the loop, so that the ACKs arrive only once
			arrived := make(chan error)
			for range 2 {
				go func() { arrived <- net.arrive(ackHeader(handle(h), 8), nil) }()
				if err := <-arrived; err != nil {
					t.Error(err)
				}
			}
		}
	}}
	var err error
	if h, err = table.MDBind(md, portals.Unlink); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := table.Put(portals.PutRequest{MD: h, Target: there, Portal: 5, Ack: true}); err != nil {
			t.Fatal(err)
		}
	}
	net.leave(net.next(), net.next())
	if got, want := events.take(), []string{"SEND", "ACK", "ACK", "SEND!"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// TestPostedRun: the SEND events of one write come in the order of the calls. Each MD ends with
// the last of its events.
func TestPostedRun(t *testing.T) {
	table, net := newWire(t)
	meet(t, table, net)
	var got []any
	h := &harness{Table: table, t: t, self: here}
	bind := func(n int) portals.MDHandle {
		return h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: n, Handler: func(e *portals.Event) {
			got = append(got, e.OpPtr, e.Unlinked)
			e.OpPtr, e.Unlinked = nil, true // a handler may change its event
		}})
	}
	one, two := bind(3), bind(1)
	var sent []*lnd.Message
	for n, md := range []portals.MDHandle{one, one, two, one} {
		if err := table.Put(portals.PutRequest{MD: md, Target: there, Portal: 5, OpPtr: n}); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, net.next())
	}
	net.leave(sent...)
	if want := []any{0, false, 1, false, 2, true, 3, true}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}
