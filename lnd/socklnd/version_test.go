package socklnd

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// step is one record of a recorded connection, in hex.
type step struct {
	from string // the sender: "probe" or "us"
	hex  string
}

// dialogue is the recorded opening of a connection between two kernels. Our NI takes the part of
// one of them, and a probe the part of the other.
type dialogue struct {
	name        string
	we, they    string // addresses of the NI and of the probe
	cfg         Config
	incarnation uint64 // incarnation of the NI
	conns       [][]step
	version     ksock.Version // version that both sides use in the end
}

// The records of captures: what the dialling node sends (its address ends in .11, or in ::2 over IPv6),
// and what the other node answers (.10, or ::3).
const (
	acceptor10 = "0071ceac010000000a004d0a00000200"
	hello3of11 = "63697245030000000b004d0a000002000a004d0a0000020039300000000000004eb6dab877dce91800000000000000000100000000000000"
	refusalV1  = "ed0dbcee010000000a004d0a00000200000000003930000004000000000000000ecd760077dce918ffffffff00000000000000000000000000000000000000000000000000000000"
	hello1of11 = "ed0dbcee010000000b004d0a00000200000000003930000004000000000000004eb6dab877dce9180100000000000000000000000000000000000000000000000000000000000000"
	answer1    = "ed0dbcee010000000a004d0a00000200000000003930000004000000000000000ecd760077dce9180100000000000000000000000000000000000000000000000000000000000000"
	get1       = "0a004d0a000002000b004d0a000002003930000039300000020000000000000099ed759f77dce9180d0000000000000000000000000000800000000000000000780f000000000000"

	hello3to2 = "63697245030000000b004d0a000002000a004d0a000002003930000000000000107afa3585dce91800000000000000000100000000000000"
	refusalV2 = "63697245020000000a004d0a000002000a004d0a00000200393000000000000054d6448a84dce9180000000000000000ffffffff00000000"
	hello2    = "63697245020000000b004d0a000002000a004d0a000002003930000000000000107afa3585dce91800000000000000000100000000000000"
	answer2   = "63697245020000000a004d0a000002000b004d0a00000200393000000000000054d6448a84dce91800000000000000000100000000000000"
	get2      = "c100000000000000000000000000000000000000000000000a004d0a000002000b004d0a0000020039300000393000000200000000000000cac0a72185dce9180d0000000000000000000000000000800000000000000000780f000000000000"

	acceptor6 = "0071ceac020000000c020000fd880000000000000000000000000003"
	hello4    = "63697245040000000c020000fd8800000000000000000000000000020c020000fd8800000000000000000000000000033930000000000000ba7aee4333efe91800000000000000000100000000000000"
	answer4   = "63697245040000000c020000fd8800000000000000000000000000030c020000fd8800000000000000000000000000023930000000000000cba6c97a33efe91800000000000000000100000000000000"
	get4      = "c100000000000000000000000000000000000000000000000c020000fd8800000000000000000000000000030c020000fd880000000000000000000000000002393000003930000002000000000000008e20934033efe9180d0000000000000000000000000000800000000000000000780f000000000000"
)

// TestPassiveVersions (SK-3) answers recorded openings, byte for byte as the kernel
// did, and takes the first message.
func TestPassiveVersions(t *testing.T) {
	spec.Covers(t, "SK-3")
	for _, d := range []dialogue{
		{
			name: "pinned to 1", we: "10.77.0.10", they: "10.77.0.11", cfg: Config{Protocol: 1}, incarnation: 0x18e9dc770076cd0e, version: 1,
			conns: [][]step{
				{{"probe", acceptor10}, {"probe", hello3of11}, {"us", refusalV1}},
				{{"probe", acceptor10}, {"probe", hello1of11}, {"us", answer1}, {"probe", get1}},
			},
		},
		{
			name: "version 1", we: "10.77.0.10", they: "10.77.0.11", incarnation: 0x18e9dc770076cd0e, version: 1,
			conns: [][]step{{{"probe", acceptor10}, {"probe", hello1of11}, {"us", answer1}, {"probe", get1}}},
		},
		{
			name: "pinned to 2", we: "10.77.0.10", they: "10.77.0.11", cfg: Config{Protocol: 2}, incarnation: 0x18e9dc848a44d654, version: 2,
			conns: [][]step{
				{{"probe", acceptor10}, {"probe", hello3to2}, {"us", refusalV2}},
				{{"probe", acceptor10}, {"probe", hello2}, {"us", answer2}, {"probe", get2}},
			},
		},
		{
			name: "version 4", we: "fd88::3", they: "fd88::2", incarnation: 0x18e9ef337ac9a6cb, version: 4,
			conns: [][]step{{{"probe", acceptor6}, {"probe", hello4}, {"us", answer4}, {"probe", get4}}},
		},
		{
			name: "IPv6 speaks no version 3", we: "fd88::3", they: "fd88::2", incarnation: 0x18e9ef337ac9a6cb, version: 4,
			conns: [][]step{
				{{"probe", acceptor6}, {"probe", hello3of11}, {"us", strings.Replace(
					strings.Replace(answer4, "0000fd88000000000000000000000000000239", "0000fd88000000000000000000000000000339", 1),
					"0100000000000000", "ffffffff00000000", 1)}},
				{{"probe", acceptor6}, {"probe", hello4}, {"us", answer4}, {"probe", get4}},
			},
		},
	} {
		t.Run(d.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, d.we, n.config(d.cfg), func(c *lnd.Config) { c.Incarnation = d.incarnation })
				for i, steps := range d.conns {
					p := n.connect(t, addrText(d.they, 1023-i), addrText(d.we, 988))
					p.play(steps)
					if i < len(d.conns)-1 {
						p.expectEnd()
					}
				}
				h.wantArrivals(1)
				if p := h.ni.Snapshot().Peers; len(p) != 1 || p[0].Version != d.version || p[0].ID.NID.Addr().String() != d.they {
					t.Errorf("peers %+v", p)
				}
				h.wantCount(HelloVersion, uint64(len(d.conns)-1))
			})
		})
	}
}

