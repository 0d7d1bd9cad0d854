package main

import (
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

// For goal G-LN-6, memory of an idle connection, a node has idlePeers peers with three typed
// connections each. The node runs in a process of its own; the peers are sockets of this
// process.
const (
	idlePeers   = 5000 // there are fewer if the limit of file descriptors requires that, or at the effort aGlance
	typedConns  = 3
	warmUpPeers = 50
	kibibyte    = 1024
)

var idleAddr = netip.MustParseAddr("127.0.0.3")

// serveIdle starts the node whose memory is measured, and returns its port. The order "memory"
// returns its resident memory.
func serveIdle(w *worker.Worker, _ struct{}) uint16 {
	port := must(loopback.FreePort(idleAddr))
	w.Defer(newNode(idleAddr, port, lnd.Tunables{}).close)
	worker.Order(w, "memory", func(struct{}) (int64, error) {
		debug.FreeOSMemory()
		return residentMemory(), nil
	})
	return port
}

// measureMemory measures goal G-LN-6: the resident memory that idle connections take.
func measureMemory(b *measurement) {
	h := &idleNode{Process: must(b.start(b.ctx, worker.Config{Kind: "idle"}))}
	defer h.close()
	h.port = must(worker.Ready[uint16](h.Process))
	h.connect(0, warmUpPeers) // the first peers are not measured, but warm up the node
	before := h.memory()
	peers := max(1, min(b.some(idlePeers), affordableConnections()/typedConns-warmUpPeers)) // both processes need a file descriptor for each connection
	h.connect(warmUpPeers, peers)
	after := h.memory()
	perPeer := float64(after-before) / float64(peers) / kibibyte
	basis := fmt.Sprintf("%.1f MiB for %d peers, %d connections", float64(after-before)/kibibyte/kibibyte, peers, typedConns*peers)
	b.add(
		line{what: "resident memory per idle connection", ratio: perPeer / typedConns, unit: "KiB", limit: 6, basis: basis},
		line{what: "resident memory per idle peer with three connections", ratio: perPeer, unit: "KiB", limit: 18, basis: basis},
	)
}

// affordableConnections returns the number of connections for which a process has file
// descriptors.
func affordableConnections() int {
	const others = 500
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return typedConns * (idlePeers + warmUpPeers)
	}
	return int(min(limit.Cur, 1<<20)) - others
}

// idleNode is the process of the node, with the connections to it.
type idleNode struct {
	*worker.Process
	port  uint16
	conns []net.Conn
}

func (h *idleNode) close() {
	for _, c := range h.conns {
		_ = c.Close()
	}
	_ = h.Stop() // the exit status does not matter here
}

func (h *idleNode) memory() (bytesUsed int64) {
	return must(worker.Ask[int64](h.Process, "memory", nil))
}

// connect connects n peers, numbered from first.
func (h *idleNode) connect(first, n int) {
	for i := first; i < first+n; i++ {
		for _, t := range []ksock.ConnType{ksock.Control, ksock.BulkIn, ksock.BulkOut} {
			if got := h.dial(i, t); got != t.Invert() {
				succeed(fmt.Errorf("peer %d: connection of type %v is refused with %v", i, t, got))
			}
		}
	}
}

// dial opens a connection of a peer, and keeps it open. It returns the connection type that the
// node's HELLO contains.
func (h *idleNode) dial(i int, t ksock.ConnType) ksock.ConnType {
	self := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(self, 0))}
	c := must(d.Dial("tcp", netip.AddrPortFrom(idleAddr, h.port).String()))
	h.conns = append(h.conns, c)
	target := nid.FromAddr(tcp, idleAddr)
	request := wire.NewAcceptorRequest(target)
	hello := ksock.Hello{
		Version: ksock.V3, SrcNID: nid.FromAddr(tcp, self), DstNID: target,
		SrcPID: nid.LustrePID, SrcIncarnation: 1, ConnType: t,
	}
	opening := must(hello.AppendBinary(must(request.AppendBinary(nil))))
	must(c.Write(opening))
	answer := make([]byte, ksock.HelloSize)
	must(io.ReadFull(c, answer))
	got, _, err := ksock.ParseHello(answer)
	succeed(err)
	return got.ConnType
}
