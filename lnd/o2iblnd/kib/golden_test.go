package kib

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// unhex parses hex in which blanks separate fields.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	node1 = nid.MustParse("10.10.0.1@o2ib")
	node2 = nid.MustParse("10.10.0.2@o2ib")
)

const stamp1, stamp2 = 0x0006433C5A5A1000, 0x0006433C6B6B2000

// between returns the header of a message from node1 to node2.
func between(t MsgType, nob uint32) Header {
	return Header{Version: V2, Type: t, Nob: nob, SrcNID: node1, SrcStamp: stamp1, DstNID: node2, DstStamp: stamp2}
}

func put(payload uint32) wire.Header {
	h := wire.Header{DestNID: node2, SrcNID: node1, DestPID: 12345, SrcPID: 12345, PayloadLength: payload}
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 0x0102030405060708, Portal: 51})
	return h
}

func get(sink uint32) wire.Header {
	h := wire.Header{DestNID: node2, SrcNID: node1, DestPID: 12345, SrcPID: 12345}
	h.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Interface: 7, Object: 8}, MatchBits: 9, Portal: 52, SinkLength: sink})
	return h
}

func desc(t testing.TB, big bool, key uint32, frags ...Frag) Desc {
	t.Helper()
	d, err := MakeDesc(nil, key, frags...)
	if err != nil {
		t.Fatal(err)
	}
	return Desc{Key: d.Key, wire: d.appendTo(nil, byteOrder(big))[descSize:], big: byteOrder(big)}
}

const (
	ends12 = " 01000a0a00000500 00105a5a3c430600 02000a0a00000500 00206b6b3c430600 "
	// Parts of the LNet headers that put and get return: the NIDs and PIDs, and what is behind the
	// payload length.
	nids12  = " 02000a0a00000500 01000a0a00000500 39300000 39300000 "
	putBody = " ffffffffffffffffffffffffffffffff 0807060504030201 0000000000000000 33000000 00000000 "
	getBody = " 0700000000000000 0800000000000000 0900000000000000 34000000 00000000 00001000 00000000 "
)

type golden struct {
	name string
	msg  Msg
	hex  string
}

// goldens are one message of each type, and those that o2iblnd-wire §13 gives as examples.
func goldens(t testing.TB) []golden {
	whole := desc(t, false, 0x22A8, Frag{1 << 20, 0xFF1CC4BB9639E000})
	noop := Msg{Header: between(Noop, 48)}
	noop.Credits = 4
	request := Msg{Header: between(ConnReq, 56), Params: ConnParams{8, 257, MaxMsgSize}}
	request.DstStamp = 0
	summed := noop
	summed.Checksum = 0x824A650A
	nak := Msg{Header: between(PutNak, 60), Cookie: 0x1122334455667788, Status: -61}
	swapped := Msg{Header: between(PutAck, 84), Cookie: 1, DstCookie: 2, Desc: desc(t, true, 0x01020304, Frag{10, 0x1112131415161718})}
	swapped.BigEndian = true
	return []golden{
		{"CONNREQ", request, `911be90b 1200 c0 00 38000000 00000000
			01000a0a00000500 00105a5a3c430600 02000a0a00000500 0000000000000000 0800 0101 00100000`},
		{
			"CONNACK",
			Msg{Header: between(ConnAck, 56), Params: ConnParams{4, 256, MaxMsgSize}},
			"911be90b 1200 c1 00 38000000 00000000" + ends12 + "0400 0001 00100000",
		},
		{"NOOP", noop, "911be90b 1200 d0 04 30000000 00000000" + ends12},
		{"NOOP with checksum", summed, "911be90b 1200 d0 04 30000000 0a654a82" + ends12},
		{
			"IMMEDIATE",
			Msg{Header: between(Immediate, 125), LNet: put(5), Payload: []byte("hello")},
			"911be90b 1200 d1 00 7d000000 00000000" + ends12 + nids12 + "01000000 05000000" + putBody + "68656c6c6f",
		},
		{
			"PUT_REQ",
			Msg{Header: between(PutReq, 128), LNet: put(1 << 20), Cookie: 0x1122334455667788},
			"911be90b 1200 d2 00 80000000 00000000" + ends12 + nids12 + "01000000 00001000" + putBody + "8877665544332211",
		},
		{"PUT_NAK", nak, "911be90b 1200 d3 00 3c000000 00000000" + ends12 + "8877665544332211 c3ffffff"},
		{
			"PUT_ACK",
			Msg{Header: between(PutAck, 84), Cookie: 0x1122334455667788, DstCookie: 9, Desc: whole},
			"911be90b 1200 d4 00 54000000 00000000" + ends12 + "8877665544332211 0900000000000000 a8220000 01000000 00001000 00e03996bbc41cff",
		},
		{
			"PUT_DONE",
			Msg{Header: between(PutDone, 60), Cookie: 9, Status: 1 << 20},
			"911be90b 1200 d5 00 3c000000 00000000" + ends12 + "0900000000000000 00001000",
		},
		{
			"GET_REQ",
			Msg{
				Header: between(GetReq, 160), LNet: get(1 << 20), Cookie: 3,
				Desc: desc(t, false, 0x22A8, Frag{10, 0x1000}, Frag{1<<20 - 10, 0x2000}),
			},
			"911be90b 1200 d6 00 a0000000 00000000" + ends12 + nids12 + "02000000 00000000" + getBody +
				"0300000000000000 a8220000 02000000 0a000000 0010000000000000 f6ff0f00 0020000000000000",
		},
		{
			"GET_DONE",
			Msg{Header: between(GetDone, 60), Cookie: 3, Status: -61},
			"911be90b 1200 d7 00 3c000000 00000000" + ends12 + "0300000000000000 c3ffffff",
		},
		{"PUT_ACK, big-endian", swapped, `0be91b91 0012 d4 00 00000054 00000000
			000500000a0a0001 0006433c5a5a1000 000500000a0a0002 0006433c6b6b2000
			0000000000000001 0000000000000002 01020304 00000001 0000000a 1112131415161718`},
	}
}

