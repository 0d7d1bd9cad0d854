package node_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// deafPeer answers handshakes on a loopback address and reads nothing after
// them.
func deafPeer(t *testing.T, addr string, port uint16) (id nid.ProcessID) {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(addr), port).String())
	if err != nil {
		t.Fatal(err)
	}
	id = nid.ProcessID{NID: nid.MustParse(addr + "@tcp"), PID: nid.LustrePID}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			answerHello(t, c, id)
		}
	})
	t.Cleanup(func() { _ = l.Close(); tasks.Wait() })
	return id
}

// answerHello plays the passive side of one handshake.
func answerHello(t *testing.T, c net.Conn, id nid.ProcessID) {
	b := make([]byte, 16+ksock.HelloSize)
	if _, err := io.ReadFull(c, b); err != nil {
		return
	}
	h, _, err := ksock.ParseHello(b[16:])
	if err != nil {
		t.Errorf("HELLO: %v", err)
		return
	}
	h.SrcNID, h.DstNID, h.SrcPID, h.ConnType = id.NID, h.SrcNID, id.PID, h.ConnType.Invert()
	answer, err := h.AppendBinary(nil)
	if err != nil {
		t.Errorf("HELLO: %v", err)
	}
	_, _ = c.Write(answer)
}

// stack is portals, lnet and the TCP driver, without discovery.
func stack(t *testing.T, addr string, port uint16) *portals.Table {
	t.Helper()
	n := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(n)
	driver, err := socklnd.New(socklnd.Config{AcceptPort: port})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.AddNI(driver, lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: addr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // so that Shutdown does not wait for the messages to the deaf node
		_ = n.Shutdown(ctx)
	})
	return table
}

// TestDeafPeer: a peer reads nothing. Of the messages to it, the driver gets as many as there
// are credits; the rest waits above the driver without taking credits of the NI. Messages to
// other peers are sent as usual.
func TestDeafPeer(t *testing.T) {
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.61"), netip.MustParseAddr("127.0.0.62"), netip.MustParseAddr("127.0.0.63"))
	if err != nil {
		t.Fatal(err)
	}
	deaf := deafPeer(t, "127.0.0.61", port)
	table, other := stack(t, "127.0.0.62", port), stack(t, "127.0.0.63", port)
	md, err := table.MDBind(portals.MD{Segments: []lnd.Segment{make([]byte, wire.MaxPayload)}, Threshold: portals.ThresholdInfinite}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	const messages = 100
	for range messages {
		if err := table.Put(portals.PutRequest{MD: md, Target: deaf, Portal: 4}); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan struct{}, messages)
	receive(t, other, got)
	to := other.Node().IDs()[0]
	small, err := table.MDBind(portals.MD{Segments: []lnd.Segment{make([]byte, 2000)}, Threshold: portals.ThresholdInfinite}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	for range messages {
		if err := table.Put(portals.PutRequest{MD: small, Target: to, Portal: 4}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
		case <-time.After(waitLimit):
			t.Fatal("the other peer was not reached")
		}
	}
	checkDeaf(t, table, deaf)
}

// receive accepts every PUT to portal 4, and sends a token to got for each.
func receive(t *testing.T, table *portals.Table, got chan<- struct{}) {
	t.Helper()
	me, err := table.MEAttach(4, portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Ignore: ^uint64(0)}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, 2000)}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.ManageRemote,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventPut {
				got <- struct{}{}
			}
		},
	}, portals.Retain)
	if err != nil {
		t.Fatal(err)
	}
}

// checkDeaf checks that messages wait for the deaf node, and for no other.
func checkDeaf(t *testing.T, table *portals.Table, deaf nid.ProcessID) {
	t.Helper()
	// The last message to the other node has arrived there, but this node's driver may still count it.
	var s lnet.Snapshot
	await(t, "end of the messages that can leave", func() bool {
		s = table.Node().Snapshot()
		return s.NIs[0].Lower.(*socklnd.NI).Snapshot().Messages <= int64(s.NIs[0].Tunables.PeerCredits)
	})
	for _, p := range s.Peers {
		if p.NID != deaf.NID {
			continue
		}
		lower := s.NIs[0].Lower.(*socklnd.NI).Snapshot()
		if p.Credits > 0 || lower.Messages > int64(p.MaxCredits) || p.Queued < 50 {
			t.Errorf("credits %d of %d, driver has %d messages, %d wait", p.Credits, p.MaxCredits, lower.Messages, p.Queued)
		}
		if free := s.NIs[0].Credits; free < s.NIs[0].Tunables.Credits-p.MaxCredits {
			t.Errorf("the NI has %d credits left", free)
		}
		return
	}
	t.Errorf("no peer %v in %+v", deaf, s.Peers)
}
