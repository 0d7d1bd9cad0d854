package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
)

var (
	node10 = nid.MustParse("10.77.0.10@tcp")
	node11 = nid.MustParse("10.77.0.11@tcp")
	node2  = nid.MustParse("fd88::2@tcp")
	node3  = nid.MustParse("fd88::3@tcp")
)

const kernelFeatures = FeatureNIStatus | FeatureRoutingDisabled | FeatureMultiRail | FeatureDiscovery

// between returns a header like that of a kernel, without its command.
func between(src, dest nid.NID, payload uint32) Header {
	return Header{DestNID: dest, SrcNID: src, DestPID: 12345, SrcPID: 12345, PayloadLength: payload}
}

func ack(h Header, a AckCmd) Header     { h.SetAck(a); return h }
func put(h Header, p PutCmd) Header     { h.SetPut(p); return h }
func get(h Header, g GetCmd) Header     { h.SetGet(g); return h }
func reply(h Header, r ReplyCmd) Header { h.SetReply(r); return h }
func hello(h Header, c HelloCmd) Header { h.SetHello(c); return h }

// discoverMD and ipv6MD return handles as the nodes in two recordings made them.
func discoverMD(object uint64) MDHandle { return MDHandle{0x18e9dbb9a2ee4547, object} }
func ipv6MD(object uint64) MDHandle     { return MDHandle{0x18e9ef334093208e, object} }

func pushPut(h MDHandle) PutCmd {
	return PutCmd{AckMD: h, MatchBits: PingMatchBits, Portal: PingPortal}
}

func infoOf(f Features, sequence uint32, nis ...string) *PingInfo {
	p := &PingInfo{Features: f, PID: 12345, Sequence: sequence}
	for _, n := range nis {
		p.NIs = append(p.NIs, up(n))
	}
	return p
}

const largeFeatures = kernelFeatures | FeatureLargeAddr | FeaturePrimaryLarge

// helloV1Magic is the magic of a HELLO of version 1, as a NID: other messages have their destination
// NID in its place.
var helloV1Magic = nid.From4(0x1_eebc0ded)

var capturedMessages = []struct {
	file  string
	want  Header
	info  *PingInfo
	large bool
}{
	{
		file: "get",
		want: get(between(node10, node11, 0), GetCmd{ReturnMD: discoverMD(0xd), MatchBits: PingMatchBits, SinkLength: 272}),
	},
	{
		file: "reply",
		want: reply(between(node11, node10, 48), ReplyCmd{discoverMD(0xd)}),
		info: infoOf(kernelFeatures, 2, "10.77.0.11@tcp"),
	},
	{
		file: "push",
		want: put(between(node10, node11, 48), pushPut(discoverMD(0x11))),
		info: infoOf(kernelFeatures, 2, "10.77.0.10@tcp"),
	},
	{
		file: "ack",
		want: ack(between(node11, node10, 0), AckCmd{discoverMD(0x11), PingMatchBits, 48}),
	},
	{
		file: "reply-three-nis",
		want: reply(between(node11, node10, 80), ReplyCmd{MDHandle{0x18e9dcd2ff58b609, 0xd}}),
		info: infoOf(kernelFeatures, 4, "10.77.0.11@tcp", "10.99.7.11@tcp5", "10.77.0.11@tcp6"),
	},
	{
		file: "push-two-nis",
		want: put(between(node11, node10, 64), pushPut(MDHandle{0x18e9dbbc6c290923, 0x1d})),
		info: infoOf(kernelFeatures, 3, "10.77.0.11@tcp", "10.77.0.11@tcp2"),
	},
	{
		file: "reply-no-discovery",
		want: reply(between(node11, node10, 48), ReplyCmd{MDHandle{0x18e9dbc08196a8e1, 0xd}}),
		info: infoOf(kernelFeatures&^FeatureDiscovery, 2, "10.77.0.11@tcp"),
	},
	{
		file: "put",
		want: put(between(node10, node11, 160), PutCmd{AckMD: NoHandle(), MatchBits: 1, Portal: 51}),
	},
	{
		file:  "large-get",
		want:  get(between(node2, node3, 0), GetCmd{ReturnMD: ipv6MD(0xd), MatchBits: PingMatchBits, SinkLength: 3960}),
		large: true,
	},
	{
		file:  "large-reply",
		want:  reply(between(node3, node2, 56), ReplyCmd{ipv6MD(0xd)}),
		info:  infoOf(largeFeatures, 2, "fd88::3@tcp"),
		large: true,
	},
	{
		file:  "large-push",
		want:  put(between(node2, node3, 56), pushPut(ipv6MD(0x15))),
		info:  infoOf(largeFeatures, 2, "fd88::2@tcp"),
		large: true,
	},
	{
		file:  "large-ack",
		want:  ack(between(node3, node2, 0), AckCmd{ipv6MD(0x15), PingMatchBits, 56}),
		large: true,
	},
	{
		file: "v1-hello",
		want: hello(Header{DestNID: helloV1Magic, SrcNID: node10, SrcPID: 12345}, HelloCmd{0x18e9dc7507dbe4a4, 1}),
	},
	{
		file: "v1-hello-answer",
		want: hello(Header{DestNID: helloV1Magic, SrcNID: node11, SrcPID: 12345}, HelloCmd{0x18e9dc75a43f987f, 1}),
	},
	{
		file: "v1-get",
		want: get(between(node10, node11, 0), GetCmd{ReturnMD: MDHandle{0x18e9dc74f3a091a4, 0xd}, MatchBits: PingMatchBits, SinkLength: 3960}),
	},
}

