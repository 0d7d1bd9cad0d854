package wire

import (
	"testing"

	"ulnet/lnet/nid"
)

// member is one member of a C struct; set is the encoding of the struct with
// all bits of this member set and nothing else.
type member struct {
	name      string
	off, size int
	set       []byte
}

// layout is the layout of one C struct.
type layout struct {
	name    string
	size    int
	zero    []byte
	members []member
}

// layouts returns the layouts of all structs on the wire.
func layouts(t *testing.T) []layout {
	t.Helper()
	const ones32, ones64 = 1<<32 - 1, 1<<64 - 1
	ones := NoHandle()
	var allBody [BodySize]byte
	for i := range allBody {
		allBody[i] = 0xFF
	}
	hdr4 := encoded(t, appendHeader)
	hdr16 := encoded(t, appendLargeHeader)
	ack := encoded(t, AckCmd.AppendBinary)
	put := encoded(t, PutCmd.AppendBinary)
	get := encoded(t, GetCmd.AppendBinary)
	reply := encoded(t, ReplyCmd.AppendBinary)
	hello := encoded(t, HelloCmd.AppendBinary)
	return []layout{
		{"struct lnet_hdr_nid4", HeaderSize, hdr4(Header{}), []member{
			{"dest_nid", 0, 8, hdr4(Header{DestNID: nid.Any()})},
			{"src_nid", 8, 8, hdr4(Header{SrcNID: nid.Any()})},
			{"dest_pid", 16, 4, hdr4(Header{DestPID: ones32})},
			{"src_pid", 20, 4, hdr4(Header{SrcPID: ones32})},
			{"type", 24, 4, hdr4(Header{Type: ones32})},
			{"payload_length", 28, 4, hdr4(Header{PayloadLength: ones32})},
			{"msg", 32, 40, hdr4(Header{Body: allBody})},
		}},
		{"struct lnet_hdr_nid16", LargeHeaderSize, hdr16(Header{}), []member{
			{"dest_nid", 0, 20, hdr16(Header{DestNID: nid.Any()})},
			{"src_nid", 20, 20, hdr16(Header{SrcNID: nid.Any()})},
			{"dest_pid", 40, 4, hdr16(Header{DestPID: ones32})},
			{"src_pid", 44, 4, hdr16(Header{SrcPID: ones32})},
			{"type", 48, 4, hdr16(Header{Type: ones32})},
			{"payload_length", 52, 4, hdr16(Header{PayloadLength: ones32})},
			{"msg", 56, 40, hdr16(Header{Body: allBody})},
		}},
		{"struct lnet_ack", ackCmdSize, ack(AckCmd{}), []member{
			{"dst_wmd.wh_interface_cookie", 0, 8, ack(AckCmd{DstMD: MDHandle{Interface: ones64}})},
			{"dst_wmd.wh_object_cookie", 8, 8, ack(AckCmd{DstMD: MDHandle{Object: ones64}})},
			{"match_bits", 16, 8, ack(AckCmd{MatchBits: ones64})},
			{"mlength", 24, 4, ack(AckCmd{MLength: ones32})},
		}},
		{"struct lnet_put", putCmdSize, put(PutCmd{}), []member{
			{"ack_wmd", 0, 16, put(PutCmd{AckMD: ones})},
			{"match_bits", 16, 8, put(PutCmd{MatchBits: ones64})},
			{"hdr_data", 24, 8, put(PutCmd{HdrData: ones64})},
			{"ptl_index", 32, 4, put(PutCmd{Portal: ones32})},
			{"offset", 36, 4, put(PutCmd{Offset: ones32})},
		}},
		{"struct lnet_get", getCmdSize, get(GetCmd{}), []member{
			{"return_wmd", 0, 16, get(GetCmd{ReturnMD: ones})},
			{"match_bits", 16, 8, get(GetCmd{MatchBits: ones64})},
			{"ptl_index", 24, 4, get(GetCmd{Portal: ones32})},
			{"src_offset", 28, 4, get(GetCmd{SrcOffset: ones32})},
			{"sink_length", 32, 4, get(GetCmd{SinkLength: ones32})},
		}},
		{"struct lnet_reply", replyCmdSize, reply(ReplyCmd{}), []member{
			{"dst_wmd", 0, 16, reply(ReplyCmd{DstMD: ones})},
		}},
		{"struct lnet_hello", helloCmdSize, hello(HelloCmd{}), []member{
			{"incarnation", 0, 8, hello(HelloCmd{Incarnation: ones64})},
			{"type", 8, 4, hello(HelloCmd{ConnType: -1})},
		}},
	}
}

// TestWireCheck compares the layout of every C struct with the encodings, like
// lnet/utils/wirecheck.c of Lustre.
func TestWireCheck(t *testing.T) {
	for _, tt := range layouts(t) {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.zero) != tt.size {
				t.Errorf("sizeof is %d, want %d", len(tt.zero), tt.size)
			}
			for _, m := range tt.members {
				for i := range tt.zero {
					want := tt.zero[i]
					if i >= m.off && i < m.off+m.size {
						want = 0xFF
					}
					if m.set[i] != want {
						t.Errorf("%s: byte %d is %#x, want %#x", m.name, i, m.set[i], want)
					}
				}
			}
		})
	}
}

// encoded turns an append method into a function that makes the test fail on errors.
func encoded[T any](t *testing.T, encode func(T, []byte) ([]byte, error)) func(T) []byte {
	return func(v T) []byte {
		t.Helper()
		b, err := encode(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}
