//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"slices"
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
	// longTimeout is accept_timeout and sock_timeout, in seconds: a good peer stays within it even on a
	// busy machine. shortTimeout is for tests that wait for a timeout.
	longTimeout, shortTimeout = "30", "10"
	// reaction bounds the time in which lnetd has to react to an input. It is long, because the
	// test must fail if there is no reaction, but not if the reaction is late.
	reaction = 60 * time.Second
	// pingLimit is how long a good peer waits for the answer to a ping. Only a daemon that hangs
	// takes so long.
	pingLimit = 60 * time.Second
)

// TestHostile sends all kinds of invalid input to lnetd. Each input increments the counter for
// its kind, ends the connection where that is required, is logged once, and does not affect good
// peers.
func TestHostile(t *testing.T) {
	t.Parallel()
	commands := lnetdtest.Build(t)
	t.Run("opening", func(t *testing.T) { hostileOpening(t, commands) })
	t.Run("message", func(t *testing.T) { hostileMessage(t, commands) })
	if testing.Short() {
		return // skipped in short runs: the tests with many connections take 15 s
	}
	t.Run("crowd", func(t *testing.T) { hostileCrowd(t, commands) })
}

// siege is an lnetd on loopback with good peers, which share an address with the hostile peer.
type siege struct {
	daemon *lnetdtest.Daemon
	to     netip.AddrPort
	good   []*lnetdtest.Peer
}

// goodConnections is the number of connections of all good peers together.
const goodConnections = 2 * 3

// sieges counts the sieges: each one has its own address, so that those that run at the same
// time do not use the same port.
var sieges atomic.Uint32

// from is the address of all peers. None of their NIDs has it.
var from = netip.MustParseAddr("127.0.0.1")

// hostileID is the process ID that hostile peers claim.
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
		settings = timeouts(socklnd.ReasonNone)
	}
	s.daemon = commands.Start(t, lnetdtest.Config{
		Networks: "tcp(" + to.String() + ")", Port: port,
		Settings: append(settings, "source_address: off"), // needed, because the peers share an address that is in none of their NIDs
	})
	for _, id := range []nid.ProcessID{
		{NID: nid.MustParse("127.0.0.7@tcp"), PID: nid.LustrePID},
		{NID: hostileID.NID, PID: 4711}, // a second process on the node of the hostile peer
	} {
		p := s.peer(t, id)
		p.ConnectAll()
		s.good = append(s.good, p)
	}
	s.awaitConnections(goodConnections)
	s.pings(t, "before")
	return s
}

// timeouts returns the settings of a daemon's timeouts. They are short if the daemon closes a
// connection for a timeout.
func timeouts(why socklnd.Reason) []string {
	seconds := longTimeout
	if slices.Contains([]socklnd.Reason{socklnd.AcceptorTimeout, socklnd.HelloTimeout, socklnd.ReceiveTimeout}, why) {
		seconds = shortTimeout
	}
	return []string{"accept_timeout: " + seconds, "sock_timeout: " + seconds}
}

func (s *siege) peer(t *testing.T, id nid.ProcessID) *lnetdtest.Peer {
	return lnetdtest.NewPeer(t, id, from, s.to)
}

// pings checks that the good peers get answers, still over their first connections.
func (s *siege) pings(t *testing.T, when string) {
	t.Helper()
	for _, p := range s.good {
		if _, err := p.Ping(pingLimit); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
}

// awaitConnections waits until lnetd has n connections.
func (s *siege) awaitConnections(n int) {
	s.daemon.Until(reaction, fmt.Sprintf("%d connections", n), func() bool { return s.daemon.Connections() == n })
}

// checkCounters checks that the input is counted under its reasons and no others, and that it is
// logged once if it must be.
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

// checkWarnings checks the number of warnings in the log.
func (s *siege) checkWarnings(t *testing.T, want int) {
	t.Helper()
	count := func() int { return strings.Count(s.daemon.Log(), "level=WARN") }
	s.daemon.Until(reaction, fmt.Sprintf("%d warnings", want), func() bool { return count() >= want })
	if n := count(); n != want {
		t.Errorf("%d warnings in the log, want %d", n, want)
	}
}