// TestCaptured parses messages that kernels sent, compares their fields, and encodes them again to the same
// bytes.
func TestCaptured(t *testing.T) {
	for _, tt := range capturedMessages {
		t.Run(tt.file, func(t *testing.T) {
			b := readHex(t, tt.file)
			parse, encode := ParseHeader, appendHeader
			if tt.large {
				parse, encode = ParseLargeHeader, appendLargeHeader
			}
			h, payload, err := parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, h, equal); diff != "" {
				t.Errorf("header (-want +got)\n%s", diff)
			}
			again, err := encode(h, nil)
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, checkInfo(t, tt.info, payload)...)
			if !bytes.Equal(again, b) {
				t.Errorf("written as\n% x, want\n% x", again, b)
			}
		})
	}
}

// checkInfo compares the ping info in a payload with want, and returns the encoding of what it has parsed.
func checkInfo(t *testing.T, want *PingInfo, payload []byte) []byte {
	t.Helper()
	if want == nil {
		if len(payload) != 0 {
			t.Errorf("%d bytes of payload", len(payload))
		}
		return nil
	}
	got, rest, err := ParsePingInfo(payload)
	if err != nil || len(rest) != 0 {
		t.Fatalf("ping info: rest %d, %v", len(rest), err)
	}
	if diff := cmp.Diff(*want, got, equal); diff != "" {
		t.Errorf("ping info (-want +got)\n%s", diff)
	}
	b, err := got.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCapturedAcceptor(t *testing.T) {
	tests := []struct {
		file string
		want AcceptorRequest
		err  error
	}{
		{"acceptor-v1", AcceptorRequest{Version: 1, NID: node11}, nil},
		{"acceptor-v2", AcceptorRequest{Version: 2, NID: node3}, nil},
		{"acceptor-refusal", AcceptorRefusal(), nil},
		{"acceptor-swapped", AcceptorRequest{Version: 1, NID: node11, BigEndian: true}, nil},
		{"acceptor-wrong-magic", AcceptorRequest{}, ErrMagic},
		{"acceptor-wrong-version", AcceptorRequest{}, ErrVersion},
		{"acceptor-cut", AcceptorRequest{}, ErrShort},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			b := readHex(t, tt.file)
			r, _, err := ParseAcceptorRequest(b)
			if !errors.Is(err, tt.err) || r != tt.want {
				t.Fatalf("%v, %v, want %v, %v", r, err, tt.want, tt.err)
			}
			if err != nil {
				return
			}
			if again, err := r.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
				t.Errorf("written as % x, %v", again, err)
			}
		})
	}
}
