package socklnd

import (
	"bytes"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// received is what a stream of messages amounts to.
type received struct {
	Headers  []wire.Header
	Payloads [][]byte
	Cookies  []uint64
	End      Reason
}

// readAll is the obviously correct receiver: it has the whole stream at hand.
func readAll(b []byte, v ksock.Version) (r received) {
	for {
		if len(b) == 0 {
			r.End = PeerClosed
			return r
		}
		h, rest, err := ksock.ParseMsgHeader(b, false)
		switch {
		case err != nil:
			r.End = CutMessage
			return r
		case h.Type != ksock.Noop && h.Type != ksock.LNet:
			r.End = BadMessageType
			return r
		case h.Checksum != 0 && v == ksock.V2:
			r.End = BadChecksum
			return r
		}
		if acks, err := h.Acks(); err != nil || acks.Len() > 0 {
			r.End = BadAck
			return r
		}
		if b = rest; h.Type == ksock.Noop {
			continue
		}
		m, rest, err := wire.ParseHeader(b)
		switch {
		case err != nil:
			r.End = CutMessage
			return r
		case m.Validate() != nil:
			r.End = BadMessage
			return r
		case len(rest) < int(m.PayloadLength):
			r.End = CutMessage
			return r
		}
		r.Headers = append(r.Headers, m)
		r.Payloads = append(r.Payloads, append([]byte{}, rest[:m.PayloadLength]...))
		if c := h.Request(); c != 0 {
			r.Cookies = append(r.Cookies, c)
		}
		b = rest[m.PayloadLength:]
	}
}

// FuzzReceive feeds an established connection and compares what it makes of
// the bytes with readAll.
func FuzzReceive(f *testing.F) {
	files, err := filepath.Glob("testdata/streams/*.bin")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recorded streams: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(math.MaxUint16), false)
		f.Add(b, uint16(1), true)
		f.Add(b[:len(b)-1], uint16(100), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16, version2 bool) {
		version := ksock.V3
		if version2 {
			version = ksock.V2
		}
		want := readAll(data, version)
		h, c := replayed(t, data, step, version)
		h.await("the end", func() bool { return len(h.downs) == 1 })
		got := received{End: h.downs[0].(*Error).Reason}
		for _, a := range h.arrived {
			got.Headers = append(got.Headers, a.header)
			got.Payloads = append(got.Payloads, append([]byte{}, a.payload...))
		}
		h.stop()
		got.Cookies = c.cookies(t, want.Cookies)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b wire.Header) bool { return a == b })); diff != "" {
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

// cookies returns the acks that were written. The last ones may be missing,
// since the connection ended meanwhile: then those of want stand in.
func (c *replayConn) cookies(t *testing.T, want []uint64) (got []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for b := c.written.Bytes(); len(b) > 0; {
		h, rest, err := ksock.ParseMsgHeader(b, false)
		if err != nil || h.Type != ksock.Noop {
			t.Fatalf("wrote %x: %v", b, err)
		}
		got, b = append(got, h.Cookies[1]), rest
	}
	return append(got, want[min(len(got), len(want)):]...)
}

// FuzzOpening feeds bytes to the passive side of the handshake: it ends in a
// peer or in exactly one counted reason, and in nothing else.
func FuzzOpening(f *testing.F) {
	for _, opening := range []string{
		request + helloCtl, request + inVersion2(helloIn), request + helloCtl[:35], "0071ceac 07000000",
		"63697245", request + "63697245 04000000", request + "ed0dbcee 01000000",
		request + hello + "01000000 02000000 0100000a 0100000b",
		"acce7100 00000001 000200000a000002 45726963 00000003 000200000a4d0001 000200000a000002" +
			"00003039 00000000 1122334455667788 0000000000000000 00000001 00000000",
	} {
		f.Add(unhex(f, opening), uint16(math.MaxUint16))
		f.Add(unhex(f, opening), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16) {
		h := start(t, "10.0.0.2", Config{Accept: AcceptNone})
		h.parse = func(*host, *lnd.Delivery) (lnd.Verdict, error) { return lnd.Accept, nil }
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
			return
		}
		if r.why == ReasonNone || r.why >= numReasons || len(h.ups) > 0 {
			t.Errorf("refused for %v with %d peers", r.why, len(h.ups))
		}
		if n := len(r.answer); n != 0 && n != wire.AcceptorV1Size && n != ksock.HelloSize {
			t.Errorf("answer %x", r.answer)
		}
	})
}
