package replay_test

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"ulnet/cmd/lnetd/internal/replay"
)

// TestDialFromEnded dials a node that sends a word and resets each connection at once, often
// before DialFrom has returned. DialFrom succeeds all the same, and the word can be read.
func TestDialFromEnded(t *testing.T) {
	l := listen(t)
	go func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("bye"))
			_ = c.CloseWrite()
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}()
	to := l.Addr().(*net.TCPAddr).AddrPort()
	for n := range 500 {
		c, err := replay.DialFrom(t.Context(), netip.AddrPortFrom(to.Addr(), 0), to)
		if err != nil {
			t.Fatalf("dial %d: %v", n, err)
		}
		if got, err := io.ReadAll(c); string(got) != "bye" {
			t.Errorf("dial %d: read %q, %v", n, got, err)
		}
		_ = c.Close()
	}
}
