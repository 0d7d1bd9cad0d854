package portals_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/portals"
)

// TestLoopbackAllocates checks that a PUT with ACK and a GET over 0@lo allocate nothing, both
// sides and all events included.
func TestLoopbackAllocates(t *testing.T) {
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	h := newHarness(t)
	events := 0
	count := func(*portals.Event) { events++ }
	h.post(5, portals.Match{Bits: 1}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.OpGet | portals.ManageRemote, Handler: count,
	})
	buffer := []lnd.Segment{make([]byte, 8)}
	const runs = 1000
	for name, c := range map[string]struct {
		op     func(portals.MDHandle) error
		events int
	}{
		"put": {func(md portals.MDHandle) error {
			return h.Put(portals.PutRequest{MD: md, Ack: true, Target: h.self, Portal: 5, MatchBits: 1})
		}, 3},
		"get": {func(md portals.MDHandle) error {
			return h.Get(portals.GetRequest{MD: md, Target: h.self, Portal: 5, MatchBits: 1})
		}, 3},
		"call": {func(md portals.MDHandle) error {
			return h.Get(portals.GetRequest{
				MD: md, Target: h.self, Portal: 5, MatchBits: 1, LocalOffset: 1, Length: 2, OpPtr: h, Timeout: time.Hour,
			})
		}, 3},
	} {
		events = 0
		allocs := testing.AllocsPerRun(runs, func() {
			md, err := h.MDBind(portals.MD{Segments: buffer, Threshold: 2, Handler: count}, portals.Unlink)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.op(md); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per operation, want 0", name, allocs)
		}
		if want := (runs + 1) * c.events; events != want {
			t.Errorf("%s: %d events, want %d", name, events, want)
		}
	}
}
