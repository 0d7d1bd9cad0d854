//go:build linux

package main_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/lndtest/netlab"
)

// kernelPort is the port of kernel nodes, where lnetd accepts privileged
// source ports only.
const kernelPort = 988

// stage is where a recording is played: lnetd on a host with the address of
// one recorded node, the player on another one with the other's.
type stage struct {
	node, player         *netlab.Host
	nodeAddr, playerAddr netip.Addr
	daemon               *lnetdtest.Daemon
}

// newStage starts lnetd in the place of one end of the recording's first
// connection.
func newStage(t *testing.T, commands lnetdtest.Commands, script *replay.Script, node replay.Side, net string, settings ...string) *stage {
	t.Helper()
	ends := script.Conns[0].Ends
	lab := netlab.New(t)
	s := &stage{
		node: lab.Host("node"), player: lab.Host("player"),
		nodeAddr: ends[node].Addr(), playerAddr: ends[node.Other()].Addr(),
	}
	lab.Cable(s.node, s.nodeAddr.String()+"/24", s.player, s.playerAddr.String()+"/24")
	s.daemon = commands.Start(t, lnetdtest.Config{
		Networks: net + "(eth0)", Port: kernelPort, Settings: settings, Within: s.node.Do,
	})
	return s
}

func (s *stage) listen(t *testing.T) *net.TCPListener {
	t.Helper()
	var l *net.TCPListener
	err := s.player.Do(func() (err error) {
		l, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.playerAddr, kernelPort)))
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

// atOnce is what a ping may take whose end is known: far less than its time-out
// of 25 s, which is what it takes if its failure or its answer goes unnoticed,
// and long enough for a busy machine to start a program.
const atOnce = 10 * time.Second

// pings has the node ping or discover the player and collects how that ended.
type pings struct {
	s       *stage
	ctx     context.Context
	command string // of lnetctl
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

// wait returns how the next ping ended, and how long it took from now on.
func (p *pings) wait() (took time.Duration, err error) {
	begin := time.Now()
	err = <-p.results
	return time.Since(begin), err
}

func load(t *testing.T, name string) *replay.Script {
	t.Helper()
	s, err := replay.Load(filepath.Join("testdata", "captures", name+".pcap"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplay plays recordings of kernel nodes against lnetd.
func TestReplay(t *testing.T) {
	commands := lnetdtest.Build(t)
	t.Run("passive", func(t *testing.T) { replayPassive(t, commands) })
	t.Run("active", func(t *testing.T) { replayActive(t, commands) })
	t.Run("answers", func(t *testing.T) { replayAnswers(t, commands) })
	t.Run("refused passive", func(t *testing.T) { replayRefusedPassive(t, commands) })
	t.Run("refused active", func(t *testing.T) { replayRefusedActive(t, commands) })
}

// replayPassive plays the side that dialled. Every answer of lnetd, and every
// silence, must be the kernel's.
func replayPassive(t *testing.T, commands lnetdtest.Commands) {
	for _, test := range []struct {
		name     string
		command  string // of lnetctl at the node, in the recording
		settings []string
		pings    int               // of the node, in the recording
		reasons  map[string]uint64 // counters; nil if connections stay open
	}{
		{name: "tcp-ping", command: "ping", pings: 1},
		{name: "tcp-discover", command: "discover", pings: 1},
		{name: "tcp-discover-off", settings: []string{"lnet_peer_discovery_disabled: 1"}},
		{name: "tcp-err-handshake", reasons: map[string]uint64{
			"unprivileged_port": 1, "acceptor_magic": 1, "acceptor_version": 1, "foreign_nid": 1, "acceptor_timeout": 1,
			"hello_version": 1, "hello_magic": 1, "hello_type": 1, "hello_addresses": 1, "hello_source": 1, "peer_closed": 3,
		}},
		{name: "tcp-err-wrongnet", reasons: map[string]uint64{"foreign_nid": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := load(t, test.name)
			s := newStage(t, commands, script, replay.Acceptor, "tcp", test.settings...)
			pings := s.pings(t, "tcp")
			pings.command = test.command
			p := replay.Player{Script: script, Side: replay.Initiator, Dial: s.dial, Operate: pings.start}
			if err := p.Play(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range test.pings {
				if _, err := pings.wait(); err != nil {
					t.Error(err)
				}
			}
			if test.reasons == nil {
				return
			}
			if diff := cmp.Diff(test.reasons, s.daemon.Reasons()); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}

// replayActive plays the side that listened, while lnetd pings or discovers.
// What lnetd sends, in which order and from which ports, must be the kernel's.
func replayActive(t *testing.T, commands lnetdtest.Commands) {
	for _, test := range []struct {
		name, net, command string
		fails              bool // the ping is not answered
	}{
		{name: "tcp-ping", net: "tcp", command: "ping"},
		{name: "tcp-discover", net: "tcp", command: "discover"},
		{name: "tcp-discover-off", net: "tcp", command: "discover"},
		{name: "tcp-err-wrongnet", net: "tcp3", command: "ping", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := load(t, test.name)
			s := newStage(t, commands, script, replay.Initiator, test.net)
			pings := s.pings(t, test.net)
			pings.command = test.command
			p := replay.Player{Script: script, Side: replay.Acceptor, Listener: s.listen(t), Operate: pings.start}
			if err := p.Play(t.Context()); err != nil {
				t.Fatal(err)
			}
			took, err := pings.wait()
			if failed := err != nil; failed != test.fails {
				t.Errorf("%s: %v, want a failure: %v", test.command, err, test.fails)
			}
			if took > atOnce {
				t.Errorf("ping ended %v after the end of the recording", took)
			}
		})
	}
}
