package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
)

// The addresses of the two processes. All nodes of a network listen on the same port, so each
// process needs a loopback address of its own.
var (
	ownAddr  = netip.MustParseAddr("127.0.0.1")
	peerAddr = netip.MustParseAddr("127.0.0.2")
)

// greeting is what the other process returns when it is ready.
type greeting struct {
	Raw  netip.AddrPort // address of its plain TCP server
	Bare netip.AddrPort // address of the bare loop's server
	LNet uint16         // accept port of its LNet node
	Many uint16         // accept port of its LNet node that has many credits
}

// servePeer starts the servers of the other process: plain TCP, an LNet node, and an LNet node
// with many credits. The order "ib" also starts its side of o2iblnd, and returns a port.
func servePeer(w *worker.Worker, _ struct{}) (hello greeting) {
	for _, s := range []struct {
		addr  *netip.AddrPort
		serve func(net.Listener)
	}{{&hello.Raw, serveRaw}, {&hello.Bare, serveBare}} {
		l := must(net.Listen("tcp", netip.AddrPortFrom(peerAddr, 0).String()))
		w.Defer(func() { l.Close() })
		go s.serve(l)
		*s.addr = l.Addr().(*net.TCPAddr).AddrPort()
	}
	for _, n := range []struct {
		port     *uint16
		tunables lnd.Tunables
	}{{&hello.LNet, lnd.Tunables{}}, {&hello.Many, manyCredits}} {
		r := newResponder(peerAddr, must(loopback.FreePort(peerAddr, ownAddr)), n.tunables)
		w.Defer(r.close)
		go r.echoFromEQ(w.Context())
		go r.echoFromChannel(w.Context())
		*n.port = r.port
	}
	worker.Order(w, "usage", ownUsage)
	var profiled bytes.Buffer
	worker.Order(w, "start profile", startProfile(&profiled))
	worker.Order(w, "stop profile", stopProfile(&profiled))
	worker.Order(w, "ib", returning(func(struct{}) uint16 {
		peer := newIBPeer(w.Context())
		w.Defer(peer.close)
		return peer.floor.socket.local.Port()
	}))
	return hello
}

// bench is the state of the process that measures, with its connections to the peer process.
type bench struct {
	rounds  int
	stderr  io.Writer // standard error of other processes
	started int       // number of workers started
	profile *profiler // nil if --profile was not given
	raw     *rawClient
	bare    *bareClient
	node    *initiator
	flood   *flood
	callers *callers  // callers of node; nil before the first call of callersOfNode
	test    *testNode // nil before the first call of testNode
	ib      *ibPair   // the pair of RDMA nodes; nil before the first call of pair
	peer    *worker.Process
	ends    []func() // functions called at the end, the last one first
}

func newBench(ctx context.Context, stderr io.Writer, rounds int) (b *bench, err error) {
	b = &bench{rounds: rounds, stderr: stderr}
	if err = caught(func() { b.open(ctx) }); err != nil {
		b.close()
	}
	return b, err
}

// open starts the peer process, and connects this process to its servers.
func (b *bench) open(ctx context.Context) {
	b.peer = must(b.start(ctx, worker.Config{Kind: "peer"}))
	b.ends = append(b.ends, func() { _ = b.peer.Stop() }) // the exit status does not matter here
	hello := must(worker.Ready[greeting](b.peer))
	b.raw = dialRaw(ctx, hello.Raw)
	b.ends = append(b.ends, b.raw.close)
	b.bare = dialBare(ctx, hello.Bare)
	b.ends = append(b.ends, b.bare.close)
	b.node = b.connect(ctx, hello.LNet, lnd.Tunables{})
	many := b.connect(ctx, hello.Many, manyCredits)
	b.flood = newFlood(many.node, many.target)
}

// connect starts a node and connects it to the node of the other process at a port.
func (b *bench) connect(ctx context.Context, port uint16, tunables lnd.Tunables) *initiator {
	n := newNode(ownAddr, port, tunables)
	b.ends = append(b.ends, n.close)
	return n.initiate(ctx, processAt(peerAddr))
}

// start starts a worker.
func (b *bench) start(ctx context.Context, cfg worker.Config) (*worker.Process, error) {
	cfg.Stderr = b.stderr
	if cfg.Within == nil {
		cfg.Within = pinned(b.started)
	}
	b.started++
	return worker.Start(ctx, cfg)
}

// close ends all nodes, and then the other process.
func (b *bench) close() {
	for i := len(b.ends); i > 0; i-- {
		b.ends[i-1]()
	}
}

// spent runs a function, and returns the resources that both processes used in that time.
func (b *bench) spent(run func() (time.Duration, error)) (elapsed time.Duration, used usage, err error) {
	before, err := worker.Ask[usage](b.peer, "usage", nil)
	if err != nil {
		return 0, used, err
	}
	own, _ := ownUsage(struct{}{})
	if elapsed, err = run(); err != nil {
		return 0, used, err
	}
	then, _ := ownUsage(struct{}{})
	after, err := worker.Ask[usage](b.peer, "usage", nil)
	return elapsed, then.minus(own).plus(after.minus(before)), err
}
