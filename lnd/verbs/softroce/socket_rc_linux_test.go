package softroce

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// wired is an end of a connection at a socket, stepped in real time.
type wired struct {
	t      testing.TB
	socket *socket
	memory *domain
	region verbs.MR
	bytes  []byte
	pool   verbs.Pool
	start  time.Time
	got    chan []byte

	mu    sync.Mutex // guards all below
	rc    *rc
	route route
	out   rcOutput
	frame framer
	timer *time.Timer
	over  bool
}

// step steps the connection and sends what it wants sent.
func (w *wired) step(in rcInput) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.out.Reset()
	w.frame.Reset()
	now := time.Since(w.start)
	wake := w.rc.Step(now, in, &w.out)
	if err := w.rc.invariants(); err != nil || w.out.Err != nil || w.out.Failed != verbs.Success {
		w.t.Error(err, w.out.Err, w.out.Failed)
	}
	for _, c := range w.out.Completions {
		if c.Op == verbs.Receive {
			w.got <- bytes.Clone(c.Buffer.Bytes)
			w.pool.Return(c.Buffer)
		}
	}
	for i := range w.out.Packets {
		w.frame.add(w.route, &w.out.Packets[i].Packet, w.out.Payload(&w.out.Packets[i]))
	}
	for i := range w.frame.bursts {
		if err := w.socket.send(&w.frame, &w.frame.bursts[i]); err != nil {
			w.t.Error(err)
		}
	}
	w.timer.Reset(min(wake-now, time.Hour))
}

// newWired opens a socket, memory and buffers.
func newWired(t testing.TB, addr string) *wired {
	s, err := openSocket(netip.AddrPortFrom(netip.MustParseAddr(addr), 0), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w := &wired{t: t, socket: s, memory: &domain{newRegionTable()}, bytes: make([]byte, 1<<20), start: time.Now(), got: make(chan []byte, 100)}
	if w.region, err = w.memory.Register([][]byte{w.bytes[:1000], w.bytes[1000:]}, both); err != nil {
		t.Fatal(err)
	}
	if w.pool, err = w.memory.NewPool(verbs.PoolConfig{Buffers: 8, Size: 4096}); err != nil {
		t.Fatal(err)
	}
	w.frame.segmented = s.segmented
	return w
}

// holds reports whether the memory begins with b. The race detector does not know
// that packets come one after another; of the region's lock it does.
func (w *wired) holds(b []byte) bool {
	r := w.region.(*region)
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.HasPrefix(w.bytes, b)
}

// serve takes packets until the socket is closed.
func (w *wired) serve() {
	var list []ibta.Packet
	for {
		var err error
		if list, _, err = w.socket.receive(list[:0]); err != nil {
			return
		}
		w.step(rcInput{Packets: list})
	}
}

// TestSocketConnection runs a connection between two loopback addresses: each side
// writes a megabyte into the other's memory and says so, ten times.
func TestSocketConnection(t *testing.T) {
	ends := [2]*wired{newWired(t, "127.0.0.2"), newWired(t, "127.0.0.3")}
	var running sync.WaitGroup
	for i, w := range ends {
		peer := ends[1-i]
		w.route = route{To: peer.socket.local, Path: ibta.NewPath(w.socket.local, peer.socket.local)}
		w.rc = newRC(rcConfig{
			QPN: ibta.QPN(i + 2), DestQP: ibta.QPN(3 - i), MTU: testMTU, SendPSN: ibta.PSN(5 * i), RecvPSN: ibta.PSN(5 - 5*i), MaxSends: 16,
			MaxWindow: 128, MaxMessage: 4096, AckTimeout: time.Second, RetryCount: 7, Memory: w.memory, Pool: w.pool.(*bufferPool),
			Allowance: &allowance{most: 128},
		})
		w.timer = time.AfterFunc(time.Hour, func() { w.step(rcInput{}) })
	}
	for _, w := range ends {
		running.Go(w.serve)
	}
	for round := range byte(10) {
		var bulk [2][]byte
		for i, w := range ends {
			bulk[i] = bytes.Repeat([]byte{round, byte(i), 7, 8, 9}, 1<<20/5)
			f := ends[1-i].region.Frags(nil)[0]
			f.Length = uint32(len(bulk[i]))
			lent, err := w.memory.Register([][]byte{bulk[i]}, 0)
			if err != nil {
				t.Fatal(err)
			}
			w.step(rcInput{Post: []verbs.SendWR{
				{Op: verbs.Write, Remote: f, RKey: ends[1-i].region.RKey(), Pieces: []verbs.SGE{{Bytes: bulk[i], MR: lent}}},
				send(1, bulk[i][:3000]),
			}})
		}
		for i, w := range ends {
			select {
			case m := <-w.got:
				if !bytes.Equal(m, bulk[1-i][:3000]) || !w.holds(bulk[1-i]) {
					t.Fatalf("round %d: end %d has something else", round, i)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("round %d: end %d got nothing", round, i)
			}
		}
	}
	for _, w := range ends {
		w.mu.Lock()
		w.over = true
		w.timer.Stop()
		w.mu.Unlock()
	}
	for _, w := range ends {
		_ = w.socket.close()
	}
	running.Wait()
	for i, w := range ends {
		t.Logf("end %d: %+v, %+v", i, w.rc.counters, w.socket.counters)
		if w.socket.counters != (socketCounters{}) {
			t.Error("packets were dropped")
		}
	}
}
