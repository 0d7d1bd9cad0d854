//go:build linux

package main_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

func hostileCrowd(t *testing.T, commands lnetdtest.Commands) {
	t.Run("300 silent at once", func(t *testing.T) { silentCrowd(t, commands) })
	t.Run("5000 resets one after another", func(t *testing.T) { resets(t, commands) })
	t.Run("the same mistake again and again", func(t *testing.T) { repeated(t, commands) })
}

// maxGrowth bounds the growth of the daemon's memory, in bytes. It allows for the delay with
// which the Go runtime returns memory.
const maxGrowth = 24 << 20

// silentCrowd opens 300 silent connections while good peers are connected. lnetd keeps at most
// 256 per address: each further connection displaces the oldest one, and all are closed after
// the handshake timeout. That timeout is long here, so that all connections are open before the
// first one expires. If the daemon handled silent connections one after another, the next peer
// would wait for all of them.
func silentCrowd(t *testing.T, commands lnetdtest.Commands) {
	const crowd, kept = 300, 256
	s := newSiege(t, commands, "accept_timeout: 30")
	before := s.slowestPing(t)
	rss := s.rss(t)
	p := s.peer(t, hostileID)
	var silent []*net.TCPConn
	for range crowd {
		silent = append(silent, p.Dial())
	}
	s.pings(t, "during")
	during := s.slowestPing(t)
	newcomer := s.peer(t, nid.ProcessID{NID: nid.MustParse("127.0.0.8@tcp"), PID: nid.LustrePID})
	newcomer.ConnectAll()
	if _, err := newcomer.Ping(pingLimit); err != nil {
		t.Error(err)
	}
	t.Logf("slowest of %d pings: %v alone, %v beside %d silent connections", pingRounds, before, during, crowd)
	if grown := s.rss(t) - rss; grown > maxGrowth && !effort.Race {
		t.Errorf("%d silent connections take %d KiB", crowd, grown>>10)
	}
	for i, c := range silent {
		if _, err := lnetdtest.AwaitEnd(c, reaction); err != nil {
			t.Fatalf("silent connection %d is still open", i)
		}
	}
	s.awaitCount(socklnd.HandshakeLimit, crowd-kept, crowd-kept+3) // the newcomer's three connections may have displaced silent ones, too
	s.awaitHandshakes(0)
	timeouts, limit := s.daemon.Count(socklnd.AcceptorTimeout), s.daemon.Count(socklnd.HandshakeLimit)
	if timeouts+limit != crowd {
		t.Errorf("%d timed out and %d made room, together not %d", timeouts, limit, crowd)
	}
	s.pings(t, "after")
}

// pingRounds is the number of pings of slowestPing.
const pingRounds = 50

// slowestPing returns the longest time of several pings.
func (s *siege) slowestPing(t *testing.T) (slowest time.Duration) {
	t.Helper()
	for range pingRounds {
		took, err := s.good[0].Ping(pingLimit)
		if err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, took)
	}
	return slowest
}

// resets opens thousands of connections, sends a part of an opening (acceptor request and HELLO)
// on each, and resets it. The daemon must free all that it allocated for them.
func resets(t *testing.T, commands lnetdtest.Commands) {
	const total, warm = 5000, 1000
	s := newSiege(t, commands)
	files := s.openFiles(t)
	p := s.peer(t, hostileID)
	opening := p.Opening(p.Hello(ksock.Control))
	rss := 0
	for i := range total {
		if i%500 == 0 {
			s.pings(t, "during")
		}
		if i == warm {
			rss = s.rss(t)
		}
		c := p.Dial()
		c.Write(opening[:i%(len(opening)+1)]) // fails if lnetd has already closed the connection
		c.SetLinger(0)
		c.Close()
	}
	s.awaitHandshakes(0)
	s.awaitConnections(goodConnections)
	s.daemon.Until(reaction, "closed files", func() bool { return s.openFiles(t) <= files })
	if grown := s.rss(t) - rss; grown > maxGrowth && !effort.Race {
		t.Errorf("memory has grown by %d KiB after %d connections", grown>>10, total-warm)
	}
	s.pings(t, "after")
}

// repeated commits each of two violations a hundred times: every time is counted, and each kind of violation
// is logged once.
func repeated(t *testing.T, commands lnetdtest.Commands) {
	const times = 100
	s := newSiege(t, commands)
	p := s.peer(t, hostileID)
	for range times {
		c := p.Dial()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := lnetdtest.AwaitEnd(c, reaction); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitCount(socklnd.AcceptorMagic, times, times)
	for range times {
		conns := p.ConnectAll()
		b, _ := ksock.MsgHeader{Type: 0xC7}.AppendBinary(nil) // cannot fail for a valid message
		if _, err := conns[0].Write(b); err != nil {
			t.Fatal(err)
		}
		s.checkClosed(t, conns)
	}
	s.awaitCount(socklnd.BadMessageType, times, times)
	s.pings(t, "after")
	s.checkWarnings(t, 2) // one for each kind of violation
}

// awaitCount waits until a counter is in a range.
func (s *siege) awaitCount(why socklnd.Reason, least, most uint64) {
	s.daemon.Until(reaction, fmt.Sprintf("count of %d to %d for %v", least, most, why), func() bool {
		n := s.daemon.Count(why)
		return least <= n && n <= most
	})
}

// awaitHandshakes waits until exactly n accepted connections have not completed their handshake.
func (s *siege) awaitHandshakes(n int) {
	s.daemon.Until(reaction, fmt.Sprintf("%d unfinished handshakes", n), func() bool {
		unfinished := 0
		for _, ni := range s.daemon.Status().NIs {
			if ni.NID.Net().Type() == nid.TCP {
				unfinished += ni.LND.Handshakes
			}
		}
		return unfinished == n
	})
}

// rss returns the memory that the daemon uses, in bytes.
func (s *siege) rss(t *testing.T) (bytes int) {
	t.Helper()
	return rssOf(t, s.daemon)
}

func rssOf(t *testing.T, d *lnetdtest.Daemon) (bytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nVmRSS:")
	if _, err := fmt.Sscanf(rest, "%d kB", &bytes); err != nil {
		t.Fatalf("VmRSS: %v", err)
	}
	return bytes << 10
}

// openFiles returns the number of files that the daemon has open.
func (s *siege) openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.daemon.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
