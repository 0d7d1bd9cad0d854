package portals_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestTimeoutBlamesGateway: an operation without an answer reduces the health of the gateway by which it was sent, if nothing
// has come by the gateway since.
func TestTimeoutBlamesGateway(t *testing.T) {
	spec.Covers(t, "HV-12")
	const second = time.Second
	far := nid.ProcessID{NID: nid.MustParse("10.9.0.1@tcp9"), PID: there.PID}
	other := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: there.PID}
	for _, c := range []struct {
		name    string
		timeout time.Duration // of the operation alone; 0: the transaction timeout, 100 s, counts
		before  time.Duration // how long after a message of another node comes by the gateway the operation begins
		since   time.Duration // how long after the operation has begun another one comes; 0: none
		health  int
	}{
		{"an operation with a time-out", 10 * second, second, 0, 900},
		{"an operation with a time-out, heard", 10 * second, second, 5 * second, 1000},
		{"an operation that is tracked", 0, 101 * second, 0, 900},
		{"an operation that is tracked, heard", 0, 101 * second, 99 * second, 1000},
	} {
		h, net, clock := timed(t, lnet.Config{TransactionTimeout: 100 * second}, lnd.Tunables{})
		if err := h.Node().AddRoute(route.New(far.NID.Net(), there.NID)); err != nil {
			t.Fatal(err)
		}
		hears := func() {
			d := &lnd.Delivery{Header: from(other, putHeader(0, wire.PutCmd{})), From: there, ReceivedAt: clock.Now()}
			if _, err := net.up.Parse(d); err != nil {
				t.Fatal(err)
			}
		}
		hears()
		clock.advance(c.before)
		d := h.bind(portals.MD{Segments: []portals.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.TrackResponse, Handler: func(*portals.Event) {}})
		if err := h.Put(portals.PutRequest{MD: d, Ack: true, Target: far, Timeout: c.timeout}); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), nil)
		if c.since > 0 {
			clock.advance(c.since)
			hears()
		}
		clock.advance(200 * second)
		if got := h.Node().Rail(there.NID).Health(); got != c.health {
			t.Errorf("%s: health %d, want %d", c.name, got, c.health)
		}
	}
}
