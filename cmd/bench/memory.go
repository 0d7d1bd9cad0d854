package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime/debug"
	"syscall"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// G-LN-6 has idlePeers peers of three typed connections each. The peers are
// sockets of this process; the node is alone in another.
const (
	idlePeers   = 5000 // fewer where there are not enough descriptors, or at a glance
	typedConns  = 3
	warmUpPeers = 50
	kibibyte    = 1024
)

var hoarderAddr = netip.MustParseAddr("127.0.0.3")

// serveHoarder is the node whose memory is measured. It says its port, and asked for
// "memory" its resident memory.
func serveHoarder(w *worker.Worker, _ struct{}) (port uint16, err error) {
	if port, err = loopback.FreePort(hoarderAddr); err != nil {
		return 0, err
	}
	n, err := newNode(hoarderAddr, port, lnd.Tunables{})
	if err != nil {
		return 0, err
	}
	w.Defer(n.close)
	worker.Order(w, "memory", func(struct{}) (int64, error) {
		debug.FreeOSMemory()
		return residentMemory(), nil
	})
	return port, nil
}

// measureMemory is G-LN-6.
func measureMemory(ctx context.Context, b *bench) ([]line, error) {
	h, err := startHoarder(ctx, b)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		return nil, err
	}
	if err := h.connect(0, warmUpPeers); err != nil { // what comes once
		return nil, err
	}
	before, err := h.memory()
	if err != nil {
		return nil, err
	}
	peers := max(1, min(b.some(idlePeers), affordableConnections()/typedConns-warmUpPeers)) // of each of the two processes
	if err := h.connect(warmUpPeers, peers); err != nil {
		return nil, err
	}
	after, err := h.memory()
	if err != nil {
		return nil, err
	}
	perPeer := float64(after-before) / float64(peers) / kibibyte
	basis := fmt.Sprintf("%.1f MiB for %d peers, %d connections", float64(after-before)/kibibyte/kibibyte, peers, typedConns*peers)
	return []line{
		{what: "resident memory per idle connection", ratio: perPeer / typedConns, unit: "KiB", limit: 6, basis: basis},
		{what: "resident memory per idle peer with three connections", ratio: perPeer, unit: "KiB", limit: 18, basis: basis},
	}, nil
}

// affordableConnections is how many connections a process has descriptors for.
func affordableConnections() int {
	const others = 500
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return typedConns * (idlePeers + warmUpPeers)
	}
	return int(min(limit.Cur, 1<<20)) - others
}

// hoarder is the other process and the connections to it.
type hoarder struct {
	*worker.Process
	port  uint16
	conns []net.Conn
}

func startHoarder(ctx context.Context, b *bench) (h *hoarder, err error) {
	h = new(hoarder)
	if h.Process, err = b.start(ctx, worker.Config{Kind: "hoarder"}); err != nil {
		return nil, err
	}
	h.port, err = worker.Ready[uint16](h.Process)
	return h, err
}

func (h *hoarder) close() {
	for _, c := range h.conns {
		_ = c.Close()
	}
	_ = h.Stop() // nothing depends on how it ends
}

func (h *hoarder) memory() (bytesUsed int64, err error) {
	return worker.Ask[int64](h.Process, "memory", nil)
}

// connect makes n peers, numbered from first.
func (h *hoarder) connect(first, n int) error {
	for i := first; i < first+n; i++ {
		for _, t := range []ksock.ConnType{ksock.Control, ksock.BulkIn, ksock.BulkOut} {
			if err := h.dial(i, t); err != nil {
				return fmt.Errorf("peer %d: %w", i, err)
			}
		}
	}
	return nil
}

// dial opens one connection of a peer and keeps it.
func (h *hoarder) dial(i int, t ksock.ConnType) error {
	self := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(self, 0))}
	c, err := d.Dial("tcp", netip.AddrPortFrom(hoarderAddr, h.port).String())
	if err != nil {
		return err
	}
	h.conns = append(h.conns, c)
	target := nid.FromAddr(tcp, hoarderAddr)
	request := wire.NewAcceptorRequest(target)
	opening, err := request.AppendBinary(nil)
	if err != nil {
		return err
	}
	hello := ksock.Hello{
		Version: ksock.V3, SrcNID: nid.FromAddr(tcp, self), DstNID: target,
		SrcPID: nid.LustrePID, SrcIncarnation: 1, ConnType: t,
	}
	if opening, err = hello.AppendBinary(opening); err != nil {
		return err
	}
	if _, err := c.Write(opening); err != nil {
		return err
	}
	answer := make([]byte, ksock.HelloSize)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	got, _, err := ksock.ParseHello(answer)
	if err == nil && got.ConnType != t.Invert() {
		err = fmt.Errorf("connection of type %v is refused with %v", t, got.ConnType)
	}
	return err
}
