package capture_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Bytes of a connection of v3 that tests put together.
var (
	request = unhex("0071ceac 01000000 0200000a00000200")
	hello   = unhex("63697245 03000000 0100000a00000200 0200000a00000200" +
		"39300000 00000000 8877665544332211 0000000000000000 01000000 00000000")
	ping = unhex("c1000000 00000000 0000000000000000 0000000000000000" +
		"0200000a00000200 0100000a00000200 39300000 39300000 02000000 00000000" +
		"0807060504030201 2100000000000000 0000000000000080 00000000 00000000 10010000 00000000")
	put = append(unhex("c1000000 00000000 0700000000000000 0000000000000000"+
		"0200000a00000200 0100000a00000200 39300000 39300000 01000000 08000000"+
		"ffffffffffffffffffffffffffffffff 9900000000000000 cdab000000000000 0c000000 04000000"), "payload!"...)
	keepalive = unhex("c0000000 00000000 0000000000000000 0100000000000000")
)

// join returns all pieces as one slice.
func join(pieces ...[]byte) []byte { return slices.Concat(pieces...) }

// patch returns b with other bytes from an offset on.
func patch(b []byte, off int, hex string) []byte {
	b = bytes.Clone(b)
	copy(b[off:], unhex(hex))
	return b
}

// story returns the records that a decoder emits, one per line.
func story(feed func(d *capture.Decoder)) []string {
	var lines []string
	conn := &capture.Conn{ID: 1}
	d := capture.NewDecoder(conn, 1<<20, func(r *capture.Record) {
		what := r.Type()
		if what == "" {
			what = map[capture.Kind]string{capture.Unknown: "unknown", capture.Lost: "lost", capture.MidStream: "mid-stream"}[r.Kind]
		}
		line := fmt.Sprintf("%s %d+%d", what, r.Offset, r.Length)
		if r.Missing > 0 {
			line += fmt.Sprintf(" missing %d", r.Missing)
		}
		if r.Err != nil {
			line += ": " + r.Err.Error()
		}
		lines = append(lines, line)
	})
	feed(d)
	return lines
}

