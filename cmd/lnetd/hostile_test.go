//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

const (
	// handshakeSeconds and messageSeconds are accept_timeout and sock_timeout,
	// short, but longer than a busy machine keeps a good peer from speaking.
	handshakeSeconds, messageSeconds = "3", "3"
	// reaction bounds what lnetd has to do within these; it tells late from
	// never.
	reaction = 20 * time.Second
	// pingLimit is how long a good peer waits for the answer to a ping. Only
	// a daemon that stands still takes so long.
	pingLimit = 10 * time.Second
)

// TestHostile lets anything connect to lnetd. Each input moves its counter,
// ends what it has to end, is logged once, and leaves good peers alone.
func TestHostile(t *testing.T) {
	t.Parallel()
	commands := lnetdtest.Build(t)
	t.Run("opening", func(t *testing.T) { hostileOpening(t, commands) })
	t.Run("message", func(t *testing.T) { hostileMessage(t, commands) })
	if testing.Short() {
		return // a crowd takes a quarter of a minute
	}
	t.Run("crowd", func(t *testing.T) { hostileCrowd(t, commands) })
}

// siege is an lnetd on loopback with good peers, which share an address with
// the hostile one.
type siege struct {
	daemon *lnetdtest.Daemon
	to     netip.AddrPort
	good   []*lnetdtest.Peer
}

// goodConnections is how many connections the good peers have together.
const goodConnections = 2 * 3

// sieges counts the sieges: each has an address of its own, so that those which
// run at the same time do not race for a port.
var sieges atomic.Uint32

// from is the address of all peers, and the NID of none.
var from = netip.MustParseAddr("127.0.0.1")

// hostileID is what hostile peers claim to be.
var hostileID = nid.ProcessID{NID: nid.MustParse("127.0.0.66@tcp"), PID: nid.LustrePID}

func newSiege(t *testing.T, commands lnetdtest.Commands, settings ...string) *siege {
	t.Helper()
	n := sieges.Add(1)
	to := netip.AddrFrom4([4]byte{127, 0, byte(n>>8) + 1, byte(n)})
	port, err := loopback.FreePort(to)
	if err != nil {
		t.Fatal(err)
	}
	s := &siege{to: netip.AddrPortFrom(to, port)}
	if settings == nil {
		settings = []string{"accept_timeout: " + handshakeSeconds, "sock_timeout: " + messageSeconds}
	}
	s.daemon = commands.Start(t, lnetdtest.Config{
		Networks: "tcp(" + to.String() + ")", Port: port,
		Settings: append(settings, "source_address: off"), // good and hostile peers share an address, and have NIDs of their own
	})
	for _, id := range []nid.ProcessID{
		{NID: nid.MustParse("127.0.0.7@tcp"), PID: nid.LustrePID},
		{NID: hostileID.NID, PID: 4711}, // another process there
	} {
		p := s.peer(t, id)
		p.ConnectAll()
		s.good = append(s.good, p)
	}
	s.awaitConnections(goodConnections)
	s.pings(t, "before")
	return s
}

func (s *siege) peer(t *testing.T, id nid.ProcessID) *lnetdtest.Peer {
	return lnetdtest.NewPeer(t, id, from, s.to)
}

// pings checks that the good peers are answered on the connections that they
// have had from the beginning.
func (s *siege) pings(t *testing.T, when string) {
	t.Helper()
	for _, p := range s.good {
		if _, err := p.Ping(pingLimit); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
}

// awaitConnections waits until lnetd has so many connections.
func (s *siege) awaitConnections(n int) {
	s.daemon.Until(reaction, fmt.Sprintf("%d connections", n), func() bool { return s.daemon.Connections() == n })
}

// checkCounters checks that the input is counted under its reasons and no
// others, and logged once if it is worth it.
func (s *siege) checkCounters(t *testing.T, why socklnd.Reason, drop lnet.DropReason) {
	t.Helper()
	reasons, drops := map[string]uint64{}, map[string]uint64{}
	warnings := 0
	if why != socklnd.ReasonNone {
		reasons[why.String()] = 1
		if why != socklnd.PeerClosed {
			warnings = 1
		}
	}
	if drop != lnet.NotDropped {
		drops[drop.String()] = 1
	}
	if diff := cmp.Diff(reasons, s.daemon.Reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(drops, s.daemon.Status().Stats.DropReasons, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
	s.checkWarnings(t, warnings)
}

// checkWarnings checks that so many warnings are logged.
func (s *siege) checkWarnings(t *testing.T, want int) {
	t.Helper()
	count := func() int { return strings.Count(s.daemon.Log(), "level=WARN") }
	s.daemon.Until(reaction, fmt.Sprintf("%d warnings", want), func() bool { return count() >= want })
	if n := count(); n != want {
		t.Errorf("%d warnings in the log, want %d", n, want)
	}
}
