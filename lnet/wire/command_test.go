package wire

import (
	"bytes"
	"testing"
)

var handle = MDHandle{Interface: 0x0102030405060708, Object: 0x1112131415161718}

const handleHex = "08 07 06 05 04 03 02 01 18 17 16 15 14 13 12 11"

func TestCommands(t *testing.T) {
	t.Run("ack", func(t *testing.T) {
		checkGolden(t, AckCmd{handle, 0x2122232425262728, 0x31323334}, []field{
			{0, "dst_wmd", handleHex},
			{16, "match_bits", "28 27 26 25 24 23 22 21"},
			{24, "mlength", "34 33 32 31"},
		}, AckCmd.AppendBinary, parseAckCmd)
	})
	t.Run("put", func(t *testing.T) {
		checkGolden(t, PutCmd{handle, 0x2122232425262728, 0x3132333435363738, 0x41424344, 0x51525354}, []field{
			{0, "ack_wmd", handleHex},
			{16, "match_bits", "28 27 26 25 24 23 22 21"},
			{24, "hdr_data", "38 37 36 35 34 33 32 31"},
			{32, "ptl_index", "44 43 42 41"},
			{36, "offset", "54 53 52 51"},
		}, PutCmd.AppendBinary, parsePutCmd)
	})
	t.Run("get", func(t *testing.T) {
		checkGolden(t, GetCmd{handle, 0x2122232425262728, 0x31323334, 0x41424344, 0x51525354}, []field{
			{0, "return_wmd", handleHex},
			{16, "match_bits", "28 27 26 25 24 23 22 21"},
			{24, "ptl_index", "34 33 32 31"},
			{28, "src_offset", "44 43 42 41"},
			{32, "sink_length", "54 53 52 51"},
		}, GetCmd.AppendBinary, parseGetCmd)
	})
	t.Run("reply", func(t *testing.T) {
		checkGolden(t, ReplyCmd{handle}, []field{
			{0, "dst_wmd", handleHex},
		}, ReplyCmd.AppendBinary, parseReplyCmd)
	})
	t.Run("hello", func(t *testing.T) {
		checkGolden(t, HelloCmd{0x0102030405060708, -2}, []field{
			{0, "incarnation", "08 07 06 05 04 03 02 01"},
			{8, "type", "FE FF FF FF"},
		}, HelloCmd.AppendBinary, parseHelloCmd)
	})
}

// TestBodies checks that each Set method writes type and body, overwrites all bytes of the
// earlier command, and can be read back.
func TestBodies(t *testing.T) {
	ack := AckCmd{handle, 1, 2}
	put := PutCmd{handle, 1, 2, 3, 4}
	get := GetCmd{handle, 1, 2, 3, 4}
	reply := ReplyCmd{handle}
	hello := HelloCmd{5, -1}
	tests := []struct {
		typ    MsgType
		size   int
		set    func(*Header)
		same   func(*Header) bool
		encode func([]byte) ([]byte, error)
	}{
		{Ack, ackCmdSize, func(h *Header) { h.SetAck(ack) }, func(h *Header) bool { return h.Ack() == ack }, ack.AppendBinary},
		{Put, putCmdSize, func(h *Header) { h.SetPut(put) }, func(h *Header) bool { return h.Put() == put }, put.AppendBinary},
		{Get, getCmdSize, func(h *Header) { h.SetGet(get) }, func(h *Header) bool { return h.Get() == get }, get.AppendBinary},
		{Reply, replyCmdSize, func(h *Header) { h.SetReply(reply) }, func(h *Header) bool { return h.Reply() == reply }, reply.AppendBinary},
		{Hello, helloCmdSize, func(h *Header) { h.SetHello(hello) }, func(h *Header) bool { return h.Hello() == hello }, hello.AppendBinary},
	}
	for _, tt := range tests {
		t.Run(tt.typ.String(), func(t *testing.T) {
			h := Header{Type: 99, PayloadLength: 7, Body: numbered}
			tt.set(&h)
			want, err := tt.encode(nil)
			if err != nil || len(want) != tt.size {
				t.Fatalf("%d bytes, %v, want %d", len(want), err, tt.size)
			}
			want = append(want, make([]byte, BodySize-tt.size)...)
			if !bytes.Equal(h.Body[:], want) {
				t.Errorf("body\n got % x\nwant % x", h.Body, want)
			}
			if h.Type != tt.typ || h.PayloadLength != 7 || !tt.same(&h) {
				t.Errorf("header %v", h)
			}
		})
	}
}

func TestMDHandle(t *testing.T) {
	if !NoHandle().IsNone() || handle.IsNone() || (MDHandle{}).IsNone() {
		t.Error("IsNone is wrong")
	}
	if (MDHandle{NoHandle().Interface, 1}).IsNone() || (MDHandle{1, NoHandle().Object}).IsNone() {
		t.Error("one cookie makes none")
	}
	if got := NoHandle().append(nil); !bytes.Equal(got, bytes.Repeat([]byte{0xFF}, 16)) {
		t.Errorf("NoHandle is % x", got)
	}
	if got := NoHandle().String(); got != "none" {
		t.Errorf("NoHandle prints %q", got)
	}
	if got := (MDHandle{0x1A, 0x21}).String(); got != "0x1a.0x21" {
		t.Errorf("prints %q", got)
	}
}

func FuzzParseCommands(f *testing.F) {
	for _, name := range []string{"get", "reply", "push", "ack", "put", "v1-hello"} {
		f.Add(readHex(f, name)[HeaderSize-BodySize : HeaderSize])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		reappend(t, b, ackCmdSize, AckCmd.AppendBinary, parseAckCmd)
		reappend(t, b, putCmdSize, PutCmd.AppendBinary, parsePutCmd)
		reappend(t, b, getCmdSize, GetCmd.AppendBinary, parseGetCmd)
		reappend(t, b, replyCmdSize, ReplyCmd.AppendBinary, parseReplyCmd)
		reappend(t, b, helloCmdSize, HelloCmd.AppendBinary, parseHelloCmd)
	})
}

// reappend parses b and checks that encoding the result gives the same bytes.
func reappend[T any](t *testing.T, b []byte, size int,
	encode func(T, []byte) ([]byte, error), parse func([]byte) (T, []byte, error),
) {
	t.Helper()
	v, rest, err := parse(b)
	if (err != nil) != (len(b) < size) {
		t.Fatalf("%T of %d bytes: %v", v, len(b), err)
	}
	if err != nil {
		return
	}
	if again, err := encode(v, nil); err != nil || !bytes.Equal(again, b[:size]) || len(rest) != len(b)-size {
		t.Fatalf("%T: % x written as % x, %v", v, b[:size], again, err)
	}
}

// parsePutCmd parses a PutCmd. The only error is ErrShort.
func parsePutCmd(b []byte) (p PutCmd, rest []byte, err error) {
	if len(b) < putCmdSize {
		return PutCmd{}, b, ErrShort
	}
	p.Parse((*[putCmdSize]byte)(b))
	return p, b[putCmdSize:], nil
}
