//go:build linux

package main_test

import (
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/socklnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// imposture has two honest daemons that use the port of kernels, and a host on which the
// attacker is root and can use every source port.
type imposture struct {
	t              *testing.T
	server, honest *lnetdtest.Daemon
	stranger       *netlab.Host
	port           uint16 // source port of the attacker's next connection
}

const (
	victimAddr     = "10.5.0.1"
	honestNodeAddr = "10.5.0.2"
	impostorAddr   = "10.5.0.3"
)

func newImposture(t *testing.T) *imposture {
	t.Helper()
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("ULNET_LONG is not set")
	}
	on := testNetworks[0]
	lab := netlab.New(t)
	s := lab.Switch("switch")
	commands := lnetdtest.Build(t)
	host := func(name, addr string) *netlab.Host {
		h := lab.Host(name)
		lab.Cable(h, addr+"/24", s, "")
		return h
	}
	start := func(h *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{
			Networks: on.eth0(), Port: kernelPort, Settings: on.eager(2*time.Second, 20*time.Millisecond, time.Second), Within: h.Do,
		})
	}
	m := &imposture{t: t, port: 1023}
	m.server, m.honest = start(host("server", victimAddr)), start(host("honest", honestNodeAddr))
	m.stranger = host("stranger", impostorAddr)
	m.honestWork()
	return m
}

// honestWork checks that the honest nodes reach each other, and that every show command of
// lnetctl works on the server.
func (m *imposture) honestWork() {
	m.t.Helper()
	mustPing(m.t, m.server, honestNodeAddr+"@tcp")
	mustPing(m.t, m.honest, victimAddr+"@tcp")
	for _, verb := range []string{"net", "peer", "stats"} {
		for _, flags := range [][]string{nil, {"-v", "3"}, {"--json"}} {
			args := slices.Concat([]string{verb, "show"}, flags)
			out, err := m.server.Lnetctl(m.t.Context(), args...)
			if err != nil {
				m.t.Errorf("%v: %v", args, err)
			}
			if slices.Contains(flags, "--json") && !json.Valid([]byte(out)) {
				m.t.Errorf("%v: no JSON:\n%s", args, out)
			}
			if verb == "peer" && !strings.Contains(out, honestNodeAddr+"@tcp") {
				m.t.Errorf("%v does not show the honest node:\n%s", args, out)
			}
		}
	}
}

