package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// plainPort is where the plain TCP server and its proxy listen.
const plainPort = 7000

// plainSetup is a plain TCP server, or a proxy in front of another one.
type plainSetup struct {
	Listen, Before netip.AddrPort // Listen is the address of this process. Before is the address of the server behind the proxy; invalid: this process is the server
}

// servePlain either serves plain TCP, or forwards it. It forwards like a router that stores and
// forwards: through a buffer of 1 MiB in each direction, without the system call splice.
func servePlain(w *worker.Worker, setup plainSetup) (ready struct{}) {
	l := must(net.Listen("tcp", setup.Listen.String()))
	w.Defer(func() { l.Close() })
	if setup.Before.IsValid() {
		go acceptAll(l, func(c net.Conn) { proxy(c, setup.Before) })
	} else {
		go serveRaw(l)
	}
	return ready
}

// proxy forwards what arrives on a connection to a server, and back.
func proxy(c net.Conn, to netip.AddrPort) {
	d, err := net.Dial("tcp", to.String())
	if err != nil {
		return
	}
	defer d.Close()
	go pump(c, d)
	pump(d, c)
}

// pump copies through a buffer in this process. It hides the methods by which package io would
// use the system call splice.
func pump(to, from net.Conn) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, bulk))
	_ = to.(*net.TCPConn).CloseWrite() // this tells the other side that no data follows
}

// servePlainClient exchanges messages with a plain TCP server when it gets an order.
func servePlainClient(w *worker.Worker, server netip.AddrPort) (ready struct{}) {
	c := dialRaw(w.Context(), server)
	w.Defer(c.close)
	worker.Order(w, "stream", func(o railOrder) (time.Duration, error) { return c.put(bulk, o.Count) })
	worker.Order(w, "halves", func(o railOrder) (time.Duration, error) { return c.roundTrips(smallSize, o.Count) })
	return ready
}

// routed consists of two hosts with a router between them, which also runs a plain TCP proxy.
type routed struct {
	*pathLab
	hosts  [3]*netlab.Host // host a, the router, and host b
	addrs  [4]netip.Addr   // addresses of a, of the router on its link to a, of the router on its link to b, and of b
	lnet   *worker.Process // worker on host a with an LNet node
	router *worker.Process
	plain  *worker.Process // worker on host a with plain TCP
	target nid.NID         // NID of the node on host b
}

func (l *pathLab) routed() *routed {
	r := &routed{pathLab: l, hosts: [3]*netlab.Host{l.host("a"), l.host("router"), l.host("b")}}
	_, r.addrs[0], r.addrs[1] = l.join(r.hosts[0], r.hosts[1], 0)
	_, r.addrs[2], r.addrs[3] = l.join(r.hosts[1], r.hosts[2], 1)
	far := nid.MakeNet(nid.TCP, 1)
	r.router = l.serve("rail", railSetup{Networks: fmt.Sprintf("tcp(%v),tcp1(%v)", r.addrs[1], r.addrs[2]), Forward: true, Port: l.port}, r.hosts[1].Do)
	l.serve("rail", railSetup{Networks: fmt.Sprintf("tcp1(%v)", r.addrs[3]), Routes: fmt.Sprintf("tcp %v@tcp1", r.addrs[2]), Port: l.port}, r.hosts[2].Do)
	r.lnet = l.serve("rail", railSetup{Networks: fmt.Sprintf("tcp(%v)", r.addrs[0]), Routes: fmt.Sprintf("tcp1 %v@tcp", r.addrs[1]), Port: l.port}, r.hosts[0].Do)
	r.target = nid.FromAddr(far, r.addrs[3])
	l.port++
	server, before := netip.AddrPortFrom(r.addrs[3], plainPort), netip.AddrPortFrom(r.addrs[1], plainPort)
	l.serve("plain", plainSetup{Listen: server}, r.hosts[2].Do)
	l.serve("plain", plainSetup{Listen: before, Before: server}, r.hosts[1].Do)
	r.plain = l.serve("plain client", before, r.hosts[0].Do)
	return r
}

// measureRouted measures goal G-PA-3: a router compared with a plain TCP proxy in its place.
func measureRouted(b *measurement) {
	lines := []line{
		{what: "routed 1 MiB PUT streaming, beside a plain TCP proxy", limit: 0.85, least: true},
		{what: "routed 8 B PUT half round trip, beside a plain TCP proxy", limit: 1.3},
	}
	missing := b.inPathLab(func(l *pathLab) {
		r, messages, trips := l.routed(), b.some(256), b.some(2000)
		proxy, ours := ordered("proxy", "stream", r.plain, r.target, messages), ordered("routed", "stream", r.lnet, r.target, messages)
		b.alternate(b.rounds, proxy, ours)
		lines[0] = ours.speed(proxy, lines[0].what, lines[0].limit, mebibytes, "%.2f GiB/s")
		proxy, ours = ordered("proxy", "halves", r.plain, r.target, trips), ordered("routed", "halves", r.lnet, r.target, trips)
		b.alternate(b.rounds, proxy, ours)
		lines[1] = ours.half(proxy, lines[1].what, lines[1].limit)
		lines[1].basis += fmt.Sprintf("; %d messages forwarded in all", must(worker.Ask[lnet.RouterSnapshot](r.router, "router", nil)).Routed)
	})
	b.add(skip(lines, missing)...)
}
