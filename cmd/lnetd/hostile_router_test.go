//go:build linux

package main_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// TestHostileRouter: strangers send hostile traffic through an lnetd that forwards between tcp
// and tcp1, while the test measures how long the messages of two other nodes take.
func TestHostileRouter(t *testing.T) {
	t.Parallel()
	commands := lnetdtest.Build(t)
	t.Run("slow sender", func(t *testing.T) { slowSender(t, commands) })
	t.Run("slow senders", func(t *testing.T) { slowSenders(t, commands) })
	t.Run("takes nothing", func(t *testing.T) { takesNothing(t, commands) })
	t.Run("spoofed", func(t *testing.T) { spoofed(t, commands) })
}

// midway is an lnetd that forwards, with one node on each side.
type midway struct {
	t         *testing.T
	daemon    *lnetdtest.Daemon
	to        netip.AddrPort
	near, far *end
}

// end is a node that sends through the router, with its CONTROL, BULK_IN and BULK_OUT
// connections.
type end struct {
	*lnetdtest.Peer
	conns []*net.TCPConn
}

func newMidway(t *testing.T, commands lnetdtest.Commands, settings ...string) *midway {
	t.Helper()
	t.Parallel()
	n := sieges.Add(1)
	to := netip.AddrFrom4([4]byte{127, 0, byte(n>>8) + 1, byte(n)})
	port, err := loopback.FreePort(to)
	if err != nil {
		t.Fatal(err)
	}
	f := &midway{t: t, to: netip.AddrPortFrom(to, port)}
	f.daemon = commands.Start(t, lnetdtest.Config{
		Networks: "tcp(" + to.String() + "),tcp1(" + to.String() + ")", Port: port,
		Settings: append([]string{"source_address: off", "forwarding: enabled"}, settings...),
	})
	f.near, f.far = f.end("127.0.0.7@tcp"), f.end("127.0.0.8@tcp1")
	// Until the router has all three connections of each node, it may send on another one than
	// CONTROL.
	f.daemon.Until(reaction, "all connections", func() bool { return f.daemon.Connections() == 6 })
	return f
}

func (f *midway) end(id string) *end {
	f.t.Helper()
	p := lnetdtest.NewPeer(f.t, nid.ProcessID{NID: nid.MustParse(id), PID: nid.LustrePID}, from, f.to)
	p.Target = nid.FromAddr(p.ID.NID.Net(), f.to.Addr())
	return &end{p, p.ConnectAll()}
}

// put returns the bytes of a PUT to another end, without the payload.
func (e *end) put(to *end, size int) []byte {
	h := e.Header()
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 7, Portal: 20})
	h.DestNID, h.PayloadLength = to.ID.NID, uint32(size)
	return e.Message(lnetHeader, h, nil)
}

// trip sends a PUT of 8 bytes from a to b over the CONTROL connections, and returns how long
// the PUT took to arrive.
func (f *midway) trip(a, b *end) time.Duration {
	f.t.Helper()
	begin := time.Now()
	if _, err := a.conns[0].Write(append(a.put(b, 8), "payload."...)); err != nil {
		f.t.Fatal(err)
	}
	_ = b.conns[0].SetReadDeadline(begin.Add(reaction))
	got := make([]byte, ksock.MsgHeaderSize+wire.HeaderSize+8)
	if _, err := io.ReadFull(b.conns[0], got); err != nil {
		f.t.Fatalf("message from %v to %v: %v; drops %v", a.ID.NID, b.ID.NID, err, f.daemon.Status().Stats.DropReasons)
	}
	took := time.Since(begin)
	h, payload, err := wire.ParseHeader(got[ksock.MsgHeaderSize:])
	if err != nil || h.SrcNID != a.ID.NID || h.DestNID != b.ID.NID || string(payload) != "payload." {
		f.t.Fatalf("arrived: %v from %v to %v with %q, %v", h.Type, h.SrcNID, h.DestNID, payload, err)
	}
	return took
}

// median returns the median time of the given number of trips.
func (f *midway) median(a, b *end, trips int) time.Duration {
	f.t.Helper()
	var took []time.Duration
	for range trips {
		took = append(took, f.trip(a, b))
	}
	slices.Sort(took)
	return took[trips/2]
}

