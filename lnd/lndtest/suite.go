package lndtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *fabric)
	}{
		{"sizes and segments", testSizes},
		{"order", testOrder},
		{"dropped and truncated payload", testDropped},
		{"hold and recv", testHold},
		{"hold a GET", testHoldGet},
		{"recv before parse returns", testEarlyRecv},
		{"send from upcalls", testReentrant},
		{"many senders", testConcurrent},
		{"protocol error", testProtocolError},
		{"unreachable peer", testUnreachable},
		{"times", testTimes},
		{"incarnations", testIncarnations},
		{"peers up and down", testPeers},
		{"closed peer", testClosePeer},
		{"priority", testPriority},
		{"shutdown", testShutdown},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newFabric(t, h)) })
	}
}

// fill makes n bytes whose values depend on seed.
func fill(n int, seed uint64) []byte {
	b := make([]byte, 0, n+8)
	for r := rand.NewPCG(seed, 1); len(b) < n; {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

func testSizes(t *testing.T, f *fabric) {
	want := 0
	for _, n := range []int{0, 1, 7, 951, 952, 1023, 1024, 4096, 65536, 65537, lnd.MaxPayload} {
		data := fill(n, uint64(n))
		for _, to := range []struct {
			from, to lnd.NI
			up       *recorder
			sender   *recorder
		}{{f.a, f.b, f.upB, f.upA}, {f.b, f.a, f.upA, f.upB}} {
			m := f.put(to.from, to.to, data[:n/2], data[n/2:n/2], data[n/2:])
			before := len(to.up.got)
			to.from.Send(m)
			f.await("arrival", to.up.count(before+1))
			f.await("finalize", to.sender.ended(m))
			got := to.up.at(before)
			if got.err != nil || !bytes.Equal(got.data, data) {
				t.Fatalf("%d bytes: got %d bytes, equal %v, error %v", n, len(got.data), bytes.Equal(got.data, data), got.err)
			}
			if got.header != m.Header {
				t.Errorf("header changed: got %+v, want %+v", got.header, m.Header)
			}
			if want := (nid.ProcessID{NID: to.from.NID(), PID: nid.LustrePID}); got.from != want {
				t.Errorf("came from %v, want %v", got.from, want)
			}
			want++
		}
	}
	if f.upA.repeated+f.upB.repeated > 0 {
		t.Errorf("finalized more than once")
	}
}

// testOrder: messages of one sender that need the same kind of connection
// arrive in the order of sending.
func testOrder(t *testing.T, f *fabric) {
	const n = 200
	for i := range n {
		f.a.Send(f.put(f.a, f.b, fill(10, uint64(i))))
	}
	f.await("arrivals", f.upB.count(n))
	for i, got := range f.upB.got {
		if bits := got.header.Put().MatchBits; bits != uint64(i+1) {
			t.Fatalf("message %d arrived as number %d", bits, i+1)
		}
	}
}

// testDropped: a payload that lnet does not take, or only in part, does not disturb later
// messages.
func testDropped(t *testing.T, f *fabric) {
	limits := []int{0, 5000, lnd.MaxPayload}
	i := 0
	f.upB.set(func() {
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			accept(d, limits[i%len(limits)])
			i++
			return lnd.Accept, nil
		}
	})
	data := fill(70000, 1)
	for range limits {
		f.a.Send(f.put(f.a, f.b, data))
	}
	f.await("arrivals", f.upB.count(len(limits)))
	for i, limit := range limits {
		if got, want := f.upB.at(i).data, data[:min(limit, len(data))]; !bytes.Equal(got, want) {
			t.Errorf("sink of %d bytes: got %d bytes, want %d", limit, len(got), len(want))
		}
	}
}

func testHold(t *testing.T, f *fabric) {
	f.upB.set(func() {
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			f.upB.set(func() { f.upB.held = append(f.upB.held, d) })
			return lnd.Hold, nil
		}
	})
	data := fill(300000, 2)
	m := f.put(f.a, f.b, data)
	f.a.Send(m)
	held := func() bool {
		f.upB.mu.Lock()
		defer f.upB.mu.Unlock()
		return len(f.upB.held) == 1
	}
	f.await("hold", held)
	if f.upB.count(1)() {
		t.Fatal("delivered while held")
	}
	f.upB.set(func() { f.upB.parse = nil })
	accept(f.upB.held[0], lnd.MaxPayload)
	f.b.Recv(f.upB.held[0])
	f.await("delivery after Recv", f.upB.count(1))
	if !bytes.Equal(f.upB.at(0).data, data) {
		t.Error("payload changed")
	}
	f.a.Send(f.put(f.a, f.b, data[:10]))
	f.await("the next message", f.upB.count(2))
}

// testHoldGet: a GET can be held as well; in this test lnet does not answer it in the end.
func testHoldGet(t *testing.T, f *fabric) {
	f.upB.set(func() {
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			f.upB.set(func() { f.upB.held = append(f.upB.held, d) })
			return lnd.Hold, nil
		}
	})
	m := f.put(f.a, f.b)
	m.Sink = lnd.Payload{Segments: [][]byte{make([]byte, 100_000)}, Length: 100_000}
	m.Header.SetGet(wire.GetCmd{Portal: 7, MatchBits: f.match, SinkLength: 100_000})
	f.a.Send(m)
	f.await("hold", func() bool {
		f.upB.mu.Lock()
		defer f.upB.mu.Unlock()
		return len(f.upB.held) == 1
	})
	f.upB.set(func() { f.upB.parse = nil })
	f.upB.held[0].Dropped = true
	f.b.Recv(f.upB.held[0])
	f.await("delivery after Recv", f.upB.count(1))
	f.await("the end of the GET", f.upA.ended(m))
	if h := f.upB.at(0).header; h != m.Header {
		t.Errorf("got %+v, want %+v", h, m.Header)
	}
	f.a.Send(f.put(f.a, f.b, fill(10, 1)))
	f.await("the next message", f.upB.count(2))
}

