package portals_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/cputime"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
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

// idleWire is a driver whose connection is always idle: what is posted leaves with the next Flush. It
// makes no system calls.
type idleWire struct {
	up     lnd.Upcalls
	posted []lnd.Record
	owner  any
}

func (*idleWire) Type() nid.NetType              { return here.NID.Net().Type() }
func (*idleWire) NID() nid.NID                   { return here.NID }
func (*idleWire) Recv(*lnd.Delivery)             {}
func (*idleWire) Shutdown(context.Context) error { return nil }
func (w *idleWire) Send(m *lnd.Message)          { w.up.Finalize(m, nil) }

func (w *idleWire) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	w.up = up
	return w, nil
}

func (w *idleWire) Post(i *lnd.Inline, _ lnd.Payload, open bool) (f lnd.Flusher, taken bool) {
	if i.Opens = len(w.posted) == 0; i.Opens {
		if !open {
			return nil, false
		}
		f, w.owner = w, i.Owner
	}
	w.posted = i.AppendRecord(w.posted)
	return f, true
}

func (*idleWire) Buffered(nid.ProcessID) (messages, bytes int) { return 0, 0 }

func (w *idleWire) Flush() {
	list := w.posted
	w.posted = list[:0] // the next Post may overwrite list, because Left has read it by then and posts nothing itself
	list[len(list)-1].Closes = true
	w.up.(lnd.InlineUpcalls).Left(w.owner, list, there, 1)
}

// BenchmarkPutBatch is the CPU time of portals and lnet for a PUT of 8 bytes to one peer with its SEND
// event, by calls of Put and by calls of PutBatch.
func BenchmarkPutBatch(b *testing.B) {
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock()})
	table := portals.New(node)
	tunables := lnd.Tunables{PeerCredits: 256, Credits: 256}
	if _, err := node.AddNI(new(idleWire), lnd.Config{Net: here.NID.Net(), Tunables: tunables}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = node.Shutdown(context.Background()) })
	h := &harness{Table: table, t: b, self: here}
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Handler: func(*portals.Event) {}})
	loop := func(r portals.PutBatchRequest) error {
		for i := range r.Puts {
			if err := table.Put(r.Puts[i]); err != nil {
				return err
			}
		}
		return nil
	}
	one := func(r portals.PutBatchRequest) error { r.OneSend = true; return table.PutBatch(r) }
	for _, n := range []int{1, 16} {
		r := portals.PutBatchRequest{MD: md, Puts: make([]portals.PutRequest, n)}
		for i := range r.Puts {
			r.Puts[i] = portals.PutRequest{MD: md, Target: there, Portal: 5}
		}
		for name, send := range map[string]func(portals.PutBatchRequest) error{
			"Put": loop, "PutBatch": table.PutBatch, "PutBatch with OneSend": one,
		} {
			b.Run(fmt.Sprintf("%s of %d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				used := cputime.Of(func() {
					for b.Loop() {
						if err := send(r); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.ReportMetric(float64(used)/float64(b.N*n), "cpu-ns/PUT")
			})
		}
	}
}
