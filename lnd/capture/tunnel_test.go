package capture_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/internal/headers"
)

// inVXLAN returns an IP packet with an Ethernet frame in the tunnel between two gateways.
func inVXLAN(frame []byte) []byte {
	e := headers.Envelope{From: netip.MustParseAddrPort("192.0.2.1:50000"), To: netip.MustParseAddrPort("192.0.2.2:4789"), TTL: 64}
	return e.AppendUDP(nil, []byte{8, 0, 0, 0, 0, 0, 1, 0}, frame)
}

// inGRE returns a packet of IP as a switch mirrors it: from its own address to that of the collector, whatever the
// direction of the packet.
func inGRE(packet []byte) []byte {
	b := headers.Envelope{From: netip.MustParseAddrPort("192.0.2.1:0"), To: netip.MustParseAddrPort("192.0.2.2:0"), TTL: 64}.AppendUDP(nil, packet)
	const protocol, gre = 9, 47
	b[protocol] = gre
	copy(b[20:], []byte{0, 0, 8, 0, 0, 0, 0, 0}) // in place of the header of UDP: that of GRE, with 4 bytes of padding below
	return slices.Delete(b, 24, 28)
}

// TestConnectionsInTunnel: connections in a tunnel have their own addresses. Two clients that use the same port have two
// connections.
func TestConnectionsInTunnel(t *testing.T) {
	hello := bulkRuns(0)
	conns := map[int]*capture.Conn{}
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		conns[r.Conn.ID] = r.Conn
		if r.Err != nil && r.Err != capture.ErrOpenEnd || r.Kind == capture.Lost {
			t.Errorf("record %d: %v", r.Kind, r.Err)
		}
	})
	for _, s := range []segment{{flags: synFlag}, {back: true, ack: 1, flags: synFlag | ackFlag}, {seq: 1, flags: ackFlag, data: hello[0].bytes}, {back: true, seq: 1, flags: ackFlag, data: hello[1].bytes}} {
		for client := range byte(2) {
			frame := s.frame()
			host := 14 + 15 // last byte of the source
			if s.back {
				host += 4
			}
			frame[host] = 11 + client
			d.Packet(time.Unix(1, 0), capture.LinkRaw, inVXLAN(frame))
		}
	}
	d.Close()
	if len(conns) != 2 || conns[1].Ends[0].String() != "10.0.0.11:1023" || conns[2].Ends[0].String() != "10.0.0.12:1023" || !conns[2].NIDs[1].IsValid() {
		t.Errorf("%+v", conns)
	}
}

// TestMirrored: the two directions of a connection that a switch mirrors are one connection, of TCP and of RoCE.
func TestMirrored(t *testing.T) {
	s := conversation(3)
	var conn *capture.Conn
	got, conns := 0, 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Opened:
			conn, conns = r.Conn, conns+1
		case capture.Message:
			got++
		}
	})
	for _, x := range s.list {
		d.Packet(time.Unix(1, 0), capture.LinkRaw, inGRE(x.frame()[14:]))
	}
	d.Close()
	if got != 6 || conns != 1 || conn.Ends[capture.Acceptor].String() != "10.0.0.2:988" {
		t.Errorf("%d messages of %d connections, the last one %+v", got, conns, conn)
	}
	w := newRoceWire(t)
	w.message(0, immediate("mirrored"), 4096)
	w.list[0].Data = inGRE(w.list[0].Data)
	wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "mirrored"
		1/0 closed: capture ends inside the connection`)
}