// same makes cmp compare messages by their contents.
var same = cmp.Options{
	cmp.Comparer(func(a, b Desc) bool {
		if a.Key != b.Key || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if a.Frag(i) != b.Frag(i) {
				return false
			}
		}
		return true
	}),
	cmp.Comparer(func(a, b nid.NID) bool { return a == b }),
	cmp.Comparer(bytes.Equal),
}

func TestGolden(t *testing.T) {
	for _, tt := range goldens(t) {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			if got, err := tt.msg.AppendBinary(nil); err != nil || !bytes.Equal(got, want) {
				t.Errorf("AppendBinary: %v\n got %x\nwant %x", err, got, want)
			}
			got, err := ParseMsg(append(bytes.Clone(want), "ignored"...))
			if diff := cmp.Diff(tt.msg, got, same); err != nil || diff != "" {
				t.Errorf("ParseMsg: %v (-want +got)\n%s", err, diff)
			}
			if err := got.VerifyChecksum(want); err != nil {
				t.Error(err)
			}
			for n := range want {
				_, err := ParseMsg(want[:n])
				if wantErr := map[bool]error{true: ErrShort, false: errNob}[n < HeaderSize]; err != wantErr {
					t.Errorf("%d bytes: %v, want %v", n, err, wantErr)
				}
			}
		})
	}
}

func TestTypeText(t *testing.T) {
	for i, g := range goldens(t)[:11] {
		name, _, _ := strings.Cut(g.name, " ")
		if got := g.msg.Type.String(); got != name {
			t.Errorf("%d: %s, want %s", i, got, name)
		}
	}
	for got, want := range map[string]string{
		MsgType(0xD8).String(): "type 0xd8", V2.String(): "v2", V1.String(): "v1", Version(0x13).String(): "version 0x13",
		MsgQueueSize.String(): "MSG_QUEUE_SIZE", Why(0).String(): "why 0", Why(77).String(): "why 77",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestChecksum: the checksums of a NOOP over unsigned and over signed bytes are the two that o2iblnd-wire
// §13 gives. A sum of 0 is replaced, and a checksum that was set is verified.
func TestChecksum(t *testing.T) {
	b := unhex(t, "911be90b 1200 d0 04 30000000 deadbeef"+ends12)
	if u, s := Checksum(b, Unsigned), Checksum(b, Signed); u != 0x824A650A || s != 0x81A8E50A {
		t.Errorf("%#x unsigned, %#x signed", u, s)
	}
	if Checksum(make([]byte, HeaderSize), Unsigned) != 1 {
		t.Error("a sum of 0 is not replaced")
	}
	for _, c := range []Counting{Unsigned, Signed} {
		SetChecksum(b, false, c)
		h, err := ParseHeader(b)
		if err != nil || h.Checksum != Checksum(b, c) || h.VerifyChecksum(b) != nil {
			t.Errorf("signed %v: %#x, %v", c, h.Checksum, err)
		}
		b[20]++
		if err := h.VerifyChecksum(b); err != ErrChecksum {
			t.Errorf("signed %v, damaged: %v", c, err)
		}
		b[20]--
	}
}

func TestReject(t *testing.T) {
	tests := []struct {
		name, hex string
		want      Reject
		err       error
	}{
		{
			"queue depth", "911be90b 1200 07 00 f315cb8ebb600600 0800 0101 00100000",
			Reject{false, V2, MsgQueueSize, true, 0x000660BB8ECB15F3, ConnParams{8, 257, 4096}},
			nil,
		},
		{
			"no such NI", "911be90b 1200 03 00 0000000000000000 0000 0000 00100000",
			Reject{false, V2, Fatal, true, 0, ConnParams{0, 0, 4096}},
			nil,
		},
		{"version 1 ends early", "911be90b 1100 03 00 f315cb8ebb600600 0800 0101 00100000", Reject{Version: V1, Why: Fatal}, nil},
		{"seven bytes", "911be90b 1200 01", Reject{Version: V2, Why: ConnRace}, nil},
		{"unified magic", "63697245 1200 03", Reject{Version: V2, Why: Fatal}, nil},
		{
			"big-endian", "0be91b91 0012 06 00 0000000000000001 0008 0100 00001000",
			Reject{true, V2, RDMAFrags, true, 1, ConnParams{8, 256, 4096}},
			nil,
		},
		{"nothing", "000000000000 00", Reject{}, ErrMagic},
		{"unknown version", "911be90b 1300 03", Reject{Version: 0x13}, ErrVersion},
		{"unified magic, unknown version", "63697245 1300 03", Reject{Version: 0x13}, ErrVersion},
		{"six bytes", "911be90b 1200", Reject{}, ErrShort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			r, err := ParseReject(b)
			if r != tt.want || err != tt.err {
				t.Fatalf("%+v, %v, want %+v, %v", r, err, tt.want, tt.err)
			}
			if r.Complete && !bytes.Equal(r.AppendTo(nil), b) {
				t.Errorf("encoded again %x", r.AppendTo(nil))
			}
		})
	}
}
