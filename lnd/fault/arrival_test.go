package fault

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestLossOfArrivals: nothing of a lost message is read, and lnet does not get the message.
func TestLossOfArrivals(t *testing.T) {
	b := newBench(t, Config{}, "from 10.0.0.2@tcp loss 100%")
	if n := b.receive(there, 12, nil); n != 0 {
		t.Errorf("%d bytes of a lost message were read", n)
	}
	if n := b.receive(third, 13, nil); n != 2 {
		t.Errorf("%d bytes of another one were read", n)
	}
	if got := bitsOf(b.got); !slices.Equal(got, []uint64{13}) {
		t.Errorf("lnet got %v", got)
	}
	if got := b.plan.Snapshot().Rules[0].Counts; got != (Counts{Matched: 1, Lost: 1}) {
		t.Errorf("%+v", got)
	}
	b.empty()
}

// TestLateArrivals: delayed arrivals are read at once, so that they delay
// nothing behind them, and reach lnet when they are due.
func TestLateArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "from 10.0.0.2@tcp latency 10ms duplicate 100%")
		if n := b.receive(there, 1, nil); n != 1 {
			t.Errorf("%d bytes were read", n)
		}
		b.receive(there, 2, syscall.ECONNRESET) // the connection breaks in the middle of the payload
		b.receive(third, 3, nil)
		pass(time.Second)
		want := []event{{at: 0, bits: 3, data: "3"}, {at: 10 * time.Millisecond, bits: 1, data: "1"}, {at: 10 * time.Millisecond, bits: 1, data: "1"}}
		if !slices.Equal(b.got, want) {
			t.Errorf("lnet got %v, want %v", b.got, want)
		}
		if got := b.plan.Snapshot().Rules[0].Counts; got != (Counts{Matched: 2, Delayed: 2, Duplicated: 2}) {
			t.Errorf("%+v", got)
		}
		b.empty()
	})
}

// TestLocalArrivals: faults apply to a message of the node to itself when it is sent, not
// again when it arrives.
func TestLocalArrivals(t *testing.T) {
	b := newBench(t, Config{}, "cut")
	b.receive(here, 1, nil)
	if len(b.got) != 1 {
		t.Error("a message of this node was cut twice")
	}
}

// TestHeldArrival: lnet may hold a delayed arrival like any other, and may drop part of its
// payload.
func TestHeldArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 10ms")
		var held *lnd.Delivery
		b.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			held = d
			return lnd.Hold, nil
		}
		b.receive(there, 123, nil)
		pass(time.Second)
		if held == nil || len(b.got) > 0 || b.plan.Snapshot().Held != 1 {
			t.Fatalf("held %v, got %v", held, b.got)
		}
		memory := make([]byte, 2)
		held.Sink, held.Owner = lnd.Payload{Segments: [][]byte{memory}, Length: 2}, memory
		b.ni.Recv(held)
		if len(b.got) != 1 || b.got[0].data != "12" {
			t.Errorf("got %v", b.got)
		}
		b.empty()
	})
}

// TestArrivalsThatBreakTheProtocol: a message that breaks the protocol ends the connection if Parse
// finds that at once. If lnet finds it only after a delay, the message is dropped and counted.
func TestArrivalsThatBreakTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{}, "latency 10ms")
		broken := errors.New("broken")
		b.parse = func(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, broken }
		d := &lnd.Delivery{From: nid.ProcessID{NID: there}}
		d.Header.SrcNID, d.Header.DestNID, d.Header.Type = there, here, wire.Hello
		if _, err := b.up.Parse(d); !errors.Is(err, broken) {
			t.Errorf("a type that there is not: %v", err)
		}
		b.receive(there, 1, nil)
		pass(time.Second)
		if s := b.plan.Snapshot(); s.Refused != 1 || len(b.got) > 0 {
			t.Errorf("refused %d, got %v", s.Refused, b.got)
		}
		b.empty()
	})
}

// TestArrivalBounds: arrivals that find no room are lost and counted.
func TestArrivalBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Config{MaxHeldBytes: 4}, "latency 10ms")
		for i := range uint64(6) {
			b.receive(there, i, nil)
		}
		pass(time.Second)
		if got := bitsOf(b.got); !slices.Equal(got, []uint64{0, 1, 2, 3}) || b.plan.Snapshot().Overflowed != 2 {
			t.Errorf("got %v, %d overflowed", got, b.plan.Snapshot().Overflowed)
		}
		b.empty()
	})
}