// TestActiveVersions (SK-3) dials and gets recorded answers; it sends the same bytes as the
// kernel did, the first message included.
func TestActiveVersions(t *testing.T) {
	spec.Covers(t, "SK-3")
	for _, d := range []dialogue{
		{
			name: "version 1 adopted", we: "10.77.0.11", they: "10.77.0.10", incarnation: 0x18e9dc77b8dab64e, version: 1,
			conns: [][]step{
				{{"us", acceptor10}, {"us", hello3of11}, {"probe", refusalV1}},
				{{"us", acceptor10}, {"us", hello1of11}, {"probe", answer1}, {"us", get1}},
			},
		},
		{
			name: "pinned to 1", we: "10.77.0.11", they: "10.77.0.10", cfg: Config{Protocol: 1}, incarnation: 0x18e9dc77b8dab64e, version: 1,
			conns: [][]step{{{"us", acceptor10}, {"us", hello1of11}, {"probe", answer1}, {"us", get1}}},
		},
		{
			name: "version 2 adopted", we: "10.77.0.11", they: "10.77.0.10", incarnation: 0x18e9dc8535fa7a10, version: 2,
			conns: [][]step{
				{{"us", acceptor10}, {"us", hello3to2}, {"probe", refusalV2}},
				{{"us", acceptor10}, {"us", hello2}, {"probe", answer2}, {"us", get2}},
			},
		},
		{
			name: "version 4", we: "fd88::2", they: "fd88::3", incarnation: 0x18e9ef3343ee7aba, version: 4,
			conns: [][]step{{{"us", acceptor6}, {"us", hello4}, {"probe", answer4}, {"us", get4}}},
		},
	} {
		t.Run(d.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				l, _ := n.listen(addrPortOf(d.they, 988))
				h := start(t, d.we, n.config(d.cfg), func(c *lnd.Config) { c.Incarnation = d.incarnation })
				last := d.conns[len(d.conns)-1]
				h.ni.Send(recordedGet(t, last[len(last)-1].hex, d.they))
				for i, steps := range d.conns {
					p := l.(*memListener).accept(t)
					p.play(steps)
					if i < len(d.conns)-1 {
						p.expectEnd()
					}
				}
				if err := h.wantFinalized(1)[0]; err != nil {
					t.Error(err)
				}
				if v := h.ni.Snapshot().Peers[0].Version; v != d.version {
					t.Errorf("agreed on %v", v)
				}
			})
		})
	}
}

// TestActiveRefusesVersion: a node that is pinned to a version does not adopt a version that
// it does not speak.
func TestActiveRefusesVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{Protocol: 2})
		h.put(probeID)
		l.answered(t, inVersion2(dialCtl), replyNone).expectEnd()
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EPROTO) {
			t.Error(err)
		}
		h.wantCount(DialOtherVersion, 1)
	})
}

// TestUntypedFallsBack: a peer that has no version 2 gets typed connections,
// because no message may leave on an ANY connection of version 3.
func TestUntypedFallsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{Untyped: true})
		h.put(probeID)
		untyped := inVersion2(dialRequest + dialHello + "00000000 00000000")
		l.answered(t, untyped, replyNone).expectEnd()
		l.answered(t, dialCtl, replyCtl).read(96)
		if err := h.wantFinalized(1)[0]; err != nil {
			t.Error(err)
		}
	})
}

