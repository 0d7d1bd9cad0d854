package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine/timerfd"
)

// For goal G-IB-4, two devices of this process have idlePairs connections between them.
const (
	idlePairs  = 1000
	warmPairs  = 50
	idlePort   = verbsPort + 1
	idleSends  = 16 // work requests that a queue pair can hold; the default of o2iblnd
	idleWithin = time.Minute
)

// measureIBMemory measures G-IB-4: the memory of an idle queue pair.
func measureIBMemory(b *measurement) {
	ctx, cancel := context.WithTimeout(b.ctx, idleWithin)
	defer cancel()
	h := newIdlePairs()
	defer h.close()
	h.connect(ctx, warmPairs) // these pairs are not measured: with them, buffers and pools grow to their usual size
	before := liveMemory()
	h.connect(ctx, idlePairs)
	after := liveMemory()
	const pairs = 2 * idlePairs
	b.add(line{
		what: "memory of an idle queue pair", ratio: float64(after-before) / pairs / kibibyte, unit: "KiB", limit: 8,
		basis: fmt.Sprintf("%.1f MiB of heap and stacks for %d queue pairs", float64(after-before)/kibibyte/kibibyte, pairs),
	})
}

// liveMemory returns the bytes of heap and stacks that are in use after a garbage collection.
func liveMemory() int64 {
	runtime.GC()
	runtime.GC() // this collection frees the objects whose finalizers ran after the first collection
	s := memStats()
	return int64(s.HeapAlloc + s.StackInuse)
}

// idlePairsOf has two devices and the connections between them.
type idlePairsOf struct {
	clock *timerfd.Clock
	ends  [2]*verbsEnd // the end that connects, and the other end
	conns []verbs.Conn
	up    chan error
}

func newIdlePairs() *idlePairsOf {
	h := &idlePairsOf{clock: timerfd.NewClock(), up: make(chan error, 1)}
	own, peer := ibAddrs(os.Getpid() + 1<<20) // these addresses differ from those that the function pair uses
	for i, addr := range []netip.Addr{own, peer} {
		h.ends[i] = newVerbsEnd(must(softroce.Open(verbs.OpenConfig{Addr: addr, Clock: h.clock})))
		h.ends[i].qp.MaxSends = idleSends
	}
	must(h.ends[1].dev.Listen(idlePort, func(r verbs.Request) {
		if _, err := r.Accept(h.ends[1].config(), func(verbs.Conn, verbs.Event) {}); err != nil {
			h.up <- err
		}
	}))
	return h
}

// connect opens n more connections, one after another.
func (h *idlePairsOf) connect(ctx context.Context, n int) {
	to := netip.AddrPortFrom(h.ends[1].dev.Attr().Addr, idlePort)
	for range n {
		h.conns = append(h.conns, must(h.ends[0].dev.Connect(to, h.ends[0].config(), func(_ verbs.Conn, e verbs.Event) {
			if e.Kind == verbs.Established {
				h.up <- nil
			}
		})))
		select {
		case err := <-h.up:
			succeed(err)
		case <-ctx.Done():
			succeed(fmt.Errorf("%d connections were made: %w", len(h.conns)-1, context.Cause(ctx)))
		}
	}
}

func (h *idlePairsOf) close() {
	for _, e := range h.ends {
		_ = e.dev.Close() // an error makes no difference after the measurement
	}
	h.clock.Close()
}
