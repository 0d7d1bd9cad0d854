package portals_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/portals"
)

// BenchmarkOperation measures a PUT with ACK, or a GET, over 0@lo, with MD and all events.
func BenchmarkOperation(b *testing.B) {
	h := newHarness(b)
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.OpGet | portals.ManageRemote, Handler: func(*portals.Event) {},
	})
	md := portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 2, Handler: func(*portals.Event) {}}
	put := portals.PutRequest{Ack: true, Target: h.self, Portal: 5}
	get := portals.GetRequest{Target: h.self, Portal: 5}
	call := get
	call.LocalOffset, call.Length, call.OpPtr, call.Timeout = 2, 4, h, time.Hour
	for name, op := range map[string]func(portals.MDHandle) error{
		"put":  func(md portals.MDHandle) error { r := put; r.MD = md; return h.Put(r) },
		"get":  func(md portals.MDHandle) error { r := get; r.MD = md; return h.Get(r) },
		"call": func(md portals.MDHandle) error { r := call; r.MD = md; return h.Get(r) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op(h.bind(md)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
