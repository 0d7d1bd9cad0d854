package socklnd

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// replayConn is a connection from which data arrives, step bytes at a time,
// and then ends. It keeps what is written to it.
type replayConn struct {
	mu      sync.Mutex
	data    []byte
	step    int
	written bytes.Buffer
	closed  bool
}

func (c *replayConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.step)], c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *replayConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	return c.written.Write(b)
}

func (c *replayConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

func (c *replayConn) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.2:988"))
}

func (c *replayConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.1:1023"))
}
func (c *replayConn) SetDeadline(time.Time) error      { return nil }
func (c *replayConn) SetReadDeadline(time.Time) error  { return nil }
func (c *replayConn) SetWriteDeadline(time.Time) error { return nil }

// received is what a receiver finds in a stream of messages, up to its end or its first error.
type received struct {
	Headers  []wire.Header
	Payloads [][]byte
	End      Reason
	cookies  []uint64 // cookies of the messages, which the receiver has to acknowledge
}

// readAll is a simple receiver to compare with: it has the whole stream at hand.
func readAll(b []byte, v ksock.Version) (r received) {
	for len(b) > 0 {
		n, end := r.read(b, v)
		if end != ReasonNone {
			r.End = end
			return r
		}
		b = b[n:]
	}
	r.End = PeerClosed
	return r
}

// read reads one message and returns its length.
func (r *received) read(b []byte, v ksock.Version) (n int, end Reason) {
	k := ksock.MsgHeader{Type: ksock.LNet}
	if v > ksock.V1 {
		var err error
		if k, _, err = ksock.ParseMsgHeader(b, false); err != nil {
			return 0, CutMessage
		}
		n = ksock.MsgHeaderSize
	}
	summed := v == ksock.V2 && k.Checksum != 0
	switch acks, err := k.Acks(); {
	case k.Type != ksock.Noop && k.Type != ksock.LNet:
		return 0, BadMessageType
	case k.Type == ksock.Noop && summed && ksock.Checksum(k) != k.Checksum:
		return 0, BadChecksum
	case err != nil || acks.Len() > 0:
		return 0, BadAck
	case k.Type == ksock.Noop:
		return n, ReasonNone
	}
	parse := wire.ParseHeader
	if v == ksock.V4 {
		parse = wire.ParseLargeHeader
	}
	m, rest, err := parse(b[n:])
	switch {
	case errors.Is(err, wire.ErrShort):
		return 0, CutMessage
	case err != nil, m.Validate() != nil:
		return 0, BadMessage
	case len(rest) < int(m.PayloadLength):
		return 0, CutMessage
	}
	n = len(b) - len(rest) + int(m.PayloadLength)
	if summed && ksock.Checksum(k, b[ksock.MsgHeaderSize:n]) != k.Checksum {
		return 0, BadChecksum
	}
	r.Headers = append(r.Headers, m)
	r.Payloads = append(r.Payloads, append([]byte{}, rest[:m.PayloadLength]...))
	if c := k.Request(); c > ksock.Keepalive {
		r.cookies = append(r.cookies, c)
	}
	return n, ReasonNone
}

// streamVersion is the version in which a recorded stream was spoken.
func streamVersion(name string) ksock.Version {
	switch name = filepath.Base(name); {
	case strings.Contains(name, "-v1-"):
		return ksock.V1
	case strings.Contains(name, "-v2-"):
		return ksock.V2
	case strings.HasPrefix(name, "tcp6"):
		return ksock.V4
	}
	return ksock.V3
}

// recordedStreams calls add with the recorded streams that kernels sent on connections.
func recordedStreams(t testing.TB, add func(name string, v ksock.Version, b []byte)) {
	t.Helper()
	files, err := filepath.Glob("testdata/streams/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded streams: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add(name, streamVersion(name), b)
	}
}

// TestRecordedStreams: the stream of a kernel is received to the end, or up to an ack: the other
// kernel had sent the cookie of the ack, but the receiver of this test has sent none.
func TestRecordedStreams(t *testing.T) {
	seen := map[ksock.Version]int{}
	recordedStreams(t, func(name string, v ksock.Version, b []byte) {
		r := readAll(b, v)
		if r.End != PeerClosed && r.End != BadAck {
			t.Errorf("%s: ends with %v", name, r.End)
		}
		seen[v] += len(r.Headers)
	})
	for v := ksock.V1; v <= ksock.V4; v++ {
		if seen[v] == 0 {
			t.Errorf("no message of %v", v)
		}
	}
}