func TestDecoder(t *testing.T) {
	zero := capture.Stamp{}
	all := func(side capture.Side, begin bool, pieces ...[]byte) func(*capture.Decoder) {
		return func(d *capture.Decoder) {
			if begin {
				d.Begin(side)
			}
			for _, b := range pieces {
				d.Feed(side, zero, b)
			}
			d.End(side, zero)
		}
	}
	tests := []struct {
		name string
		feed func(*capture.Decoder)
		want string
	}{
		{"initiator", all(capture.Initiator, true, request, hello, ping, put, keepalive), "ACCEPTOR 0+16, HELLO 16+56, GET 72+96, PUT 168+104, NOOP 272+24"},
		{"all at once", all(capture.Initiator, true, join(request, hello, ping, put, keepalive)), "ACCEPTOR 0+16, HELLO 16+56, GET 72+96, PUT 168+104, NOOP 272+24"},
		{"acceptor", all(capture.Acceptor, true, hello, put), "HELLO 0+56, PUT 56+104"},
		{"nothing said of the beginning", all(capture.Initiator, false, request, hello, ping), "ACCEPTOR 0+16, HELLO 16+56, GET 72+96"},
		{"request lost", all(capture.Initiator, false, hello, ping), "HELLO 0+56, GET 56+96"},
		{"nothing", all(capture.Initiator, true), ""},
		{"three bytes", all(capture.Initiator, false, request[:3]), "unknown 0+3: record is cut short"},
		{"refusal", all(capture.Acceptor, true, patch(request, 8, "0000000000000000")), "ACCEPTOR 0+16"},

		{"HTTP", all(capture.Initiator, true, []byte("GET / HTTP/1.1\r\n\r\n")), "unknown 0+18: wrong magic"},
		{"HTTP, a byte at a time", all(capture.Initiator, true, []byte("G"), []byte("E"), []byte("T"), []byte(" "), []byte("/")), "unknown 0+5: wrong magic"},
		{"generic magic", all(capture.Initiator, true, hello), "unknown 0+56: wrong magic: LNet's in place of the acceptor's"},
		{"request of version 7", all(capture.Initiator, true, patch(request, 4, "07000000"), hello), "ACCEPTOR 0+16: unknown version, HELLO 16+56"},
		{"HELLO of another magic", all(capture.Initiator, true, request, patch(hello, 0, "00"), ping), "ACCEPTOR 0+16, unknown 16+152: not a HELLO magic"},
		{"HELLO of version 9", all(capture.Initiator, true, request, patch(hello, 4, "09")), "ACCEPTOR 0+16, HELLO 16+8: unknown HELLO version, unknown 24+48: unknown HELLO version"},
		{"40 addresses", all(capture.Initiator, true, request, patch(hello, 52, "28"), ping), "ACCEPTOR 0+16, HELLO 16+56: bad address list in HELLO, unknown 72+96: bad address list in HELLO"},
		{"connection type 77", all(capture.Initiator, true, request, patch(hello, 48, "4d"), ping), "ACCEPTOR 0+16, HELLO 16+56: unknown connection type, GET 72+96"},
		{"half a request", all(capture.Initiator, true, request[:10]), "unknown 0+10: record is cut short"},
		{"half a HELLO", all(capture.Acceptor, true, hello[:30]), "unknown 0+30: record is cut short"},

		{"message cut in its header", all(capture.Acceptor, true, hello, ping[:50]), "HELLO 0+56, unknown 56+50: record is cut short"},
		{"message cut in its payload", all(capture.Acceptor, true, hello, put[:100]), "HELLO 0+56, PUT 56+100 missing 4: record is cut short"},
		{"message type C2", all(capture.Acceptor, true, hello, patch(ping, 0, "c2"), ping), "HELLO 0+56, unknown 56+96: unknown message type, GET 152+96"},
		{"payload of 4 GiB", all(capture.Acceptor, true, hello, patch(put, 52, "ffffffff"), ping), "HELLO 0+56, unknown 56+104: payload longer than 1 MiB, GET 160+96"},
		{"GET with payload", all(capture.Acceptor, true, hello, patch(ping, 52, "03"), []byte("abc"), ping), "HELLO 0+56, GET 56+99: payload where none is allowed, GET 155+96"},
		{"HELLO as message", all(capture.Acceptor, true, hello, patch(ping, 48, "04"), ping), "HELLO 0+56, HELLO 56+96: unknown message type, GET 152+96"},
		{"LNet type 5", all(capture.Acceptor, true, hello, patch(ping, 48, "05"), ping), "HELLO 0+56, unknown 56+96: unknown message type, GET 152+96"},
		{"keepalive with a cookie", all(capture.Acceptor, true, hello, patch(keepalive, 8, "05")), "HELLO 0+56, NOOP 56+24: bad zero-copy ack: keepalive with cookie 5"},

		{"mid-stream at a message", all(capture.Acceptor, false, put, ping), "mid-stream 0+0, PUT 0+104, GET 104+96"},
		{"mid-stream at a NOOP", all(capture.Acceptor, false, keepalive, ping), "mid-stream 0+0, NOOP 0+24, GET 24+96"},
		{"mid-stream inside a payload", all(capture.Acceptor, false, []byte("ad!"), ping), "mid-stream 0+0, unknown 0+3: capture begins inside the connection, GET 3+96"},
		{"mid-stream inside a header", all(capture.Acceptor, false, put[40:], ping), "mid-stream 0+0, unknown 0+64: capture begins inside the connection, GET 64+96"},
		{"mid-stream on v1", all(capture.Acceptor, false, put[24:], ping[24:]), "mid-stream 0+0, PUT 0+80, GET 80+72"},
		{"mid-stream, nothing found", all(capture.Acceptor, false, make([]byte, 5000)), "mid-stream 0+0, unknown 0+5000: capture begins inside the connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.Join(story(tt.feed), ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecoderGap(t *testing.T) {
	zero := capture.Stamp{}
	const side = capture.Acceptor
	tests := []struct {
		name   string
		before []byte
		gap    uint64
		after  []byte
		want   string
	}{
		{"inside a payload", join(hello, put[:98]), 4, join(put[102:], ping), "HELLO 0+56, lost 154+4, PUT 56+104 missing 4, GET 160+96"},
		{"to the end of a payload", join(hello, put[:98]), 6, ping, "HELLO 0+56, lost 154+6, PUT 56+104 missing 6, GET 160+96"},
		{"beyond a payload", join(hello, put[:98]), 50, join(ping[44:], ping), "HELLO 0+56, lost 154+50, PUT 56+104 missing 6, unknown 204+52: bytes before it are lost, GET 256+96"},
		{"inside a header", join(hello, ping[:40]), 20, join(ping[60:], put), "HELLO 0+56, lost 96+20, unknown 56+40: bytes before it are lost, unknown 116+36: bytes before it are lost, PUT 152+104"},
		{"a whole message", hello, 96, put, "HELLO 0+56, lost 56+96, PUT 152+104"},
		{"inside the HELLO", hello[:20], 36, ping, "lost 20+36, unknown 0+20: bytes before it are lost, GET 56+96"},
		{"after broken bytes", []byte("junk"), 10, ping, "lost 4+10, unknown 0+4: not a HELLO magic, unknown 14+96: not a HELLO magic"},
		{"everything", nil, 1 << 31, put, "lost 0+2147483648, PUT 2147483648+104"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := story(func(d *capture.Decoder) {
				d.Begin(side)
				d.Feed(side, zero, tt.before)
				d.Gap(side, zero, tt.gap)
				d.Feed(side, zero, tt.after)
				d.End(side, zero)
			})
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecoderLearnsVersion: the capture of one side begins in mid-stream. The decoder learns the version
// of the protocol from the HELLO of the other side.
func TestDecoderLearnsVersion(t *testing.T) {
	zero := capture.Stamp{}
	got := story(func(d *capture.Decoder) {
		d.Feed(capture.Acceptor, zero, patch(hello, 4, "02"))
		d.Feed(capture.Initiator, zero, []byte{1, 2, 3, 4, 5})
		d.Feed(capture.Initiator, zero, ping)
		d.End(capture.Initiator, zero)
	})
	want := []string{"HELLO 0+56", "mid-stream 0+0", "unknown 0+5: " + capture.ErrMidStream.Error(), "GET 5+96"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecoderKeep shows that only the bytes of payload depend on how much is kept: lengths,
// checksums and later records are the same.
func TestDecoderKeep(t *testing.T) {
	sum := ksock.Checksum(ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{7}}, put[24:])
	message := bytes.Clone(put)
	message[4], message[5], message[6], message[7] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	for _, keep := range []int{0, 3, 8, 100} {
		var got []capture.Record
		d := capture.NewDecoder(&capture.Conn{}, keep, func(r *capture.Record) { got = append(got, *r.Clone()) })
		d.Feed(capture.Acceptor, capture.Stamp{}, join(patch(hello, 4, "02"), message, ping))
		if len(got) != 3 {
			t.Fatalf("keep %d: %d records", keep, len(got))
		}
		r := got[1]
		if want := "payload!"[:min(keep, 8)]; string(r.Payload) != want || r.Length != 104 || r.Checksum != capture.ChecksumGood {
			t.Errorf("keep %d: payload %q, length %d, checksum %d", keep, r.Payload, r.Length, r.Checksum)
		}
	}
}

// checkStream feeds b in pieces and checks that the records follow one another, cover every
// byte and hold the bytes of their position.
func checkStream(t testing.TB, b []byte, begin bool, size int) []string {
	t.Helper()
	var at uint64
	var lines []string
	d := capture.NewDecoder(&capture.Conn{}, 1<<20, func(r *capture.Record) {
		lines = append(lines, fmt.Sprint(r.Kind, r.Offset, r.Length, r.Err))
		if r.Kind == capture.MidStream {
			return
		}
		if r.Offset != at || r.Length == 0 {
			t.Fatalf("record of kind %d at %d+%d, expected at %d", r.Kind, r.Offset, r.Length, at)
		}
		at += r.Length
		if at > uint64(len(b)) || !bytes.HasPrefix(b[r.Offset:], r.Raw) {
			t.Fatalf("record at %d+%d does not hold its bytes", r.Offset, r.Length)
		}
		if r.Kind != capture.Unknown && uint64(len(r.Raw)) != r.Length {
			t.Fatalf("record at %d+%d holds %d bytes", r.Offset, r.Length, len(r.Raw))
		}
	})
	if begin {
		d.Begin(capture.Initiator)
	}
	for i := 0; i < len(b); i += size {
		d.Feed(capture.Initiator, capture.Stamp{}, b[i:min(i+size, len(b))])
	}
	d.End(capture.Initiator, capture.Stamp{})
	if at != uint64(len(b)) {
		t.Fatalf("records cover %d of %d bytes", at, len(b))
	}
	return lines
}

// TestDecoderPieces shows that it does not matter in which pieces the bytes arrive.
func TestDecoderPieces(t *testing.T) {
	stream := join(request, hello, ping, put, keepalive, ping, put[:50])
	want := checkStream(t, stream, true, len(stream))
	for size := 1; size < len(stream); size++ {
		if diff := cmp.Diff(want, checkStream(t, stream, true, size)); diff != "" {
			t.Fatalf("pieces of %d bytes (-want +got):\n%s", size, diff)
		}
	}
}

func TestPingInfo(t *testing.T) {
	count := 0
	decodeFile(t, "testdata/tcp-discover-multi.pcap", func(r *capture.Record) {
		p, ok := r.PingInfo()
		carries := r.Kind == capture.Message && r.Header.PayloadLength > 0
		if ok != carries {
			t.Errorf("%s at %d: ping info %v", r.Type(), r.Offset, ok)
		}
		if ok && p.PID != 12345 {
			t.Errorf("pid %d", p.PID)
		}
		if ok {
			count++
		}
	})
	if count != 4 {
		t.Errorf("%d ping infos", count)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, file := range fuzzFiles {
		streams := map[*capture.Conn]*[2][]byte{}
		decodeFile(f, file, func(r *capture.Record) {
			if streams[r.Conn] == nil {
				streams[r.Conn] = new([2][]byte)
			}
			streams[r.Conn][r.From] = append(streams[r.Conn][r.From], r.Raw...)
		})
		for _, s := range streams {
			f.Add(s[0], true, uint16(1000))
			f.Add(s[1], false, uint16(24))
		}
	}
	f.Add(join(request, hello, patch(put, 52, "ffffffff"), ping, keepalive), true, uint16(7))
	f.Fuzz(func(t *testing.T, b []byte, begin bool, size uint16) {
		checkStream(t, b, begin, max(1, int(size)))
	})
}

// fuzzFiles are the captures whose streams seed the fuzzers.
var fuzzFiles = []string{
	"testdata/tcp-discover-multi.pcap", "testdata/tcp-err-handshake.pcap", "testdata/tcp-csum-v2-bad.pcap",
	"testdata/tcp-proto-v1-passive.pcap", "testdata/tcp6-ping-discover.pcap", "testdata/tcp-err-put-noportal.pcap",
}

// TestRecordEncodesErrors: AppendBinary returns an error for a HELLO or request of an unknown version,
// and encodes a record of lost bytes to nothing. No capture of kernels has such records.
func TestRecordEncodesErrors(t *testing.T) {
	r := capture.Record{Kind: capture.Hello, Hello: ksock.Hello{Version: 9}}
	if _, err := r.AppendBinary(nil); !errors.Is(err, ksock.ErrVersion) {
		t.Errorf("HELLO of version 9: %v", err)
	}
	r = capture.Record{Kind: capture.Request, Request: wire.AcceptorRequest{Version: 7}}
	if _, err := r.AppendBinary(nil); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("request of version 7: %v", err)
	}
	r = capture.Record{Kind: capture.Lost, Length: 10}
	if b, err := r.AppendBinary(nil); len(b) != 0 || err != nil {
		t.Errorf("lost bytes: %x, %v", b, err)
	}
}