// claim opens a connection from the attacker's host with a HELLO of the given version and source
// NID, and checks that the daemon closes the connection without an answer.
func (m *imposture) claim(v ksock.Version, name nid.NID) {
	m.t.Helper()
	err := m.stranger.Do(func() error {
		p := m.peer(name)
		h := p.Hello(ksock.Control)
		h.Version = v
		c := p.Dial()
		m.port = p.Port
		if _, err := c.Write(p.Opening(h)); err != nil {
			return err
		}
		if got, err := lnetdtest.AwaitEnd(c, reaction); err != nil || len(got) > 0 {
			m.t.Errorf("%v as %v: answer % x, %v", v, name, got, err)
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// peer returns a hand-made node on the attacker's host that uses the given NID.
func (m *imposture) peer(name nid.NID) *lnetdtest.Peer {
	id := nid.ProcessID{NID: name, PID: nid.LustrePID}
	p := lnetdtest.NewPeer(m.t, id, netip.MustParseAddr(impostorAddr), netip.AddrPortFrom(netip.MustParseAddr(victimAddr), kernelPort))
	p.Port, p.Incarnation = m.port, 1<<62
	return p
}

// TestImpostor: root on another host sends a HELLO in the name of an honest node, in every
// version. The daemon closes these connections without an answer, counts them, and logs them
// once. The connections of the honest node stay open.
func TestImpostor(t *testing.T) {
	m := newImposture(t)
	before := m.server.Connections()
	for range 10 {
		for v := ksock.V1; v <= ksock.V4; v++ {
			m.claim(v, nid.MustParse(honestNodeAddr+"@tcp"))
		}
	}
	if got := m.server.Count(socklnd.HelloAddress); got != 40 {
		t.Errorf("%d refused, want 40", got)
	}
	if got := m.server.Connections(); got != before {
		t.Errorf("%d connections, had %d", got, before)
	}
	if got := strings.Count(m.server.Log(), "hello_address"); got != 1 || !strings.Contains(m.server.Log(), "source_address: off") {
		t.Errorf("logged %d times, want once, with what to do:\n%s", got, m.server.Log())
	}
	m.honestWork()
	for _, why := range []socklnd.Reason{socklnd.PeerRestarted, socklnd.ProtocolChanged, socklnd.PeerClosed} {
		if got := m.server.Count(why); got != 0 {
			t.Errorf("%v: %d connections of the honest node ended", why, got)
		}
	}
}

// oddNIDs are NIDs of nets that the daemons do not have; most of the nets do not exist.
var oddNIDs = []string{"a050003@<200:7>", "a050003@<17:0>", "7@<9:1>", "0@lo", "10.5.0.3@tcp9", "10.5.0.3@o2ib", "7@kfi", "1@<0:3>"}

// TestUnknownNets: a stranger sends HELLOs with NIDs of nets that the daemon does not have. In its own
// name it also pushes a ping info that lists these NIDs, and large ones. No such HELLO makes its sender a
// peer, the daemon connects to none of the NIDs, and every show command still works.
func TestUnknownNets(t *testing.T) {
	m := newImposture(t)
	for _, text := range oddNIDs[:7] {
		m.claim(ksock.V3, nid.MustParse(text))
		m.claim(ksock.V4, nid.MustParse(text))
	}
	if got := m.server.Count(socklnd.HelloNet); got != 14 {
		t.Errorf("%d refused, want 14", got)
	}
	if out, err := m.server.Lnetctl(t.Context(), "peer", "show"); err != nil || strings.Contains(out, "<") || strings.Contains(out, "tcp9") {
		t.Errorf("peers after the HELLOs: %v\n%s", err, out)
	}
	m.honestWork()
	m.push(append(slices.Clone(oddNIDs), "1:2:3:4@<200:0>", "1:200/7@<2:0>", "::ffff:10.5.0.3@tcp", "fd88::1@tcp"))
	m.honestWork()
	for _, why := range []socklnd.Reason{socklnd.ConnectFailed, socklnd.ConnectTimeout, socklnd.NoRoute} {
		if got := m.server.Count(why); got != 0 {
			t.Errorf("%v: %d, an odd NID was dialled", why, got)
		}
	}
}

// push connects the stranger under its own address and pushes a ping info that lists the given
// NIDs. Until the test ends the stranger answers pings with the same ping info.
func (m *imposture) push(names []string) {
	m.t.Helper()
	p := m.peer(nid.MustParse(impostorAddr + "@tcp"))
	info := wire.PingInfo{Features: wire.FeatureNIStatus | wire.FeatureMultiRail | wire.FeatureDiscovery, PID: nid.LustrePID, Sequence: 2}
	for _, text := range append([]string{impostorAddr + "@tcp"}, names...) {
		info.NIs = append(info.NIs, wire.NIStatus{NID: nid.MustParse(text), Status: wire.StatusUp})
	}
	payload, err := info.AppendBinary(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	var conns []*net.TCPConn
	_ = m.stranger.Do(func() error { conns = p.ConnectAll(); return nil })
	_ = conns[0].SetReadDeadline(time.Time{})
	answered := make(chan struct{}, 1)
	go answerAsPeer(p, conns[0], payload, answered)
	h := p.Header()
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: wire.PingMatchBits, Portal: wire.PingPortal})
	h.PayloadLength = uint32(len(payload))
	if _, err := conns[0].Write(p.Message(lnetHeader, h, payload)); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.server.Lnetctl(m.t.Context(), "discover", "--force", "--timeout", "20s", p.ID.NID.String()); err != nil {
		m.t.Error(err)
	}
	out, err := m.server.Lnetctl(m.t.Context(), "ping", "--timeout", "20s", p.ID.NID.String())
	for _, text := range names {
		if err != nil || !strings.Contains(out, text) {
			m.t.Errorf("ping does not show %s: %v\n%s", text, err, out)
		}
	}
	select {
	case <-answered:
	default:
		m.t.Error("the stranger was not asked for its interfaces")
	}
}

// answerAsPeer answers each GET on a connection with the payload, and each PUT with an ACK,
// until the connection ends.
func answerAsPeer(p *lnetdtest.Peer, c *net.TCPConn, payload []byte, answered chan<- struct{}) {
	for {
		b := make([]byte, ksock.MsgHeaderSize+wire.HeaderSize)
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		h, _, err := wire.ParseHeader(b[ksock.MsgHeaderSize:])
		if err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(h.PayloadLength)); err != nil {
			return
		}
		reply, part := p.Header(), []byte(nil)
		switch h.Type {
		case wire.Put: // the daemon pushes its own ping info
			reply.SetAck(wire.AckCmd{DstMD: h.Put().AckMD, MatchBits: h.Put().MatchBits, MLength: h.PayloadLength})
		case wire.Get:
			get := h.Get()
			part = payload[:min(len(payload), int(get.SinkLength))] // the answer may be only a part of the ping info, and then the daemon asks again
			reply.SetReply(wire.ReplyCmd{DstMD: get.ReturnMD})
			reply.PayloadLength = uint32(len(part))
		default:
			continue
		}
		if _, err := c.Write(p.Message(lnetHeader, reply, part)); err != nil {
			return
		}
		if h.Type == wire.Get {
			select {
			case answered <- struct{}{}:
			default:
			}
		}
	}
}
