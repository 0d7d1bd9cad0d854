//go:build linux

package main_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	gossipwire "ulnet/gossip/wire"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals/keyring"
)

const (
	// anyPort is above 1023: connections to it need no privileged source port.
	anyPort = 7988
	// forgedRound is the time between two rounds of forged pings, which is two cycles of gossip.
	forgedRound = 400 * time.Millisecond
)

// TestHostileGossip: a stranger with an ordinary connection under its own address sends pings in
// the names of other nodes, in its own name, and for another cluster, with clocks and ages that
// an attacker would choose. No server is declared dead, none stops, and a restarted server takes
// part again. That holds with a key and without one. LNet's check of message sources is switched
// off, so gossip itself must resist forged sources.
func TestHostileGossip(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("takes a minute; runs with ULNET_LONG=1")
	}
	for _, key := range []string{"", "0123456789abcdef0123456789abcdef\n"} {
		t.Run(fmt.Sprintf("key %v", key != ""), func(t *testing.T) { hostileGossip(t, key) })
	}
}

func hostileGossip(t *testing.T, key string) {
	r, stranger := newOpenRoom(t, 4, key)
	whole := func(_ int, v *view) bool { return v.Alive == r.n && v.N == r.n && v.Quorum }
	r.await(r.all(), "all servers", whole)
	began := time.Now()
	tick := time.NewTicker(forgedRound)
	defer tick.Stop()
	for round := range 12 {
		var v view
		r.ask(0, &v, "status")
		for _, name := range []int{2, 3, 99} {
			stranger.pings(r, 0, name, v.Clock, round)
		}
		<-tick.C
	}
	r.await(r.all(), "all servers after the attack", func(i int, v *view) bool { return whole(i, v) && v.Clock < 1<<20 })
	heard := map[bool]string{false: "disagreed", true: "not-signed"}[key != ""]
	for _, i := range r.all() {
		var changes []change
		r.ask(i, &changes, "history")
		for _, c := range changes {
			if c.Time.After(began) && slices.Contains([]string{"died", "stopped", "no-quorum"}, c.Event) {
				t.Errorf("server %d: %+v\n%s", i+1, c, r.servers[i].Log())
			}
		}
		// The attacked server, the first one, must have recorded the pings in the name of the third: this
		// shows that the forged pings have reached its gossip.
		if i == 0 && !slices.ContainsFunc(changes, func(c change) bool { return c.Event == heard && c.NID == r.nid(2) }) {
			t.Errorf("no pings of %s are %s: %+v", r.nid(2), heard, changes)
		}
	}
	r.servers[0].Kill()
	r.servers[0] = r.start(0)
	r.await(r.all(), "the victim, started again", func(i int, v *view) bool {
		return whole(i, v) && (i == 0 || v.of(r.nid(0)).Aliveness > 0)
	})
}

// newOpenRoom starts servers that accept connections from unprivileged ports, and adds a host
// without lnetd.
func newOpenRoom(t *testing.T, n int, key string) (*serverRoom, *gossipStranger) {
	t.Helper()
	lab := netlab.New(t)
	r := &serverRoom{t: t, on: network{kind: "tcp"}, n: n, prefix: "10.1.0.", left: lab.Switch("left")}
	commands := lnetdtest.Build(t)
	settings := append(r.on.eager(2*time.Second, 200*time.Millisecond, time.Second), "source_check: off",
		"gossip:", "  interval: 200ms", fmt.Sprintf("  nids: ['10.1.0.[1-%d]@tcp']", n))
	if key != "" {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		settings = append(settings, "  key_file: "+file)
	}
	var hosts []*netlab.Host
	for i := range n {
		hosts = append(hosts, lab.Host(fmt.Sprintf("server %d", i+1)))
		lab.Cable(hosts[i], fmt.Sprintf("10.1.0.%d/24", i+1), r.left, "")
	}
	r.start = func(i int) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{Networks: "tcp(eth0)", Port: anyPort, Settings: settings, Within: hosts[i].Do})
	}
	for i := range n {
		r.servers = append(r.servers, r.start(i))
	}
	s := &gossipStranger{host: lab.Host("stranger"), conns: make(map[int]*net.TCPConn)}
	lab.Cable(s.host, "10.1.0.99/24", r.left, "")
	return r, s
}

// gossipStranger is a program that has a connection to each server, under its own address.
type gossipStranger struct {
	host  *netlab.Host
	conns map[int]*net.TCPConn
}

// connect opens a connection to a server, once more if the previous one was closed.
func (s *gossipStranger) connect(r *serverRoom, server int) *lnetdtest.Peer {
	r.t.Helper()
	self, to := netip.MustParseAddr("10.1.0.99"), netip.AddrFrom4([4]byte{10, 1, 0, byte(server + 1)})
	id := nid.ProcessID{NID: nid.MustParse("10.1.0.99@tcp"), PID: nid.LustrePID}
	p := lnetdtest.NewPeer(r.t, id, self, netip.AddrPortFrom(to, anyPort))
	if s.conns[server] == nil {
		if err := s.host.Do(func() error { s.conns[server] = p.Connect(ksock.Control); return nil }); err != nil {
			r.t.Fatal(err)
		}
	}
	return p
}

// pings sends pings to a server in the name of another one: one ping with the clock of the
// round, one with other parameters, and one that is signed with another key.
func (s *gossipStranger) pings(r *serverRoom, server, name int, clock uint64, round int) {
	r.t.Helper()
	clocks := []uint64{
		1<<64 - 1, 1 << 62, 1<<40 - 1, 1 << 40, clock + 1<<20, clock + 1<<20 + 1, clock + 10_000, clock + 100, clock + 41, clock - 41, 0, 1,
	}
	ages := make([]byte, r.n)
	for i := range ages {
		ages[i] = []byte{0, 254, 255, 17}[(i+round)%4]
	}
	if name < r.n {
		ages[name] = 0
	}
	good := gossipwire.Header{N: uint32(r.n), Clock: clocks[round%len(clocks)]}
	bad := gossipwire.Header{Flags: gossipwire.FlagParams | gossipwire.FlagStaged, N: uint32(r.n), Clock: clock, Interval: 300 * time.Millisecond}
	signed := good
	signed.Flags |= gossipwire.FlagSigned
	p := s.connect(r, server)
	for _, b := range [][]byte{
		good.AppendTo(nil), bad.AppendTo(nil), append(append(signed.AppendTo(nil), ages...), make([]byte, keyring.CodeSize)...),
	} {
		if len(b) < gossipwire.HeaderSize+r.n+keyring.CodeSize {
			b = append(b, ages...)
		}
		h := p.Header()
		if name < r.n {
			h.SrcNID = nid.MustParse(r.nid(name))
		}
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: gossipwire.PingBits, Portal: gossipwire.Portal})
		h.Type, h.PayloadLength = wire.Put, uint32(len(b))
		if _, err := s.conns[server].Write(p.Message(lnetHeader, h, b)); err != nil { // lnetd has closed the connection: connect again
			s.conns[server] = nil
			p = s.connect(r, server)
		}
	}
}
