package portals_test

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// trample is a handler that overwrites its event.
func trample(e *portals.Event) {
	*e = portals.Event{
		Source: stranger, Initiator: stranger, Sender: nid.Any(), MLength: 77, Err: syscall.EIO, Unlinked: !e.Unlinked,
	}
}

// TestTrampledAck: a handler that changes its event changes nothing in the ACK.
func TestTrampledAck(t *testing.T) {
	for name, data := range map[string][]byte{"along with the header": make([]byte, 8), "later": nil} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			h := &harness{Table: table, t: t}
			h.post(5, portals.Match{Bits: 3}, portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: trample,
			})
			d := &lnd.Delivery{Header: putHeader(8, wire.PutCmd{AckMD: handle(99), Portal: 5, MatchBits: 3}), From: there, Data: data}
			if answer, err := net.up.Parse(d); err != nil {
				t.Fatal(err)
			} else if answer == lnd.Accept {
				net.receive(d, nil)
			}
			m := net.next()
			if m == nil {
				t.Fatal("no ACK")
			}
			want := wire.AckCmd{DstMD: handle(99), MatchBits: 3, MLength: 8}
			if got := m.Header.Ack(); m.Header.Type != wire.Ack || got != want || m.Header.DestNID != there.NID || m.Header.DestPID != there.PID {
				t.Errorf("%v %+v to %v, want %+v to %v", m.Header.Type, got, m.Header.DestNID, want, there)
			}
			net.finalize(m, nil)
		})
	}
}

// TestTrampledNoAck: no ACK is sent for a PUT that failed, even if the handler clears the error in its event.
func TestTrampledNoAck(t *testing.T) {
	table, net := newWire(t)
	h := &harness{Table: table, t: t}
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote,
		Handler: func(e *portals.Event) { e.Err = nil },
	})
	if err := net.arrive(putHeader(8, wire.PutCmd{AckMD: handle(99), Portal: 5}), syscall.EIO); err != nil {
		t.Fatal(err)
	}
	if m := net.next(); m != nil {
		t.Errorf("%v for a PUT whose payload did not come", m.Header.Type)
		net.finalize(m, nil)
	}
}

// TestTrampledQueue: whatever a handler does with its event, the MD's last event, and no other, ends the
// MD's use of its queue.
func TestTrampledQueue(t *testing.T) {
	for name, data := range map[string][]byte{"along with the header": make([]byte, 8), "later": nil} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			h := &harness{Table: table, t: t}
			q, err := table.NewEQ(4)
			if err != nil {
				t.Fatal(err)
			}
			_, md := h.post(5, portals.Match{}, portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 2, Options: portals.OpPut | portals.ManageRemote, Handler: trample, EQ: q,
			})
			for n := range 2 {
				if err := q.Free(); err == nil {
					t.Fatalf("after %d of 2 PUTs the queue of %v is free", n, md)
				}
				d := &lnd.Delivery{Header: putHeader(8, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), From: there, Data: data}
				if answer, err := net.up.Parse(d); err != nil {
					t.Fatal(err)
				} else if answer == lnd.Accept {
					net.receive(d, nil)
				}
			}
			if err := q.Free(); err != nil {
				t.Errorf("after the last event: %v", err)
			}
		})
	}
}
