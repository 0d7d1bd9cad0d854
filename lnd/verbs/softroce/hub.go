package softroce

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// hub is what all handles of one address share: the port, the queue pairs and their
// numbers, the connection manager, and the regions.
type hub struct {
	opener  *opener
	key     netip.Addr // address that was opened, with its zone
	addr    netip.Addr
	clock   machine.Clock
	log     *slog.Logger
	tap     func(verbs.TappedPacket)
	numbers Numbers
	guid    ibta.GUID
	mtu     ibta.MTU // path MTU when the device was opened; that of connections may be smaller, see LinkUp

	port      wire.Conn
	loop      lnd.ReadLoop // nil: the port's read loop cannot be handed over
	delayed   []*conn      // connections with delayed ACKs; used only by the goroutine that reads the port
	absence   absence
	attr      wire.Attr
	cut       atomic.Bool // whether bursts of several datagrams may be sent
	ingress   *ingress
	demux     *demultiplexer
	timers    *timers
	cm        *cmShell
	regions   *regionTable
	allowance *allowance
	groups    *groups
	boxes     outboxes

	strays   atomic.Uint64 // packets to a connection from another host than its peer, or before it is open, or after its end
	unsent   atomic.Uint64 // bursts that the system refused to send
	full     atomic.Uint64 // bursts, also counted in unsent, for which the system had no room
	failures sync.Once     // makes sure that only the first failed send is logged

	pastMu sync.Mutex
	past   TransportStats // counters of ended connections; guarded by pastMu
	pastUD UDStats        // counters of closed queue pairs for datagrams; guarded by pastMu

	refs int           // number of open handles; guarded by opener.mu
	gone chan struct{} // closed when the port has been closed
}

// maxPending bounds the connection requests of peers that the consumer has not answered yet. Local policy.
const maxPending = 1 << 10

// newHub opens the port of cfg.Addr.
func newHub(o *opener, cfg verbs.OpenConfig) (*hub, error) {
	bound := netip.AddrPortFrom(cfg.Addr.Unmap(), wire.Port)
	local := netip.AddrPortFrom(bound.Addr().WithZone(""), wire.Port)
	h := &hub{
		opener: o, key: bound.Addr(), addr: local.Addr(), clock: cfg.Clock, tap: cfg.Tap, numbers: o.numbers, gone: make(chan struct{}),
		guid: o.numbers.GUID(), regions: newRegionTable(o.numbers), timers: newTimers(cfg.Clock),
	}
	h.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	first := o.numbers.QPN()
	h.demux = newDemultiplexer(first)
	h.demux.report = h.reporting(cfg.Unknown)
	h.ingress = newIngress(local)
	h.ingress.tap, h.ingress.deliver, h.ingress.badPKey = cfg.Tap, h.demux.deliver, &h.demux.badPKey

	ready := make(chan struct{}) // closed when the hub is complete; packets wait for it
	port, err := o.network.Open(wire.Config{Local: bound, ReceiveBuffer: cfg.ReceiveBuffer, Receive: func(list []wire.Datagrams) {
		<-ready
		h.ingress.receive(list)
		if h.loop == nil {
			h.flushACKs()
		}
		h.absence.back()
	}})
	start := sync.OnceFunc(func() { close(ready) })
	defer start()
	if err != nil {
		return nil, openError(h.addr, err)
	}
	h.port, h.attr = port, port.Attr()
	if p, ok := port.(handingOver); ok {
		h.loop = p.readLoopFor(h)
	}
	h.attr.Local = netip.AddrPortFrom(h.addr, h.attr.Local.Port())
	for i, a := range h.attr.Aside {
		if a.IsValid() {
			h.attr.Aside[i] = netip.AddrPortFrom(h.addr, a.Port())
		}
	}
	h.cut.Store(h.attr.Cut)
	h.mtu = ibta.PathMTU(h.attr.MTU)
	if cfg.MTU > 0 {
		h.mtu = min(h.mtu, ibta.MTUWithin(cfg.MTU))
	}
	if h.mtu == 0 {
		start()
		_ = port.Close()
		return nil, fmt.Errorf("%w: %v has an interface MTU of %d", errMTU, h.addr, h.attr.MTU)
	}
	h.groups = newGroups(o.network, h.attr.Local, cfg.ReceiveBuffer, cfg.Tap)
	h.allowance = newAllowance(h.attr, h.mtu.Bytes())
	h.cm = newCMShell(h, cmConfig{
		Addr: h.addr, GUID: h.guid, MTU: h.mtu, Rand: rand.New(rand.NewPCG(uint64(h.guid), uint64(first))), MaxConns: maxConns,
		MaxConnsEach: maxConnsEach, MaxPending: maxPending, MaxGranted: maxGranted, MaxGrantedEach: maxGrantedEach,
	})
	h.cm.cm.nextID = o.numbers.CommID()
	if o.secret {
		h.demux.shuffle, h.cm.cm.shuffle = newShuffle(24), newShuffle(32)
	}
	h.demux.put(ibta.GSI, h.cm)
	return h, nil
}