// FuzzReceive gives the bytes to an established connection and compares the messages that it
// receives with those of readAll.
func FuzzReceive(f *testing.F) {
	recordedStreams(f, func(_ string, v ksock.Version, b []byte) {
		f.Add(b, uint16(math.MaxUint16), uint8(v-ksock.V1))
		f.Add(b, uint16(1), uint8(v-ksock.V1))
		f.Add(b[:len(b)-1], uint16(100), uint8(v-ksock.V1))
		// the same bytes, as if they were spoken in the next version
		f.Add(b, uint16(100), uint8(v))
	})
	f.Fuzz(func(t *testing.T, data []byte, step uint16, v uint8) {
		version := ksock.Version(v)%ksock.V4 + ksock.V1
		want := readAll(data, version)
		h, c := replayed(t, data, step, version)
		h.await("the end", func() bool { return len(h.downs) == 1 })
		got := received{End: h.downs[0].(*Error).Reason}
		for _, a := range h.arrived {
			got.Headers = append(got.Headers, a.header)
			got.Payloads = append(got.Payloads, append([]byte{}, a.payload...))
		}
		h.stop()
		c.checkAcks(t, want.cookies)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b wire.Header) bool { return a == b }),
			cmpopts.IgnoreUnexported(received{})); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// replayed starts an NI and gives it a connection with these bytes.
func replayed(t *testing.T, data []byte, step uint16, v ksock.Version) (*host, *replayConn) {
	h := start(t, "10.0.0.2", Config{Accept: AcceptNone})
	h.parse = validate
	c := &replayConn{data: data, step: max(int(step), 1)}
	p, _ := h.ni.decide(probeID, setInput{kind: setHello, ctype: ksock.BulkIn, version: v})
	s := newShake(h.ni, c, false, time.Second)
	s.version, s.ctype = v, ksock.BulkIn
	if r := p.accepted(s); r != nil {
		t.Fatalf("connection not accepted: %v", r.why)
	}
	return h, c
}

// checkAcks checks that cookies were acknowledged at most as often as they came. The last acks may
// be missing, since the connection may end before they are sent. A cookie that came again before its
// ack had left has only one ack.
func (c *replayConn) checkAcks(t *testing.T, cookies []uint64) {
	t.Helper()
	open := map[uint64]int{}
	for _, cookie := range cookies {
		open[cookie]++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := c.written.Bytes(); len(b) > 0; {
		h, rest, err := ksock.ParseMsgHeader(b, false)
		if err != nil || h.Type != ksock.Noop {
			t.Fatalf("wrote %x: %v", b, err)
		}
		acks, err := h.Acks()
		if err != nil {
			t.Fatalf("wrote %x: %v", b[:ksock.MsgHeaderSize], err)
		}
		for cookie := range acks.All() {
			if open[cookie]--; open[cookie] < 0 {
				t.Errorf("acknowledged cookie %d once too often", cookie)
			}
		}
		b = rest
	}
}

// FuzzOpening feeds bytes to the passive side of the handshake. The connection becomes one of a
// peer, or it is refused and exactly one reason is counted. The peer's NID is of the NI's net. With
// source_address: check, which an even step selects, that NID has the address of the other end.
func FuzzOpening(f *testing.F) {
	for _, opening := range []string{
		request + helloCtl, request + inVersion2(helloIn), request + helloCtl[:35], "0071ceac 07000000",
		"63697245", request + "63697245 04000000", request + "ed0dbcee 01000000",
		request + hello + "01000000 02000000 0100000a 0100000b",
		strings.ReplaceAll(acceptor10+hello1of11+get1, "0a004d0a00000200", "0200000a00000200"),
		acceptor6 + hello4 + get4, request + hello4,
		"acce7100 00000001 000200000a000002 45726963 00000003 000200000a4d0001 000200000a000002" +
			"00003039 00000000 1122334455667788 0000000000000000 00000001 00000000",
	} {
		f.Add(unhex(f, opening), uint16(math.MaxUint16), false)
		f.Add(unhex(f, opening), uint16(3), true)
		f.Add(unhex(f, opening), uint16(200), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16, ipv6 bool) {
		addr := map[bool]string{false: "10.0.0.2", true: "fd88::3"}[ipv6]
		source := []SourceAddress{SourceAddressCheck, SourceAddressOff}[step%2]
		h := start(t, addr, Config{Accept: AcceptNone, SourceAddress: source})
		h.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }
		c := &replayConn{data: data, step: max(int(step), 1)}
		a := newAcceptor(h.ni, nil)
		shaking := &handshake{shake: newShake(h.ni, c, false, time.Second)}
		r := a.serve(shaking)
		a.leave(shaking)
		if r == nil {
			h.await("the end of the connection", func() bool { return len(h.downs) == 1 })
			if len(h.ups) != 1 {
				t.Errorf("%d peers", len(h.ups))
			}
			peer := h.ups[0].NID
			if peer.Net() != h.ni.nid.Net() || peer == h.ni.nid || !peer.Addr().IsValid() ||
				source == SourceAddressCheck && peer.Addr() != shaking.remote.Addr() {
				t.Errorf("%v became a peer", peer)
			}
			return
		}
		if r.why == ReasonNone || r.why >= numReasons || len(h.ups) > 0 {
			t.Errorf("refused for %v with %d peers", r.why, len(h.ups))
		}
		sizes := []int{0, wire.AcceptorV1Size, ksock.HelloV1Size, ksock.HelloSize, ksock.HelloV4Size}
		if !slices.Contains(sizes, len(r.answer)) {
			t.Errorf("answer %x", r.answer)
		}
	})
}
