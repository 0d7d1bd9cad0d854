package capture_test

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/gopacket"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var (
	castFrom = netip.MustParseAddrPort("10.0.0.1:4791")
	castTo   = netip.MustParseAddrPort("239.76.0.5:4791")
)

// roceDatagram makes a datagram of o2iblnd with five bytes of payload.
func roceDatagram(t testing.TB) []byte {
	t.Helper()
	d := wire.Datagram{Payload: []byte("hello"), Header: wire.Header{
		SrcNID: nid.MustParse("10.0.0.1@o2ib"), DestNID: nid.MustParse("239.76.0.5@o2ib"),
		SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: 5,
	}}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 5, Portal: 60})
	b, err := kib.Datagrams.Append(nil, &d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// capturePacket captures one UD packet to a group, and returns the frame in the file.
func capturePacket(t testing.TB, to netip.AddrPort, qp ibta.QPN, payload []byte) capture.Packet {
	t.Helper()
	p := ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: qp},
		DETH: ibta.DETH{QKey: 0x01234567, SrcQP: 77}, Payload: payload,
	}
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	w.Packet(lnd.Packet{From: castFrom, To: to, Sent: true, ID: 3, Bytes: ibta.NewPath(castFrom, to).AppendICRC(3, p.AppendTo(nil))})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := capture.NewReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	frame, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func dissectFrame(p capture.Packet, data []byte, opt capture.Options) (list []*capture.Record, counts capture.Counts) {
	d := capture.NewDissector(opt, func(r *capture.Record) { list = append(list, r.Clone()) })
	d.Packet(p.Time, p.Link, data)
	d.Close()
	return list, d.Counts()
}

// TestRoceDatagram: a datagram of o2iblnd is a packet and a message of no connection.
func TestRoceDatagram(t *testing.T) {
	b := roceDatagram(t)
	frame := capturePacket(t, castTo, ibta.MulticastQPN, b)
	list, counts := dissectFrame(frame, frame.Data, capture.Options{})
	if len(list) != 2 || counts.BadICRC+counts.Malformed+counts.Other > 0 {
		t.Fatalf("%d records, %+v", len(list), counts)
	}
	packet, r := list[0], list[1]
	if packet.Kind != capture.RocePacket || packet.Err != nil || packet.RoCE.Packet.DETH.SrcQP != 77 || packet.Conn.ID != 0 {
		t.Errorf("packet %+v of %+v", packet, packet.Conn)
	}
	if r.Kind != capture.Message || !r.Datagram || r.Err != nil || r.Type() != "PUT" || r.Src() != castFrom || r.Dst() != castTo || r.Conn.ID != 0 {
		t.Errorf("record %+v of %+v", r, r.Conn)
	}
	if !r.Conn.RoCE || r.Conn.QPs != [2]uint32{77, 0xFFFFFF} || string(r.Payload) != "hello" || r.Header.DestNID != nid.MustParse("239.76.0.5@o2ib") {
		t.Errorf("payload %q, header %+v, of %+v", r.Payload, r.Header, r.Conn)
	}
	if again, err := r.AppendBinary(nil); err != nil || !bytes.Equal(again, b) || !bytes.Equal(r.Raw, b) {
		t.Errorf("encoded again %x, %v, was %x", again, err, b)
	}
	layers := gopacket.NewPacket(r.Raw, r.Layer(), gopacket.Default)
	var names []string
	for _, l := range layers.Layers() {
		names = append(names, l.LayerType().String())
	}
	if !slices.Equal(names, []string{"LNetDatagram", "LNet", "Payload"}) || layers.ErrorLayer() != nil {
		t.Errorf("layers %v, %v", names, layers.ErrorLayer())
	}
	if list, _ := dissectFrame(frame, frame.Data, capture.Options{KeepPayload: 2}); len(list) != 2 || string(list[1].Payload) != "he" || list[1].Missing != 0 {
		t.Errorf("kept in part: %+v", list)
	}
	for n := range frame.Data { // the capture has only the first n bytes of the frame
		list, _ := dissectFrame(frame, frame.Data[:n], capture.Options{})
		for _, r := range list {
			if r.Kind == capture.Message && (r.Missing == 0 && n < len(frame.Data)-4-3 || r.Missing > 5) {
				t.Errorf("%d bytes of %d: %+v", n, len(frame.Data), r)
			}
		}
	}
}

// TestRoceDatagramHostile: a packet that is no datagram of o2iblnd is reported as a packet
// alone, and one that only begins like a datagram as not understood.
func TestRoceDatagramHostile(t *testing.T) {
	for _, tt := range []struct {
		name string
		to   string
		qp   ibta.QPN
		bend func(b []byte) []byte
		want capture.Kind // expected kind; 0: only the record of the packet
	}{
		{"of others", "239.76.0.5", ibta.MulticastQPN, func(b []byte) []byte { b[0] ^= 1; return b }, 0},
		{"empty", "239.76.0.5", ibta.MulticastQPN, func([]byte) []byte { return nil }, 0},
		{"to another queue pair", "239.76.0.5", 5, func(b []byte) []byte { return b }, 0},
		{"to one node", "10.0.0.2", ibta.MulticastQPN, func(b []byte) []byte { return b }, 0},
		{"magic alone", "239.76.0.5", ibta.MulticastQPN, func(b []byte) []byte { return b[:4] }, capture.Unknown},
		{"version", "239.76.0.5", ibta.MulticastQPN, func(b []byte) []byte { b[4] = 9; return b }, capture.Unknown},
		{"too short", "239.76.0.5", ibta.MulticastQPN, func(b []byte) []byte { return b[:len(b)-1] }, capture.Message},
		{"too long", "239.76.0.5", ibta.MulticastQPN, func(b []byte) []byte { return append(b, 0) }, capture.Message},
	} {
		t.Run(tt.name, func(t *testing.T) {
			frame := capturePacket(t, netip.AddrPortFrom(netip.MustParseAddr(tt.to), 4791), tt.qp, tt.bend(roceDatagram(t)))
			list, _ := dissectFrame(frame, frame.Data, capture.Options{})
			var got *capture.Record
			packets := 0
			for _, r := range list {
				switch r.Kind {
				case capture.RocePacket:
					packets++
				case capture.Message, capture.Unknown:
					got = r
				}
			}
			if packets != 1 || (got == nil) != (tt.want == 0) || got != nil && (got.Kind != tt.want || got.Err == nil) {
				t.Errorf("%d packets, record %+v", packets, got)
			}
		})
	}
	frame := capturePacket(t, castTo, ibta.MulticastQPN, roceDatagram(t))
	frame.Data[len(frame.Data)-1] ^= 1
	if list, counts := dissectFrame(frame, frame.Data, capture.Options{}); len(list) != 1 || list[0].Err != capture.ErrICRC || counts.BadICRC != 1 {
		t.Errorf("damaged: %+v, %+v", list, counts)
	}
}
