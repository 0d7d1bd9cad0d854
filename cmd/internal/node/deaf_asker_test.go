package node_test

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// asker is a peer with one connection, on which it sends GETs.
type asker struct {
	t     *testing.T
	c     net.Conn
	batch []byte // 1000 GETs
	sent  int    // number of GETs that it has sent
}

// replySize is the size of what a GET fetches. It is chosen so that the buffers of the sockets hold few REPLYs.
const replySize = 1000

func newAsker(t *testing.T, addr string, to nid.NID, port uint16) *asker {
	t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 0))}
	c, err := d.DialContext(t.Context(), "tcp", netip.AddrPortFrom(to.Addr(), port).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	id := nid.ProcessID{NID: nid.MustParse(addr + "@tcp"), PID: nid.LustrePID}
	opening, err := wire.NewAcceptorRequest(to).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	hello := ksock.Hello{Version: ksock.V3, SrcNID: id.NID, SrcPID: id.PID, DstNID: to, SrcIncarnation: 1, ConnType: ksock.Control}
	if opening, err = hello.AppendBinary(opening); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(opening); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, ksock.HelloSize)); err != nil {
		t.Fatal(err)
	}
	h := wire.Header{DestNID: to, DestPID: nid.LustrePID, SrcNID: id.NID, SrcPID: id.PID}
	h.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Interface: 1, Object: 1}, Portal: 4, SinkLength: replySize})
	get, _ := ksock.MsgHeader{Type: ksock.LNet}.AppendBinary(nil)
	if get, err = h.AppendBinary(get); err != nil {
		t.Fatal(err)
	}
	return &asker{t: t, c: c, batch: bytes.Repeat(get, 1000)}
}

// send sends n thousand GETs.
func (a *asker) send(n int) {
	a.t.Helper()
	for range n {
		if _, err := a.c.Write(a.batch); err != nil {
			a.t.Fatal(err)
		}
		a.sent += 1000
	}
}

// readOn reads what comes from now on, and counts the bytes.
func (a *asker) readOn() *atomic.Int64 {
	var count atomic.Int64
	ended := make(chan struct{})
	a.t.Cleanup(func() { _ = a.c.Close(); <-ended })
	go func() {
		defer close(ended)
		b := make([]byte, 1<<20)
		for {
			n, err := a.c.Read(b)
			count.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	return &count
}

// serve lets others fetch memory by GETs from portal 4.
func serve(t *testing.T, table *portals.Table) {
	t.Helper()
	me, err := table.MEAttach(4, portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	md := portals.MD{Segments: []lnd.Segment{make([]byte, replySize)}, Threshold: portals.ThresholdInfinite, Options: portals.OpGet | portals.ManageRemote}
	if _, err = table.MDAttach(me, md, portals.Retain); err != nil {
		t.Fatal(err)
	}
}

// fetch gets the memory of another node once, and waits for the REPLY.
func fetch(t *testing.T, table *portals.Table, from nid.ProcessID) {
	t.Helper()
	came := make(chan error, 1)
	md, err := table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, replySize)}, Threshold: 2,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventReply {
				came <- e.Err
			}
		},
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Get(portals.GetRequest{MD: md, Target: from, Portal: 4}); err != nil {
		t.Fatal(err)
	}
	var result error
	answered := false
	await(t, "answer to a peer that reads", func() bool {
		select {
		case result = <-came:
			answered = true
		default:
		}
		return answered
	})
	if result != nil {
		t.Error(result)
	}
}

// TestDeafAsker (LN-24): a peer sends GETs as fast as it can, over TCP, and reads no answer. When 65536 answers wait,
// the GETs that follow are dropped, and the memory of the node grows no more. Another peer is answered meanwhile. When
// the deaf one reads at last, it gets all answers but for those of the dropped GETs, and further GETs are answered.
func TestDeafAsker(t *testing.T) {
	spec.Covers(t, "LN-24")
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.64"), netip.MustParseAddr("127.0.0.65"), netip.MustParseAddr("127.0.0.66"))
	if err != nil {
		t.Fatal(err)
	}
	table, other := stack(t, "127.0.0.65", port), stack(t, "127.0.0.66", port)
	serve(t, table)
	node := table.Node()
	a := newAsker(t, "127.0.0.64", node.IDs()[0].NID, port)
	dropped := func() int { return int(node.Stats().DropReasons[lnet.AnswersUnread.String()]) }
	for a.sent < 300_000 && dropped() == 0 {
		a.send(1)
	}
	if dropped() == 0 {
		t.Fatalf("no GET was dropped: %d answers wait", queuedFor(node, a))
	}
	before, already := liveHeap(), dropped()
	a.send(100)
	await(t, "drops", func() bool { return dropped()-already >= 80_000 })
	if n := queuedFor(node, a); n > 1<<16 || n < 65_000 {
		t.Errorf("%d answers wait, want %d, less those that have just left", n, 1<<16)
	}
	if grown := liveHeap() - before; grown > 16<<20 && !effort.Race {
		t.Errorf("the heap grew by %d KiB with GETs that are dropped", grown>>10)
	}
	fetch(t, other, node.IDs()[0])

	got := a.readOn()
	const reply = ksock.MsgHeaderSize + wire.HeaderSize + replySize
	await(t, "end of the answers", func() bool { return got.Load() == int64(a.sent-dropped())*reply })
	await(t, "end of the queue", func() bool { return queuedFor(node, a) == 0 })
	final := dropped()
	a.send(10)
	await(t, "answers to one that reads", func() bool { return got.Load() == int64(a.sent-final)*reply })
	if n := dropped() - final; n != 0 {
		t.Errorf("%d GETs dropped while answers are read", n)
	}
}

// queuedFor returns how many messages wait in a node for the asker.
func queuedFor(n *lnet.Node, a *asker) int {
	id := nid.FromAddr(nid.MakeNet(nid.TCP, 0), netip.MustParseAddrPort(a.c.LocalAddr().String()).Addr())
	for _, p := range n.Snapshot().Peers {
		if p.NID == id {
			return p.Queued
		}
	}
	a.t.Fatalf("no peer %v", id)
	return 0
}

// liveHeap returns the size of what the heap of this process has in use.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
