//go:build linux

package main_test

import (
	"crypto/tls"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// openings are invalid openings of a connection.
var openings = []struct {
	name   string
	send   func(t *testing.T, p *lnetdtest.Peer) []byte
	leaves bool // after the opening, the peer closes its half of the connection
	answer func(p *lnetdtest.Peer) []byte
	want   socklnd.Reason
}{
	{name: "silence", send: nothing, want: socklnd.AcceptorTimeout},
	{name: "closes at once", send: nothing, leaves: true, want: socklnd.AcceptorCut},
	{name: "random bytes", send: randomBytes, want: socklnd.AcceptorMagic},
	{name: "HTTP", send: text("GET / HTTP/1.1\r\nHost: lnet\r\n\r\n"), want: socklnd.AcceptorMagic},
	{name: "TLS", send: clientHello, want: socklnd.AcceptorMagic},
	{name: "half a request", send: cutOpening(10), want: socklnd.AcceptorTimeout},
	{name: "half a request, closes", send: cutOpening(10), leaves: true, want: socklnd.AcceptorCut},
	{name: "request with LNet's magic", send: patched(0, ksock.Magic), answer: refusal, want: socklnd.GenericMagic},
	{name: "request of version 9", send: patched(4, 9), answer: refusal, want: socklnd.AcceptorVersion},
	{name: "request for another node", send: requestFor(neighbour), want: socklnd.ForeignNID},
	{name: "request for another net", send: requestFor(otherNet), want: socklnd.ForeignNID},
	{name: "request for 0@lo", send: requestFor(func(*lnetdtest.Peer) nid.NID { return nid.Lo0() }), want: socklnd.ForeignNID},
	{name: "no HELLO", send: cutOpening(wire.AcceptorV1Size), want: socklnd.HelloTimeout},
	{name: "half a HELLO", send: cutOpening(40), want: socklnd.HelloTimeout},
	{name: "half a HELLO, closes", send: cutOpening(40), leaves: true, want: socklnd.HelloCut},
	{name: "HELLO with a wrong magic", send: patched(wire.AcceptorV1Size, 0x12345678), want: socklnd.HelloMagic},
	{name: "HELLO of version 9", send: patched(wire.AcceptorV1Size+4, 9), answer: versionRefusal, want: socklnd.HelloVersion},
	{name: "HELLO with 40 addresses", send: patched(wire.AcceptorV1Size+52, 40), want: socklnd.HelloAddresses},
	{name: "HELLO with 2³²-1 addresses", send: patched(wire.AcceptorV1Size+52, 1<<32-1), want: socklnd.HelloAddresses},
	{name: "HELLO of type 77", send: patched(wire.AcceptorV1Size+48, 77), want: socklnd.HelloType},
	{name: "HELLO of type NONE", send: patched(wire.AcceptorV1Size+48, 1<<32-1), want: socklnd.HelloType},
	{name: "HELLO of nobody", send: helloFrom(nid.Any()), want: socklnd.HelloSource},
	{name: "HELLO of another net", send: helloFrom(nid.MustParse("127.0.0.66@tcp9")), want: socklnd.HelloNet},
	{name: "HELLO of an unknown net", send: helloFrom(nid.MustParse("7f000042@<200:7>")), want: socklnd.HelloNet},
	{name: "HELLO of the daemon", send: helloFromTarget, want: socklnd.HelloSource},
}

func hostileOpening(t *testing.T, commands lnetdtest.Commands) {
	for _, test := range effort.Some(3, openings) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t, commands, timeouts(test.want)...)
			p := s.peer(t, hostileID)
			c := p.Dial()
			if _, err := c.Write(test.send(t, p)); err != nil {
				t.Fatal(err)
			}
			if test.leaves {
				c.CloseWrite()
			}
			s.pings(t, "during")
			got, err := lnetdtest.AwaitEnd(c, reaction)
			if err != nil {
				t.Errorf("lnetd has not closed the connection: %v", err)
			}
			checkAnswer(t, test.answer, p, got)
			s.pings(t, "after")
			s.checkCounters(t, test.want, lnet.NotDropped)
			s.awaitConnections(goodConnections)
		})
	}
}

