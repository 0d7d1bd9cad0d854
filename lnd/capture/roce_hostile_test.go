package capture_test

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// TestRoCEDamage: a packet with a wrong ICRC is reported, and its retransmission is used.
func TestRoCEDamage(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.message(0, immediate("two"), 256)
	bad := w.list[1]
	bad.Data = bytes.Clone(bad.Data)
	bad.Data[len(bad.Data)-5] ^= 1
	counts := wantRoCE(t, []capture.Packet{w.list[0], bad, w.list[1]}, `
		1/0 opened
		1/0 mid-stream
		1/0 PUT "one"
		1/0 packet: ICRC is wrong
		1/0 PUT "two"
		1/0 closed: capture ends inside the connection`)
	if counts.BadICRC != 1 {
		t.Errorf("%d packets with a bad ICRC", counts.BadICRC)
	}
}

// TestRoCECut: packets that were captured in part make no message, and the next message is
// understood.
func TestRoCECut(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("a payload that is cut off"), 256)
	w.message(0, immediate("two"), 256)
	w.list[0].Data = w.list[0].Data[:28+12+60]
	counts := wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 packet: record is cut short
		1/0 unknown 60: record is cut short
		1/0 PUT "two"
		1/0 closed: capture ends inside the connection`)
	if counts.Truncated != 1 {
		t.Errorf("%d packets cut", counts.Truncated)
	}
}

// TestRoCECutMAD: messages of the connection manager that were captured in part, or are damaged, are packets of no connection.
func TestRoCECutMAD(t *testing.T) {
	w := newRoceWire(t)
	for range 2 {
		w.packet(0, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: make([]byte, ibta.MADSize)})
	}
	w.list[0].Data = w.list[0].Data[:28+12+60]
	w.list[1].Data[28+12+60] ^= 1
	wantRoCE(t, w.list, `
		0/0 packet: record is cut short
		0/0 packet: ICRC is wrong`)
}

// TestRoCEStrange: messages that are not o2iblnd's are reported as unknown.
func TestRoCEStrange(t *testing.T) {
	w := newRoceWire(t)
	send := func(op ibta.OpCode, b string) {
		w.packet(0, ibta.Packet{BTH: ibta.BTH{OpCode: op, PSN: w.ends[0].psn}, Payload: []byte(b)})
		w.ends[0].psn = w.ends[0].psn.Add(1)
	}
	send(ibta.SendOnly, "hello")                    // the bytes are no message of o2iblnd
	send(ibta.SendFirst, strings.Repeat("x", 256))  // a first packet whose last packet never comes
	send(ibta.SendOnly, "")                         // an empty message
	send(ibta.SendFirst, strings.Repeat("x", 4096)) // a message that is too long
	send(ibta.SendLast, strings.Repeat("x", 4096))  // the last packet of that message
	send(ibta.SendMiddle, "x")                      // a middle packet whose first packet has not come
	send(ibta.WriteOnly, "x")                       // an RDMA WRITE to an unknown address
	send(ibta.WriteLast, "x")                       // a last packet whose first packet has not come
	send(0x0C, "")                                  // opcode of an RDMA READ request
	w.message(0, immediate("still"), 256)           // valid messages are still understood
	mad := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: make([]byte, ibta.MADSize)}
	w.packet(0, mad)
	mad.Payload = mad.Payload[:100]
	w.packet(0, mad)
	w.list = append(w.list, capture.Packet{Link: capture.LinkRaw, Data: w.list[0].Data[:28]}) // an IPv4 packet that ends after the UDP header
	w.list[len(w.list)-1].Data = bytes.Clone(w.list[len(w.list)-1].Data)
	w.list[len(w.list)-1].Data[25] = 8
	counts := wantRoCE(t, w.list, `
		1/0 opened
		1/0 mid-stream
		1/0 unknown 5: record is cut short
		1/0 unknown 256: bytes before it are lost
		1/0 unknown 0: record is cut short
		1/0 unknown 4096: message too long
		1/0 packet: unknown opcode
		1/0 PUT "still"
		2/0 opened
		2/0 mid-stream
		2/0 unknown 256: not a message of the connection manager
		2/0 unknown 100: packet is cut short
		1/0 closed: capture ends inside the connection
		2/0 closed: capture ends inside the connection`)
	if counts.Malformed != 1 {
		t.Errorf("%d malformed", counts.Malformed)
	}
}

// TestRoCEFlood: the number of queue pairs and transfers that the dissector remembers is
// limited, however many a capture has.
func TestRoCEFlood(t *testing.T) {
	w := newRoceWire(t)
	for range 1000 { // transfers without an end
		w.message(0, kib.Msg{Header: kib.Header{Type: kib.PutReq}, LNet: putHeader(4000), Cookie: uint64(w.ends[0].psn)}, 1024)
	}
	a, b := netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("10.0.0.8")
	for qp := range 5000 {
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, DestQP: ibta.QPN(qp + 2)}}
		w.list = append(w.list, ipPacketOf(a, b, p.AppendTo(nil)))
	}
	for id := range 5000 { // REQs without an answer
		req := ibta.REQ{LocalID: ibta.CommID(id + 1), QPN: ibta.QPN(id + 2)}
		body := req.AppendTo(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil))
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: body}
		w.list = append(w.list, ipPacketOf(b, a, p.AppendTo(nil)))
	}
	open, most := 0, 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Opened:
			open++
		case capture.Closed:
			open--
		}
		most = max(most, open)
	})
	for _, p := range w.list {
		d.Packet(p.Time, p.Link, p.Data)
	}
	evicted := d.Counts().Evicted
	d.Close()
	if open != 0 || most > 4100 || evicted == 0 {
		t.Errorf("%d connections at once, %d left, %d evicted", most, open, evicted)
	}
}

// TestRoCEReused: after another REQ a queue pair belongs to another connection.
func TestRoCEReused(t *testing.T) {
	w := newRoceWire(t)
	connect := func(id ibta.CommID) {
		req := ibta.REQ{LocalID: id, QPN: w.ends[0].qp, StartingPSN: w.ends[1].psn}
		rep := ibta.REP{LocalID: id + 100, RemoteID: id, QPN: w.ends[1].qp, StartingPSN: w.ends[0].psn}
		for side, body := range [][]byte{
			req.AppendTo(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil)), rep.AppendTo(ibta.MAD{Attribute: ibta.AttrREP}.AppendTo(nil)),
		} {
			p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: body}
			w.packet(side, p)
			w.packet(side, p) // the peer sends the same packet again
		}
	}
	connect(7)
	w.message(0, immediate("one"), 256)
	w.message(1, immediate("two"), 256)
	w.ends[0].psn, w.ends[1].psn = 500, 600
	connect(8)
	w.message(0, immediate("three"), 256)
	w.message(1, immediate("four"), 256)
	got, _ := tellRoCE(w.list)
	got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "CM: not an RDMA-CM") })
	want := []string{
		"1/0 opened", "1/1 CM", "1/1 CM", `1/0 PUT "one"`, `1/1 PUT "two"`,
		"2/0 opened", "1/0 closed: " + capture.ErrReused.Error(), "2/1 CM", "2/1 CM", `2/0 PUT "three"`, `2/1 PUT "four"`,
		"2/0 closed: capture ends inside the connection",
	}
	if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
		t.Errorf("%s", text)
	}
}

// TestRoCERefused: the record of the end of a refused connection says that it was refused.
func TestRoCERefused(t *testing.T) {
	w := newRoceWire(t)
	req := ibta.REQ{LocalID: 7, QPN: w.ends[0].qp}
	rej := ibta.REJ{LocalID: 107, RemoteID: 7, Reason: ibta.RejectConsumer}
	for side, body := range [][]byte{
		req.AppendTo(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil)), rej.AppendTo(ibta.MAD{Attribute: ibta.AttrREJ}.AppendTo(nil)),
	} {
		w.packet(side, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: body})
	}
	got, _ := tellRoCE(w.list)
	if want := "1/0 closed: " + capture.ErrRejected.Error(); len(got) == 0 || got[len(got)-1] != want {
		t.Errorf("%q, want at the end %q", got, want)
	}
}

// FuzzRoCE dissects RoCE packets: the input is a sequence of UDP payloads, each behind two
// bytes of length, of which the first bit is the direction. Their ICRCs are corrected first.
func FuzzRoCE(f *testing.F) {
	add := func(packets []capture.Packet, headers int) {
		var b []byte
		for _, p := range packets {
			roce := p.Data[headers : len(p.Data)-ibta.ICRCSize]
			n := len(roce)
			if p.Data[headers-13]&1 != 0 { // the last byte of the destination's IPv4 address
				n |= 1 << 15
			}
			b = append(append(b, byte(n>>8), byte(n)), roce...)
		}
		f.Add(b)
	}
	w := newRoceWire(f)
	w.bulk()
	add(w.list, 28)
	for _, name := range []string{"o2ib-rxe-active-ping.pcap", "o2ib-rxe-rejects-renegotiation.pcap"} {
		add(readPackets(f, openFile(f, "testdata/"+name)), 14+28)
	}
	a, b := netip.MustParseAddr("10.88.0.1"), netip.MustParseAddr("10.88.0.2")
	f.Fuzz(func(t *testing.T, in []byte) {
		d := capture.NewDissector(capture.Options{KeepPayload: 1 << 20}, func(r *capture.Record) {
			if again, err := r.AppendBinary(nil); err != nil && r.Err == nil && len(r.Raw) <= kib.MaxMsgSize {
				t.Fatalf("%s: %x, %v", r.Type(), again, err)
			}
			r.Clone()
			r.Moved()
			r.Portal()
			r.PingInfo()
		})
		for len(in) >= 2 {
			n := int(in[0]&0x7F)<<8 | int(in[1])
			src, dst := a, b
			if in[0]&0x80 != 0 {
				src, dst = b, a
			}
			if n = min(n, len(in)-2); n < ibta.BTHSize {
				break
			}
			p := ipPacketOf(src, dst, in[2:2+n:2+n])
			d.Packet(p.Time, p.Link, p.Data)
			in = in[2+n:]
		}
		d.Close()
	})
}