func testEarlyRecv(t *testing.T, f *fabric) {
	f.upB.set(func() {
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			accept(d, lnd.MaxPayload)
			f.b.Recv(d)
			return lnd.Hold, nil
		}
	})
	data := fill(100000, 3)
	f.a.Send(f.put(f.a, f.b, data))
	f.a.Send(f.put(f.a, f.b, data[:100]))
	f.await("arrivals", f.upB.count(2))
	for _, got := range f.upB.got {
		if got.err != nil || !bytes.Equal(got.data, data[:len(got.data)]) {
			t.Errorf("%d bytes arrived changed, error %v", len(got.data), got.err)
		}
	}
}

// testReentrant: upcalls may send. Both ends answer until a count is reached; a driver that
// recurses or holds a lock would fail.
func testReentrant(t *testing.T, f *fabric) {
	rounds := effort.Of(500, 1000, 5000)
	var mu sync.Mutex
	left := rounds
	next := func(from, to lnd.NI) func(*lnd.Delivery) {
		return func(*lnd.Delivery) {
			mu.Lock()
			if left == 0 {
				mu.Unlock()
				return
			}
			left--
			m := f.put(from, to, []byte("pong"))
			mu.Unlock()
			from.Send(m)
		}
	}
	f.upB.set(func() { f.upB.onDelivered = next(f.b, f.a) })
	f.upA.set(func() { f.upA.onDelivered = next(f.a, f.b) })
	f.a.Send(f.put(f.a, f.b, []byte("ping")))
	f.await("all rounds", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	})
}

func testConcurrent(t *testing.T, f *fabric) {
	const senders, each = 8, 50
	var messages []*lnd.Message
	for i := range senders * each {
		messages = append(messages, f.put(f.a, f.b, fill(i*i%9000, uint64(i))))
	}
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				f.a.Send(messages[s*each+i])
			}
		})
	}
	wg.Wait()
	f.await("arrivals", f.upB.count(senders*each))
	f.await("finalizes", f.upA.ended(messages...))
	seen := make(map[uint64]bool)
	for _, got := range f.upB.got {
		bits := got.header.Put().MatchBits
		i := int(bits - 1)
		if seen[bits] || !bytes.Equal(got.data, fill(i*i%9000, uint64(i))) {
			t.Fatalf("message %d: twice or changed", bits)
		}
		seen[bits] = true
	}
	if f.upA.repeated > 0 {
		t.Errorf("%d messages finalized more than once", f.upA.repeated)
	}
}

// testProtocolError: if Parse returns an error, the message is not delivered and ends at its sender.
// Messages that are sent later arrive, by new connections.
func testProtocolError(t *testing.T, f *fabric) {
	refused := make(chan struct{}, 1)
	f.upB.set(func() {
		f.upB.parse = func(*lnd.Delivery) (lnd.Answer, error) {
			refused <- struct{}{}
			f.upB.set(func() { f.upB.parse = nil })
			return lnd.Accept, errors.New("test: broken header")
		}
	})
	bad := f.put(f.a, f.b, fill(100, 4))
	f.a.Send(bad)
	f.await("finalize of the refused message", f.upA.ended(bad))
	f.await("refusal", func() bool { return len(refused) == 1 })
	f.await("a later message", func() bool {
		m := f.put(f.a, f.b, []byte("again"))
		f.a.Send(m)
		return f.h.Await(f.upA.ended(m)) && f.upB.count(1)()
	})
	f.upB.mu.Lock()
	defer f.upB.mu.Unlock()
	if got := f.upB.got[0].data; string(got) != "again" {
		t.Errorf("delivered %q after a protocol error", got)
	}
}

// testTimes checks that each message which arrives has the time at which the driver received it,
// and that these times do not go back. A sent message may have the time at which it left.
func testTimes(t *testing.T, f *fabric) {
	const n = 20
	var times []time.Duration
	f.upB.set(func() {
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			f.upB.set(func() { times = append(times, d.ReceivedAt) })
			accept(d, lnd.MaxPayload)
			return lnd.Accept, nil
		}
	})
	for i := range n {
		m := f.put(f.a, f.b, fill(i*10, uint64(i)))
		m.SentAt = -1
		f.a.Send(m)
		f.await("arrival", f.upB.count(i+1))
		f.await("finalize", f.upA.ended(m))
		if m.SentAt != -1 && (m.SentAt < 0 || m.SentAt > time.Hour) {
			t.Errorf("sent at %v", m.SentAt)
		}
	}
	if len(times) != n || !slices.IsSorted(times) || times[0] <= 0 || times[n-1] > time.Hour {
		t.Errorf("received at %v", times)
	}
}

func testShutdown(t *testing.T, f *fabric) {
	var messages []*lnd.Message
	for i := range 20 {
		messages = append(messages, f.put(f.a, f.b, fill(1000, uint64(i))))
		f.a.Send(messages[i])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the context has ended: Shutdown has no time to drain
	_ = f.a.Shutdown(ctx)
	if !f.upA.ended(messages...)() {
		t.Error("Shutdown returned before every message was finalized")
	}
	late := f.put(f.a, f.b, []byte("late"))
	f.a.Send(late)
	f.await("finalize of a late message", f.upA.ended(late))
	if err := f.upA.finalized[late]; !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("late message ended with %v, want ESHUTDOWN", err)
	}
}