// checkAnswer checks what lnetd sent before it closed the connection. If the function answer is
// nil, it must have sent nothing.
func checkAnswer(t *testing.T, answer func(*lnetdtest.Peer) []byte, p *lnetdtest.Peer, got []byte) {
	t.Helper()
	want := []byte{}
	if answer != nil {
		want = answer(p)
	}
	const incarnation = 32 // offset of the incarnation in a HELLO, whose value the test cannot know
	if len(want) == ksock.HelloSize && len(got) == len(want) {
		copy(want[incarnation:], got[incarnation:][:8])
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func nothing(*testing.T, *lnetdtest.Peer) []byte { return nil }

func text(s string) func(*testing.T, *lnetdtest.Peer) []byte {
	return func(*testing.T, *lnetdtest.Peer) []byte { return []byte(s) }
}

func randomBytes(*testing.T, *lnetdtest.Peer) []byte {
	b := make([]byte, 4096)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// clientHello returns the first bytes of a TLS client.
func clientHello(t *testing.T, _ *lnetdtest.Peer) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() { _ = tls.Client(client, &tls.Config{ServerName: "lnet"}).Handshake() }() // ends with an error when the server is closed
	b := make([]byte, 4096)
	n, err := server.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// cutOpening returns the first n bytes of a valid opening.
func cutOpening(n int) func(*testing.T, *lnetdtest.Peer) []byte {
	return func(_ *testing.T, p *lnetdtest.Peer) []byte { return p.Opening(p.Hello(ksock.Control))[:n] }
}

// patched returns a valid opening with another value at an offset.
func patched(offset int, value uint32) func(*testing.T, *lnetdtest.Peer) []byte {
	return func(_ *testing.T, p *lnetdtest.Peer) []byte {
		b := p.Opening(p.Hello(ksock.Control))
		binary.LittleEndian.PutUint32(b[offset:], value)
		return b
	}
}

// requestFor returns a valid opening for another NID.
func requestFor(target func(*lnetdtest.Peer) nid.NID) func(*testing.T, *lnetdtest.Peer) []byte {
	return func(_ *testing.T, p *lnetdtest.Peer) []byte {
		other := *p
		other.Target = target(p)
		return other.Opening(other.Hello(ksock.Control))
	}
}

// neighbour returns a NID that is on the daemon's net but is not the daemon's own.
func neighbour(*lnetdtest.Peer) nid.NID { return nid.MustParse("127.0.0.99@tcp") }

// otherNet returns a NID with the daemon's address on a net that the daemon does not have.
func otherNet(p *lnetdtest.Peer) nid.NID {
	return nid.FromAddr(nid.MustParseNet("tcp3"), p.Target.Addr())
}

// helloFrom returns a good opening with another source NID.
func helloFrom(source nid.NID) func(*testing.T, *lnetdtest.Peer) []byte {
	return func(_ *testing.T, p *lnetdtest.Peer) []byte {
		h := p.Hello(ksock.Control)
		h.SrcNID = source
		return p.Opening(h)
	}
}

// helloFromTarget returns a good opening whose source is the daemon.
func helloFromTarget(t *testing.T, p *lnetdtest.Peer) []byte { return helloFrom(p.Target)(t, p) }

// refusal returns the answer to an acceptor request of an unknown kind.
func refusal(*lnetdtest.Peer) []byte {
	return slices.Concat([]byte{0x00, 0x71, 0xCE, 0xAC, 1, 0, 0, 0}, make([]byte, 8))
}

// versionRefusal returns the answer to a HELLO of an unknown version.
func versionRefusal(p *lnetdtest.Peer) []byte {
	h := ksock.Hello{
		Version: ksock.V3, SrcNID: p.Target, DstNID: p.Target, SrcPID: nid.LustrePID, ConnType: ksock.None,
	}
	b, _ := h.AppendBinary(nil) // cannot fail: the NIDs are short
	return b
}