// TestMixedVersions: two nodes, one of them pinned to a version, speak over TCP, whichever
// dials.
func TestMixedVersions(t *testing.T) {
	for pinned := ksock.V1; pinned <= ksock.V3; pinned++ {
		for _, dialler := range []string{"pinned", "other"} {
			t.Run(pinned.String()+" dialled by "+dialler, func(t *testing.T) {
				f := newTCPFabric()
				a := start(t, "127.0.0.1", f.config(Config{Protocol: pinned}))
				b := start(t, "127.0.0.2", f.config(Config{}))
				if dialler == "other" {
					a, b = b, a
				}
				a.put(b.id(), pattern(8))
				a.put(b.id(), pattern(5000))
				b.wantArrivals(2)
				b.put(a.id(), pattern(100_000))
				a.wantArrivals(1)
				if v := a.ni.Snapshot().Peers[0].Version; v != pinned {
					t.Errorf("spoke %v", v)
				}
			})
		}
	}
}

// TestFamilies: an NI dials no address of the other IP version, and sends no message whose
// NIDs its connection cannot carry (a truncated NID would be another node's).
func TestFamilies(t *testing.T) {
	v4 := nid.ProcessID{NID: nid.MustParse("10.0.0.1@tcp"), PID: nid.LustrePID}
	v6 := nid.ProcessID{NID: nid.MustParse("fd88::1@tcp"), PID: nid.LustrePID}
	for we, they := range map[string]nid.ProcessID{"10.0.0.2": v6, "fd88::2": v4} {
		bubble(t, func(t *testing.T) {
			n := newMemNet()
			h := start(t, we, n.config(Config{}))
			h.put(they)
			if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EHOSTUNREACH) {
				t.Errorf("%s to %v: %v", we, they, err)
			}
			h.wantCount(NoRoute, 1)
			if len(n.ports()) > 0 {
				t.Error("dialled")
			}
		})
	}
	bubble(t, func(t *testing.T) {
		h, _ := established(t, Config{})
		m := newPut(v6, probeID)
		h.ni.Send(m)
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EINVAL) || !errors.Is(err, wire.ErrLargeNID) {
			t.Error(err)
		}
		h.wantCount(BadHeader, 1)
	})
}

// TestUserFlaggedIPv6: in mode all a peer on an unprivileged port is known by
// its whole IPv6 address.
func TestUserFlaggedIPv6(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "fd88::3", n.config(Config{Accept: AcceptAll}))
		p := n.connect(t, "[fd88::7]:40000", "[fd88::3]:988")
		p.send(acceptor6, hello4)
		p.read(ksock.HelloV4Size)
		go p.send(get4)
		got := h.wantArrivals(1)[0]
		want := nid.ProcessID{NID: nid.MustParse("fd88::7@tcp"), PID: 40000 | nid.UserPID}
		if got.from != want || got.header.SrcNID != want.NID || got.header.SrcPID != want.PID {
			t.Errorf("message from %v, header says %v %v", got.from, got.header.SrcNID, got.header.SrcPID)
		}
		m := newPut(h.id(), want)
		h.ni.Send(m)
		if b := p.read(24 + 96); len(b) != 120 {
			t.Errorf("answer of %d bytes", len(b))
		}
	})
}

// TestAnyCarriesNothing (SK-22): from version 3 on an ANY connection that a peer opens
// is accepted, and nothing is sent on it.
func TestAnyCarriesNothing(t *testing.T) {
	spec.Covers(t, "SK-22")
	for _, tt := range []struct {
		name    string
		version func(string) string
		sends   bool
	}{
		{"version 2", inVersion2, true},
		{"version 3", func(s string) string { return s }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{}))
				p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
				p.send(request, tt.version(hello+"00000000 00000000"))
				p.expect(tt.version(answer + "00000000 00000000"))
				synctest.Wait()
				h.put(probeID)
				if tt.sends {
					p.read(96)
				} else {
					p.expectOpen(time.Second)
				}
			})
		})
	}
}

// play plays the probe's part: it sends the probe's steps, and expects the steps of the NI.
func (p *probe) play(steps []step) {
	p.t.Helper()
	var say []string
	for _, s := range steps {
		if s.from == "probe" {
			say = append(say, s.hex)
			continue
		}
		go p.send(say...)
		say = nil
		p.expect(s.hex)
	}
	go p.send(say...)
}

// recordedGet is the message of a recorded GET with its headers.
func recordedGet(t *testing.T, text, to string) *lnd.Message {
	t.Helper()
	b := unhex(t, text)
	parse := wire.ParseHeader
	switch len(b) {
	case ksock.MsgHeaderSize + wire.LargeHeaderSize:
		parse, b = wire.ParseLargeHeader, b[ksock.MsgHeaderSize:]
	case ksock.MsgHeaderSize + wire.HeaderSize:
		b = b[ksock.MsgHeaderSize:]
	}
	h, _, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return &lnd.Message{Header: h, Target: nid.ProcessID{NID: nid.MustParse(to + "@tcp"), PID: nid.LustrePID}}
}
