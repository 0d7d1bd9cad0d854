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
func servePeer(w *worker.Worker, _ struct{}) (hello greeting, err error) {
	for _, s := range []struct {
		addr  *netip.AddrPort
		serve func(net.Listener)
	}{{&hello.Raw, serveRaw}, {&hello.Bare, serveBare}} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(peerAddr, 0).String())
		if err != nil {
			return hello, err
		}
		w.Defer(func() { l.Close() })
		go s.serve(l)
		*s.addr = l.Addr().(*net.TCPAddr).AddrPort()
	}
	for _, n := range []struct {
		port     *uint16
		tunables lnd.Tunables
	}{{&hello.LNet, lnd.Tunables{}}, {&hello.Many, manyCredits}} {
		r, err := newResponder(peerAddr, n.tunables)
		if err != nil {
			return hello, err
		}
		w.Defer(r.close)
		go r.echoFromEQ(w.Context())
		go r.echoFromChannel(w.Context())
		*n.port = r.port
	}
	worker.Order(w, "usage", ownUsage)
	var profiled bytes.Buffer
	worker.Order(w, "start profile", startProfile(&profiled))
	worker.Order(w, "stop profile", stopProfile(&profiled))
	worker.Order(w, "ib", func(struct{}) (uint16, error) {
		peer, err := newIBPeer(w.Context())
		if err != nil {
			return 0, err
		}
		w.Defer(peer.close)
		return peer.floor.socket.local.Port(), nil
	})
	return hello, nil
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
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.peer, err = b.start(ctx, worker.Config{Kind: "peer"}); err != nil {
		return b, err
	}
	b.ends = append(b.ends, func() { _ = b.peer.Stop() }) // the exit status does not matter here
	hello, err := worker.Ready[greeting](b.peer)
	if err != nil {
		return b, err
	}
	if b.raw, err = dialRaw(ctx, hello.Raw); err != nil {
		return b, err
	}
	b.ends = append(b.ends, b.raw.close)
	if b.bare, err = dialBare(ctx, hello.Bare.String()); err != nil {
		return b, err
	}
	b.ends = append(b.ends, b.bare.close)
	if b.node, err = b.connect(ctx, hello.LNet, lnd.Tunables{}); err != nil {
		return b, err
	}
	many, err := b.connect(ctx, hello.Many, manyCredits)
	if err != nil {
		return b, err
	}
	b.flood, err = newFlood(many.node, many.target)
	return b, err
}

// connect starts a node and connects it to the node of the other process at a port.
func (b *bench) connect(ctx context.Context, port uint16, tunables lnd.Tunables) (*initiator, error) {
	n, err := newNode(ownAddr, port, tunables)
	if err != nil {
		return nil, err
	}
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
