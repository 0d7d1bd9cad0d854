package node_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// waiting is a node with a goroutine that waits in an EQ for each PUT of its peer.
type waiting struct {
	table    *portals.Table
	self     nid.ProcessID
	eq       *portals.EQ
	md       portals.MDHandle
	received atomic.Int64 // PUTs that came
	followed atomic.Int64 // PUTs that the goroutine in Wait received itself
}

// patient is a driver whose read loops stay with followers that come back late, because the
// goroutines of a test may be kept from running for long.
type patient struct{ lnd.Driver }

func (p patient) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	return p.Driver.Startup(cfg, patientUpcalls{up})
}

type patientUpcalls struct{ lnd.Upcalls }

func (p patientUpcalls) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	if l, ok := d.ReadLoop.(interface{ SetMaxAbsence(time.Duration) }); ok {
		l.SetMaxAbsence(time.Hour)
	}
	return p.Upcalls.Parse(d)
}

// startNode starts a node.
func startNode(t *testing.T, addr string, port uint16, conns int, wrap func(lnd.Driver) lnd.Driver) *waiting {
	t.Helper()
	n := start(t, node.Config{
		Networks: "tcp(" + addr + ")", AcceptPort: port, TCP: socklnd.Config{ConnsPerPeer: conns}, Wrap: wrap,
	})
	return &waiting{table: n.Table(), self: nid.ProcessID{NID: n.NIDs()[0], PID: nid.LustrePID}}
}

func startWaiting(t *testing.T, addr string, port uint16, conns, size int) *waiting {
	t.Helper()
	w := startNode(t, addr, port, conns, func(d lnd.Driver) lnd.Driver { return patient{d} })
	var err error
	if w.eq, err = w.table.NewEQ(64); err != nil {
		t.Fatal(err)
	}
	w.attach(t, 0, portals.MD{Segments: memory(size), Handler: w.came, EQ: w.eq})
	w.bind(t, size)
	return w
}

func memory(size int) []lnd.Segment { return []lnd.Segment{make([]byte, size)} }

// attach attaches an MD for PUTs with these match bits.
func (w *waiting) attach(t *testing.T, bits uint64, md portals.MD) {
	t.Helper()
	me, err := w.table.MEAttach(waitersPortal, portals.Match{Bits: bits}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	md.Threshold, md.Options = portals.ThresholdInfinite, portals.OpPut|portals.ManageRemote
	if _, err := w.table.MDAttach(me, md, portals.Retain); err != nil {
		t.Fatal(err)
	}
}

// bind binds the MD to send from.
func (w *waiting) bind(t *testing.T, size int) {
	t.Helper()
	var err error
	if w.md, err = w.table.MDBind(portals.MD{Segments: memory(size), Threshold: portals.ThresholdInfinite}, portals.Retain); err != nil {
		t.Fatal(err)
	}
}

const waitersPortal = 9

// came counts a PUT.
func (w *waiting) came(*portals.Event) {
	w.received.Add(1)
	if onStack("(*EQ).Wait") {
		w.followed.Add(1)
	}
}

// onStack reports whether a function of this name has called the caller.
func onStack(name string) bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

func (w *waiting) put(t *testing.T, to *waiting) {
	if err := w.table.Put(portals.PutRequest{Self: w.self.NID, MD: w.md, Target: to.self, Portal: waitersPortal}); err != nil {
		t.Error(err)
	}
}

// conns returns the number of open connections.
func (w *waiting) conns() (n int) {
	for _, ni := range w.table.Node().Snapshot().NIs {
		if tcp, ok := ni.Lower.(*socklnd.NI); ok {
			for _, p := range tcp.Snapshot().Peers {
				n += len(p.Conns)
			}
		}
	}
	return n
}

// converse sends n PUTs to a peer, one after the other. The peer answers each of them by a PUT.
func (w *waiting) converse(ctx context.Context, t *testing.T, n int, with *waiting) {
	t.Helper()
	var peer sync.WaitGroup
	peer.Go(func() {
		for range n {
			if _, err := with.eq.Wait(ctx); err != nil {
				t.Error(err)
				return
			}
			with.put(t, w)
		}
	})
	for range n {
		w.put(t, with)
		if _, err := w.eq.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	peer.Wait()
}

// TestCallers: many goroutines share a connection. Each waits for the answer to its own call, in a
// queue of its own or in one queue for all. All of them get their answers.
func TestCallers(t *testing.T) {
	const callers, calls = 64, 40
	port := freePort()
	a, b := startNode(t, "127.0.85.1", port, 1, nil), startNode(t, "127.0.85.2", port, 1, nil)
	b.attach(t, 0, portals.MD{Segments: memory(8), Handler: func(e *portals.Event) {
		_ = b.table.Put(portals.PutRequest{Self: b.self.NID, MD: b.md, Target: a.self, Portal: waitersPortal, MatchBits: e.HdrData})
	}})
	b.bind(t, 8)
	a.bind(t, 8)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	shared, err := a.table.NewEQ(2 * callers)
	if err != nil {
		t.Fatal(err)
	}
	for name, queue := range map[string]func() *portals.EQ{
		"one each": func() *portals.EQ { q, _ := a.table.NewEQ(4); return q },
		"one":      func() *portals.EQ { return shared },
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for n := range callers {
				q := queue()
				bits := uint64(len(name))<<32 + uint64(n)
				a.attach(t, bits, portals.MD{Segments: memory(8), EQ: q})
				all.Go(func() {
					for range calls {
						if err := a.table.Put(portals.PutRequest{Self: a.self.NID, MD: a.md, Target: b.self, Portal: waitersPortal, HdrData: bits}); err != nil {
							t.Error(err)
						}
						if _, err := q.Wait(ctx); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// TestWaitersFollow: after the first few messages, a goroutine that waits for each message of
// its peer receives it itself, whatever its size and whichever connection brings it.
func TestWaitersFollow(t *testing.T) {
	const settle, trips = 16, 200
	for _, conns := range []int{1, 4} {
		for i, size := range []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20} {
			t.Run(fmt.Sprintf("%d bytes, %d connections", size, conns), func(t *testing.T) {
				port := freePort()
				a := startWaiting(t, fmt.Sprintf("127.0.84.%d", 2*i+1), port, conns, size)
				b := startWaiting(t, fmt.Sprintf("127.0.84.%d", 2*i+2), port, conns, size)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				a.converse(ctx, t, 1, b)
				for a.conns() < 1+2*conns || b.conns() < 1+2*conns { // one of type CONTROL, and conns of each bulk type
					if ctx.Err() != nil {
						t.Fatalf("%d and %d connections are open", a.conns(), b.conns())
					}
					runtime.Gosched()
				}
				a.converse(ctx, t, settle, b)
				var least int64 // messages of a round that a waiting goroutine received itself: the smaller of both nodes' counts
				// Several rounds, for a minute at most: on a busy machine, a pause of that goroutine may
				// spoil a round and some of those after it.
				for began := time.Now(); time.Since(began) < time.Minute; {
					before := [2]int64{a.followed.Load(), b.followed.Load()}
					a.converse(ctx, t, trips, b)
					if least = min(a.followed.Load()-before[0], b.followed.Load()-before[1]); least >= trips*95/100 {
						return
					}
				}
				t.Errorf("the goroutine that waits has received %d of %d messages itself", least, trips)
			})
		}
	}
}