// openError wraps the error of opening the UDP port of an address. Where the cause is known it
// adds a hint.
func openError(a netip.Addr, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = ": another process or the kernel's software RoCE (rdma_rxe) has it; end that, or take another address"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = ": no interface of this node has the address"
	}
	return fmt.Errorf("open UDP port %d of %v: %w%s", wire.Port, a, err, hint)
}

// newAllowance bounds the packets in flight by the receive buffer of a socket, assuming that
// the peer's is as large as this one. A datagram takes about twice its length there. The
// send buffer does not count: a sender waits for room in it, and packets to a missing neighbour
// wait in the send buffers of other sockets.
func newAllowance(a wire.Attr, mtu int) *allowance {
	const (
		overhead = 256
		least    = 8
	)
	bytes := a.ReceiveBuffer
	return &allowance{most: int64(max(least, bytes/(2*(mtu+overhead))))}
}

// route returns the route to an address. The parameter why says whether there may be no node at that address.
func (h *hub) route(to netip.Addr, class uint8, why wire.Doubt) route {
	if !h.attr.Aside[why].IsValid() {
		why = wire.NoDoubt
	}
	at := netip.AddrPortFrom(to, h.attr.Local.Port())
	return route{To: at, Class: class, Doubt: why, Path: ibta.NewPath(h.source(why), at)}
}

// source returns the address and port from which packets of the given Doubt leave.
func (h *hub) source(why wire.Doubt) netip.AddrPort {
	if why == wire.NoDoubt {
		return h.attr.Local
	}
	return h.attr.Aside[why]
}

// transmit sends the datagrams of a box and empties it. Datagrams that the system refuses are
// lost; the transport retransmits them.
func (h *hub) transmit(b *outbox) {
	if len(b.frame.bursts) == 0 {
		return
	}
	b.bursts = b.bursts[:0]
	for i := range b.frame.bursts {
		x := &b.frame.bursts[i]
		b.bursts = append(b.bursts, wire.Burst{To: x.route.To, Class: x.route.Class, Doubt: x.route.Doubt, Size: x.size, Segments: x.segments, Bytes: b.frame.Bytes(x)})
	}
	if h.tap != nil {
		h.showSent(b.bursts)
	}
	for done := 0; done < len(b.bursts); done++ {
		n, err := h.port.Send(b.bursts[done:])
		if err == nil {
			break
		}
		if done += n; errors.Is(err, wire.ErrUncut) {
			h.resend(b, done)
			break
		}
		if h.refused(err); errors.Is(err, wire.ErrFull) {
			rest := together(b.bursts[done:]) - 1 // drop the other bursts of this socket, too: for each one, the call would wait for room again
			h.crowded(rest)
			done += rest
		}
	}
	clear(b.bursts)
	b.frame.Reset()
}

// together returns how many bursts at the front of a list leave by the same socket.
func together(list []wire.Burst) (n int) {
	for n < len(list) && list[n].Doubt == list[0].Doubt {
		n++
	}
	return n
}

// resend sends the bursts from the given one on again, one datagram at a time, so that the kernel
// gives each the identification 0. From then on the hub sends no more bursts.
func (h *hub) resend(b *outbox, from int) {
	h.cut.Store(false)
	for i := from; i < len(b.frame.bursts); i++ {
		x := &b.frame.bursts[i]
		for rest := b.frame.Bytes(x); len(rest) > 0; {
			d := rest[:min(x.size, len(rest))]
			rest = rest[len(d):]
			n := len(d) - ibta.ICRCSize
			x.route.Path.AppendICRC(0, d[:n:len(d)])
			one := [1]wire.Burst{{To: x.route.To, Class: x.route.Class, Doubt: x.route.Doubt, Size: len(d), Segments: 1, Bytes: d}}
			if _, err := h.port.Send(one[:]); err != nil {
				h.refused(err)
			}
		}
	}
}

// refused counts a burst that the system did not take, and logs the first one.
func (h *hub) refused(err error) {
	if errors.Is(err, wire.ErrFull) {
		h.crowded(1)
		return
	}
	h.unsent.Add(1)
	h.failures.Do(func() {
		h.log.Warn("the system did not send a packet; further failures are only counted", "addr", h.addr, "err", err)
	})
}

// crowded counts bursts for which the system had no room.
func (h *hub) crowded(n int) {
	h.unsent.Add(uint64(n))
	h.full.Add(uint64(n))
}

// showSent gives the bursts to the tap.
func (h *hub) showSent(list []wire.Burst) {
	for i := range list {
		x := &list[i]
		for k, rest := 0, x.Bytes; len(rest) > 0; k++ {
			b := rest[:min(x.Size, len(rest))]
			rest = rest[len(b):]
			h.tap(verbs.TappedPacket{From: h.source(x.Doubt), To: x.To, Sent: true, TrafficClass: x.Class, ID: uint16(k), Bytes: b})
		}
	}
}

// give makes the upcalls of a box, if there is one, and returns it to the pool.
func (h *hub) give(box *outbox) {
	if box != nil {
		box.run()
		h.boxes.put(box)
	}
}

// close closes the port. Nothing arrives afterwards and no timer runs.
func (h *hub) close() {
	h.cm.closing()
	h.timers.close()
	h.groups.close()
	_ = h.port.Close()
}
