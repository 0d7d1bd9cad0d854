//go:build linux

package replay_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// kernelPort is the port of kernel nodes, on which lnetd accepts only privileged source ports.
const kernelPort = 988

// stage has two hosts: lnetd runs on one with the address of one recorded node, and the player
// on the other one with the address of the other node.
type stage struct {
	lab                  *netlab.Lab
	node, player         *netlab.Host
	nodeAddr, playerAddr netip.Addr
	daemon               *lnetdtest.Daemon
	ctx                  context.Context // context of the test
}

// newStage starts lnetd in the place of one end of the recording's first connection. The
// argument networks is either the name of a net, on which lnetd then has the address of that
// end, or a whole networks string. Each further address is on a link of its own.
func newStage(t *testing.T, commands lnetdtest.Commands, script *replay.Script, node replay.Side, networks string, settings ...string) *stage {
	t.Helper()
	ends := script.Conns[0].Ends
	lab := netlab.New(t)
	s := &stage{
		lab: lab, node: lab.Host("node"), player: lab.Host("player"),
		nodeAddr: ends[node].Addr(), playerAddr: ends[node.Other()].Addr(), ctx: t.Context(),
	}
	lab.Cable(s.node, withPrefix(s.nodeAddr), s.player, withPrefix(s.playerAddr))
	if !strings.Contains(networks, "(") {
		networks += "(" + s.nodeAddr.String() + ")"
	}
	s.addLinks(t, networks)
	s.daemon = commands.Start(t, lnetdtest.Config{Networks: networks, Port: kernelPort, Settings: settings, Within: s.node.Do})
	return s
}

// established waits until lnetd has the given number of connections.
func (s *stage) established(conns int) error {
	have := 0
	if !lndtest.Poll(func() bool {
		status, err := node.OpStatus.Call(s.ctx, s.daemon.Control(), control.None{})
		have = 0
		for _, ni := range status.NIs {
			if ni.NID.Net().Type() == nid.TCP {
				have += ni.LND.Connections
			}
		}
		return err == nil && have >= conns
	}) {
		return fmt.Errorf("lnetd has %d connections, want %d", have, conns)
	}
	return nil
}

// settled waits until lnetd has counted all messages that it has sent.
func (s *stage) settled() error {
	under := uint64(0)
	if !lndtest.Poll(func() bool {
		status, err := node.OpStatus.Call(s.ctx, s.daemon.Control(), control.None{})
		under = status.Stats.MsgsAlloc
		return err == nil && under == 0
	}) {
		return fmt.Errorf("lnetd has %d messages under way", under)
	}
	return nil
}

// withPrefix returns an address with the prefix length of its network.
func withPrefix(addr netip.Addr) string {
	if addr.Is6() {
		return addr.String() + "/64"
	}
	return addr.String() + "/24"
}

// addLinks adds a link to the node for each further address in networks.
func (s *stage) addLinks(t *testing.T, text string) {
	t.Helper()
	list, err := networks.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range list {
		if addr := netip.MustParseAddr(network.Name); addr != s.nodeAddr {
			s.addLink(t, addr)
		}
	}
}

// addLink adds a link with an address to the node.
func (s *stage) addLink(t *testing.T, addr netip.Addr) {
	t.Helper()
	beside := s.lab.Host("beside")
	s.lab.Cable(s.node, withPrefix(addr), beside, withPrefix(addr.Next()))
}

func (s *stage) listen(t *testing.T) *net.TCPListener {
	t.Helper()
	var l *net.TCPListener
	err := s.player.Do(func() (err error) {
		l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.playerAddr, kernelPort)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (s *stage) dial(ctx context.Context, local, remote netip.AddrPort) (c *net.TCPConn, err error) {
	err = s.player.Do(func() (err error) {
		c, err = replay.DialFrom(ctx, local, remote)
		return err
	})
	return c, err
}

// atOnce bounds a ping that should end at once. If lnetd notices neither the answer nor the
// failure of a ping, the ping takes 25 s, its timeout. The bound is far less than that, and long
// enough for a busy machine to start a program.
const atOnce = 20 * time.Second

// pings makes the node ping or discover the player, and collects the results.
type pings struct {
	s       *stage
	ctx     context.Context
	command string // command of lnetctl that sends the pings
	target  string
	results chan error
}

func (s *stage) pings(t *testing.T, net string) *pings {
	return &pings{s, t.Context(), "ping", s.playerAddr.String() + "@" + net, make(chan error, 8)}
}

func (p *pings) start() {
	go func() {
		out, err := p.s.daemon.Lnetctl(p.ctx, p.command, "--timeout", "25s", p.target)
		if err == nil && !strings.Contains(out, "primary nid: "+p.target) {
			err = fmt.Errorf("lnetctl %s %s printed:\n%s", p.command, p.target, out)
		}
		p.results <- err
	}()
}

// wait returns the result of the next ping, and how long wait took.
func (p *pings) wait() (took time.Duration, err error) {
	begin := time.Now()
	err = <-p.results
	return time.Since(begin), err
}

// TestReplay plays the recordings in which connections fail before the first message.
func TestReplay(t *testing.T) {
	t.Parallel()
	commands := lnetdtest.Build(t)
	t.Run("openings", func(t *testing.T) { replayOpenings(t, commands) })
	t.Run("answers", func(t *testing.T) { replayAnswers(t, commands) })
	t.Run("refused passive", func(t *testing.T) { replayRefusedPassive(t, commands) })
	t.Run("refused active", func(t *testing.T) { replayRefusedActive(t, commands) })
}

// replayOpenings plays the client of tcp-err-handshake, most of whose openings are invalid.
// lnetd must answer each opening as the kernel did, or not at all if the kernel did not.
func replayOpenings(t *testing.T, commands lnetdtest.Commands) {
	t.Parallel()
	script := load(t, "tcp-err-handshake").Records()
	s := newStage(t, commands, script, replay.Acceptor, "tcp")
	p := replay.Player{Script: script, Host: s.playerAddr, Dial: s.dial}
	if err := p.Play(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"unprivileged_port": 1, "acceptor_magic": 1, "acceptor_version": 1, "foreign_nid": 1, "acceptor_timeout": 1,
		"hello_version": 1, "hello_magic": 1, "hello_type": 1, "hello_addresses": 1, "hello_source": 1, "peer_closed": 3,
	}
	if diff := cmp.Diff(want, s.daemon.Reasons()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}
