package socklnd

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// tcpFabric is real TCP on loopback addresses. Nothing listens on the configured accept port: each
// listener gets a free port of the operating system, which dials look up with real. IPv6 addresses
// are only names: all stand for ::1, since loopback has no other.
type tcpFabric struct {
	mu    sync.Mutex
	ports map[netip.Addr]uint16
}

func newTCPFabric() *tcpFabric { return &tcpFabric{ports: map[netip.Addr]uint16{}} }

func (f *tcpFabric) config(c Config) Config {
	tcp := c.withDefaults().forNI(netip.Addr{}, 0)
	c.Accept = cmp.Or(c.Accept, AcceptTrust)
	c.Listen = func(local netip.AddrPort) (net.Listener, error) {
		l, err := tcp.Listen(netip.AddrPortFrom(onLoopback(local.Addr()), 0))
		if err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.ports[local.Addr()] = addrPort(l.Addr()).Port()
		}
		return l, err
	}
	c.Dial = func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
		return tcp.Dial(ctx, netip.AddrPortFrom(onLoopback(local.Addr()), local.Port()), f.real(remote.Addr()))
	}
	return c
}

// real returns address and port of the listener of the NI with address a. If there is none, the
// port is 1, where nothing listens.
func (f *tcpFabric) real(a netip.Addr) netip.AddrPort {
	f.mu.Lock()
	defer f.mu.Unlock()
	return netip.AddrPortFrom(onLoopback(a), cmp.Or(f.ports[a], 1))
}

func onLoopback(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return a
}

// host is one NI and the upcalls that it made to lnet.
type host struct {
	t        testing.TB
	ni       *NI
	patience time.Duration // how long await waits; virtual time in a bubble

	mu       sync.Mutex
	changed  chan struct{} // channel that is closed and replaced at every change
	arrived  []arrival
	finished []error
	ups      []nid.ProcessID
	downs    []error
	broken   []error // errors given to Delivered
	gone     int     // number of held messages that were given up, in calls of Abandon

	upBatches upBatches

	// parse, if set, answers Parse; by default every payload is taken.
	parse func(h *host, d *lnd.Delivery) (lnd.Answer, error)
	// If taken is set, Abandon refuses to give a held message up, as lnet does when it is about to
	// call Recv.
	taken bool
	// delivered and finalized, if set, are called before Delivered and Finalize record the message.
	delivered func(d *lnd.Delivery)
	finalized func(m *lnd.Message, err error)
}

// arrival is one message that was delivered.
type arrival struct {
	header  wire.Header
	from    nid.ProcessID
	payload []byte
}

// start brings up an NI on addr of net tcp.
func start(t testing.TB, addr string, cfg Config, tweaks ...func(*lnd.Config)) *host {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, d, addr, tweaks...)
}

// startOn does what start does, with a driver that may have other NIs.
func startOn(t testing.TB, d *Driver, addr string, tweaks ...func(*lnd.Config)) *host {
	t.Helper()
	h := &host{t: t, changed: make(chan struct{}), patience: 60 * time.Second}
	c := lnd.Config{
		Net: nid.MakeNet(nid.TCP, 0), Interface: addr, Incarnation: 1000,
		Clock: machine.RealClock(),
	}
	for _, tweak := range tweaks {
		tweak(&c)
	}
	ni, err := d.Startup(c, h)
	if err != nil {
		t.Fatal(err)
	}
	h.ni = ni.(*NI)
	t.Cleanup(func() { h.stop() })
	return h
}

// stop shuts the NI down without waiting for messages.
func (h *host) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.ni.Shutdown(ctx)
}

func (h *host) id() nid.ProcessID { return nid.ProcessID{NID: h.ni.nid, PID: nid.LustrePID} }

// conns returns the number of established connections.
func (h *host) conns() (n int) {
	for _, p := range h.ni.Snapshot().Peers {
		n += len(p.Conns)
	}
	return n
}

// awaitConns waits until n connections are established. No upcall reports connections after the
// first one, so it polls.
func (h *host) awaitConns(n int) {
	h.t.Helper()
	for begin := time.Now(); h.conns() < n; runtime.Gosched() {
		if time.Since(begin) > h.patience {
			h.t.Fatalf("%v: %d connections, want %d", h.ni.nid, h.conns(), n)
		}
	}
}

