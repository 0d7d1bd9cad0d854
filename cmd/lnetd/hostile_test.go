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
	// handshakeSeconds and messageSeconds are accept_timeout and sock_timeout. They are short, but
	// longer than a busy machine delays a good peer.
	handshakeSeconds, messageSeconds = "3", "3"
	// reaction bounds the time in which lnetd has to react to an input. It is long, because the
	// test must fail if there is no reaction, but not if the reaction is late.
	reaction = 20 * time.Second
	// pingLimit is how long a good peer waits for the answer to a ping. Only a daemon that hangs
	// takes so long.
	pingLimit = 10 * time.Second
)

// TestHostile sends all kinds of invalid input to lnetd. Each input increments its counter,
// ends the connection if it has to, is logged once, and does not affect good peers.
func TestHostile(t *testing.T) {
	t.Parallel()
	commands := lnetdtest.Build(t)
	t.Run("opening", func(t *testing.T) { hostileOpening(t, commands) })
	t.Run("message", func(t *testing.T) { hostileMessage(t, commands) })
	if testing.Short() {
		return // the tests of many connections take a quarter of a minute
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

// from is the address of all peers, and not the NID of any of them.
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
		settings = []string{"accept_timeout: " + handshakeSeconds, "sock_timeout: " + messageSeconds}
	}
	s.daemon = commands.Start(t, lnetdtest.Config{
		Networks: "tcp(" + to.String() + ")", Port: port,
		Settings: append(settings, "source_address: off"), // the peers share an address, and their NIDs differ from it
	})
	for _, id := range []nid.ProcessID{
		{NID: nid.MustParse("127.0.0.7@tcp"), PID: nid.LustrePID},
		{NID: hostileID.NID, PID: 4711}, // another process of the same node
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

// pings checks that the good peers get answers, and still over their first connections.
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

// checkCounters checks that the input is counted under its own reasons and no others, and that
// it is logged once if it has to be.
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