// routed waits until the router has counted n forwarded messages. The router counts a message when
// its write has returned; the next hop may have received the message before.
func (f *midway) routed(n uint64) {
	f.t.Helper()
	f.daemon.Until(reaction, "messages that count as forwarded", func() bool { return f.daemon.Status().Stats.RouteCount >= n })
}

// trips is the number of messages of a measurement, and slower the factor by which the median
// may rise beside a hostile node. If a message had to wait for the hostile node, it would take a
// thousand times as long.
const (
	trips  = 101
	slower = 10
)

// delayed reports whether messages took so much longer beside other traffic that a busy machine
// cannot be the reason. A message that must wait for the next hop of the other traffic takes a
// second longer.
func delayed(beside, alone time.Duration) bool {
	return beside > max(slower*alone, 500*time.Millisecond)
}

// slowSender: a node that begins a message of 1 MiB and sends only 1 KiB of it occupies one
// buffer of the router and nothing else. Messages of other nodes still go through the connection
// to the next hop.
func slowSender(t *testing.T, commands lnetdtest.Commands) {
	f := newMidway(t, commands)
	spec.Covers(t, "RO-7")
	alone := f.median(f.near, f.far, trips)
	slow := f.end("127.0.0.66@tcp")
	for _, c := range slow.conns {
		if _, err := c.Write(append(slow.put(f.far, wire.MaxPayload), make([]byte, 1024)...)); err != nil {
			t.Fatal(err)
		}
	}
	f.daemon.Until(reaction, "three large buffers in use", func() bool { return f.daemon.Router().Buffers.Large.Memory == 3*wire.MaxPayload })
	if beside := f.median(f.near, f.far, trips); delayed(beside, alone) {
		t.Errorf("a message takes %v beside a slow sender, %v without", beside, alone)
	}
	for _, c := range slow.conns {
		c.Close()
	}
	f.daemon.Until(reaction, "buffers back", func() bool { return f.daemon.Router().Buffers.Large.Memory == 0 })
	f.routed(2 * trips)
	if s := f.daemon.Status().Stats; s.DropReasons[lnet.TransitCut.String()] != 3 || s.RouteCount != 2*trips {
		t.Errorf("%d routed, drops %v", s.RouteCount, s.DropReasons)
	}
}

// slowSenders: a node fills all buffers of a small router with messages of which it sends a byte from time to time, so that
// its connections do not count as stuck. A message of 1 MiB between two other nodes arrives all the same, after the
// slow sender has lost its connections.
func slowSenders(t *testing.T, commands lnetdtest.Commands) {
	if !effort.Long() {
		t.Skip("waits for router.FillTime; runs with ULNET_LONG=1")
	}
	f := newMidway(t, commands, "routing:", "  memory: 4")
	spec.Covers(t, "RO-19")
	slow := f.end("127.0.0.66@tcp")
	for i, c := range slow.conns {
		to := f.end(fmt.Sprintf("127.0.0.%d@tcp1", 10+i))
		if _, err := c.Write(slow.put(to, wire.MaxPayload)); err != nil {
			t.Fatal(err)
		}
		f.trickle(c)
	}
	f.daemon.Until(reaction, "three large buffers in use", func() bool { return f.daemon.Router().Buffers.Large.Memory == 3*wire.MaxPayload })
	if took := f.bulk(); took < router.FillTime/2 {
		t.Errorf("a message of 1 MiB has taken %v: there was a buffer left", took)
	}
	if took := f.bulk(); delayed(took, time.Millisecond) {
		t.Errorf("the next message has taken %v", took)
	}
	f.daemon.Until(reaction, "three messages that were cut", func() bool { return f.daemon.Status().Stats.DropReasons[lnet.TransitCut.String()] == 3 })
}

// trickle sends a byte every now and then until the connection is closed.
func (f *midway) trickle(c *net.TCPConn) {
	tick := time.NewTicker(200 * time.Millisecond)
	f.t.Cleanup(tick.Stop)
	go func() {
		for {
			select {
			case <-tick.C:
			case <-f.t.Context().Done():
				return
			}
			if _, err := c.Write([]byte{0}); err != nil {
				return
			}
		}
	}()
}