// put sends a PUT with the given payload.
func (h *host) put(to nid.ProcessID, payload ...[]byte) *lnd.Message {
	m := newPut(h.id(), to, payload...)
	h.ni.Send(m)
	return m
}

func newPut(from, to nid.ProcessID, payload ...[]byte) *lnd.Message {
	m := &lnd.Message{Target: to}
	m.Header = wire.Header{DestNID: to.NID, SrcNID: from.NID, DestPID: to.PID, SrcPID: from.PID}
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: 4})
	for _, p := range payload {
		m.Payload.Length += len(p)
	}
	m.Payload.Segments = payload
	m.Header.PayloadLength = uint32(m.Payload.Length)
	return m
}

func (h *host) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

// await waits until cond, called under the lock, holds.
func (h *host) await(what string, cond func() bool) {
	h.t.Helper()
	timeout := time.After(h.patience)
	for {
		h.mu.Lock()
		ok, changed := cond(), h.changed
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			h.t.Fatalf("%v: no %s; snapshot %+v", h.ni.nid, what, h.ni.counts.snapshot())
		}
	}
}

func (h *host) arrivals() []arrival {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.arrived
}

func (h *host) wantArrivals(n int) []arrival {
	h.t.Helper()
	h.await("arrivals", func() bool { return len(h.arrived) >= n })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.arrived) != n {
		h.t.Fatalf("%d arrivals, want %d", len(h.arrived), n)
	}
	return h.arrived
}

// wantFinalized waits for the end of n messages and returns how each ended.
func (h *host) wantFinalized(n int) []error {
	h.t.Helper()
	h.await("finalized messages", func() bool { return len(h.finished) >= n })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.finished) != n {
		h.t.Fatalf("%d messages finalized, want %d", len(h.finished), n)
	}
	return h.finished
}

func (h *host) wantCount(r Reason, want uint64) {
	h.t.Helper()
	if got := h.ni.counts[r].Load(); got != want {
		h.t.Errorf("%v: counter %v = %d, want %d", h.ni.nid, r, got, want)
	}
}

// Parse answers as h.parse says. For every second message that brings its payload along, it takes
// the payload itself and answers lnd.Taken.
func (h *host) Parse(d *lnd.Delivery) (answer lnd.Answer, err error) {
	takes := h.upBatches.parse(h.t, d)
	if h.parse != nil {
		answer, err = h.parse(h, d)
	} else {
		takeAll(d)
	}
	if takes && err == nil && answer == lnd.Accept && d.Sink.CopyIn(d.Data) == len(d.Data) {
		h.Delivered(d, nil)
		answer = lnd.Taken
	}
	return answer, err
}

func (h *host) EndBatch(d *lnd.Delivery) { h.upBatches.end(h.t, d) }

func (h *host) Again(d *lnd.Delivery, n int) bool { return h.upBatches.offered(h.t, d, n) }

// takeAll gives d a sink for its whole payload.
func takeAll(d *lnd.Delivery) {
	b := make([]byte, d.Header.PayloadLength)
	d.Sink = lnd.Payload{Segments: []lnd.Segment{b}, Length: len(b)}
}

func (h *host) Delivered(d *lnd.Delivery, err error) {
	if h.delivered != nil {
		h.delivered(d)
	}
	h.change(func() {
		if err != nil {
			h.broken = append(h.broken, err)
			return
		}
		a := arrival{header: d.Header, from: d.From}
		for _, s := range d.Sink.Append(nil) {
			a.payload = append(a.payload, s...)
		}
		h.arrived = append(h.arrived, a)
	})
}

func (h *host) Finalize(m *lnd.Message, err error) {
	if h.finalized != nil {
		h.finalized(m, err)
	}
	h.change(func() { h.finished = append(h.finished, err) })
}

func (h *host) Abandon(*lnd.Delivery) (gone bool) {
	h.change(func() {
		if gone = !h.taken; gone {
			h.gone++
		}
	})
	return gone
}

func (h *host) Waits(*lnd.Message) {}
func (h *host) PeerUp(p nid.ProcessID) {
	h.change(func() { h.ups = append(h.ups, p) })
}

func (h *host) PeerDown(_ nid.ProcessID, cause error) {
	h.change(func() { h.downs = append(h.downs, cause) })
}
