//go:build linux

package main_test

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// TestShortLivedPeers: a great number of peers, each with its own address, connect to a daemon,
// send a message and disconnect. One to three minutes later the daemon uses as much memory as
// before. All the time, the daemon answers its permanent peers.
func TestShortLivedPeers(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("takes minutes: set ULNET_LONG=1")
	}
	const warm, crowd = 2000, 100_000
	s := newSiege(t, lnetdtest.Build(t))
	var before int
	for i := range warm + crowd {
		if i == warm {
			before = rssAtRest(t, s)
		}
		addr := netip.AddrFrom4([4]byte{127, byte(100 + i>>16), byte(i >> 8), byte(i)})
		id := nid.ProcessID{NID: nid.FromAddr(hostileID.NID.Net(), addr), PID: nid.LustrePID}
		p := lnetdtest.NewPeer(t, id, addr, s.to)
		c := p.Connect(ksock.Control)
		_, _ = c.Write(p.Message(ksock.MsgHeader{Type: ksock.LNet}, p.Header(), nil))
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	crowded := s.rss(t)
	<-time.After(time.Minute)
	after := s.rss(t)
	// The Go runtime returns memory little by little, and with a delay on a busy machine.
	for range 120 {
		if after <= before*12/10 {
			break
		}
		<-time.After(5 * time.Second)
		after = s.rss(t)
	}
	t.Logf("RSS: %d KiB before, %d with %d peers, %d in the end", before>>10, crowded>>10, crowd, after>>10)
	if after > before*12/10 {
		t.Errorf("memory has grown from %d to %d KiB", before>>10, after>>10)
	}
	s.pings(t, "after")
}

// rssAtRest returns the memory of a daemon once that has not changed for some seconds.
func rssAtRest(t *testing.T, s *siege) (bytes int) {
	for last := -1; bytes != last; {
		<-time.After(5 * time.Second)
		last, bytes = bytes, s.rss(t)
	}
	return bytes
}