// bulk sends a PUT of 1 MiB from the near node to the far one, and returns how long it took to arrive.
func (f *midway) bulk() time.Duration {
	f.t.Helper()
	begin := time.Now()
	go func() {
		_, _ = f.near.conns[2].Write(append(f.near.put(f.far, wire.MaxPayload), make([]byte, wire.MaxPayload)...))
	}()
	_ = f.far.conns[1].SetReadDeadline(begin.Add(2*router.FillTime + reaction))
	if _, err := io.CopyN(io.Discard, f.far.conns[1], ksock.MsgHeaderSize+wire.HeaderSize+wire.MaxPayload); err != nil {
		f.t.Fatalf("a message of 1 MiB: %v; %+v", err, f.daemon.Router())
	}
	return time.Since(begin)
}

// takesNothing: a node sends 64 MiB to each of two nodes that read nothing, and then messages to another node. Those of the
// 64 MiB that are under way occupy buffers, but no credits after a second: the messages to the other node arrive before
// they time out, and take no longer than without the other traffic.
func takesNothing(t *testing.T, commands lnetdtest.Commands) {
	f := newMidway(t, commands)
	spec.Covers(t, "RO-13")
	alone := f.median(f.near, f.far, trips)
	drops := uint64(0)
	for i := range 2 {
		stuck := f.end(fmt.Sprintf("127.0.0.%d@tcp1", 66+i))
		written := f.write(append(f.near.put(stuck, wire.MaxPayload), make([]byte, wire.MaxPayload)...), 64)
		f.daemon.Until(reaction, "a drop for a next hop that takes nothing", func() bool {
			return f.daemon.Status().Stats.DropReasons[lnet.NextHopStalled.String()] > drops
		})
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		drops = f.daemon.Status().Stats.DropReasons[lnet.NextHopStalled.String()]
	}
	if beside := f.median(f.near, f.far, trips); delayed(beside, alone) {
		t.Errorf("a message takes %v beside those to nodes that take nothing, %v without", beside, alone)
	}
	// Messages to both nodes are still under way: those to the other node did not wait for their time-out.
	if s := f.daemon.Router().Buffers; s.Stalls != 2 || s.Large.Memory <= 8*wire.MaxPayload || s.Large.Memory > 24*wire.MaxPayload {
		t.Errorf("%+v", s)
	}
}

// write sends a message of the near node so many times, and tells when it has.
func (f *midway) write(message []byte, times int) (written <-chan error) {
	end := make(chan error, 1)
	go func() {
		for range times {
			if _, err := f.near.conns[2].Write(message); err != nil {
				end <- err
				return
			}
		}
		end <- nil
	}()
	return end
}

// spoofed: messages that this router must not forward are dropped, and counted by their reasons.
func spoofed(t *testing.T, commands lnetdtest.Commands) {
	f := newMidway(t, commands)
	spec.Covers(t, "RO-3", "RO-9")
	stranger := f.end("127.0.0.66@tcp")
	send := func(change func(h *wire.Header)) {
		t.Helper()
		h := stranger.Header()
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 7, Portal: 20})
		h.DestNID, h.PayloadLength = f.far.ID.NID, 8
		change(&h)
		if _, err := stranger.conns[0].Write(stranger.Message(lnetHeader, h, make([]byte, 8))); err != nil {
			t.Fatal(err)
		}
	}
	for why, change := range map[lnet.DropReason]func(h *wire.Header){
		lnet.NoRoute:        func(h *wire.Header) { h.DestNID = nid.MustParse("127.0.0.8@tcp9") },
		lnet.NeedlessDetour: func(h *wire.Header) { h.SrcNID = nid.MustParse("127.0.0.9@tcp1") },
		lnet.BadSource:      func(h *wire.Header) { h.SrcNID = stranger.Target },
		lnet.ForeignSource:  func(h *wire.Header) { h.SrcNID = f.near.ID.NID },
	} {
		send(change)
		f.daemon.Until(reaction, why.String(), func() bool { return f.daemon.Status().Stats.DropReasons[why.String()] == 1 })
	}
	f.trip(f.near, f.far)
	f.routed(1)
	if s := f.daemon.Status().Stats; s.RouteCount != 1 || s.DropCount != 4 {
		t.Errorf("%d routed, %d dropped: %v", s.RouteCount, s.DropCount, s.DropReasons)
	}
}
