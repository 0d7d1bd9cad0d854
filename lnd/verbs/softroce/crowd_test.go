package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
)

// counted is a network that counts, for the port of one address, the calls of Send and the ACKs
// that it sends.
type counted struct {
	wire.Network
	addr        netip.Addr
	calls, acks int
}

// Open implements wire.Network.
func (n *counted) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	if cfg.Local.Addr() == n.addr {
		c = &countedPort{c, n}
	}
	return c, err
}

type countedPort struct {
	wire.Conn
	n *counted
}

func (p *countedPort) Send(list []wire.Burst) (int, error) {
	p.n.calls++
	for i := range list {
		for rest := list[i].Bytes; len(rest) > 0; rest = rest[min(list[i].Size, len(rest)):] {
			if ibta.OpCode(rest[0]) == ibta.Acknowledge {
				p.n.acks++
			}
		}
	}
	return p.Conn.Send(list)
}

// TestCrowdIsAcknowledgedTogether: the ACKs of messages that arrive together from many peers leave
// with one call.
func TestCrowdIsAcknowledgedTogether(t *testing.T) {
	const crowd = 12
	v := newVirtual(t, 1, emulator.Faults{})
	net := &counted{Network: v.net, addr: netip.MustParseAddr("10.0.0.100")}
	v.open = NewOpener(Options{Network: net})
	server := openNode(t, v.open, verbs.OpenConfig{Addr: net.addr, Clock: v.clock})
	server.listen()
	var conns []verbs.Conn
	for i := range crowd {
		n := openNode(t, v.open, verbs.OpenConfig{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), Clock: v.clock})
		c, err := n.device.Connect(addrPort(server.device), n.config(), n.event)
		if err != nil {
			t.Fatal(err)
		}
		v.clock.Run(v.clock.Now() + time.Millisecond)
		conns = append(conns, c)
	}
	net.calls, net.acks = 0, 0
	for range 3 {
		for _, c := range conns {
			if err := c.PostSend([]verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: []byte("hello")}}}}); err != nil {
				t.Fatal(err)
			}
		}
		v.clock.Run(v.clock.Now() + time.Millisecond)
	}
	if net.calls != 3 || net.acks != 3*crowd {
		t.Errorf("%d ACKs with %d calls, want %d with 3", net.acks, net.calls, 3*crowd)
	}
}

// TestBurstLeavesInFewCalls: of 32 messages that a program posts one after the other, the first 16
// leave at once, and the others together.
func TestBurstLeavesInFewCalls(t *testing.T) {
	const rounds = 10
	v := newVirtual(t, 1, emulator.Faults{})
	net := &counted{Network: v.net, addr: netip.MustParseAddr("10.0.0.1")}
	v.open = NewOpener(Options{Network: net})
	ends, _ := v.pair(nil, nil)
	arrived := 0
	burst := func() {
		for range 32 {
			if err := ends[0].conn.PostSend([]verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: []byte("hello")}}}}); err != nil {
				t.Fatal(err)
			}
		}
		before := ends[1].left
		v.clock.Run(v.clock.Now() + time.Millisecond)
		arrived += before - ends[1].left
	}
	for range 2 * firstWindow { // send bursts until the window is large enough for a whole one
		burst()
	}
	net.calls, arrived = 0, 0
	for range rounds {
		burst()
	}
	if net.calls != rounds*(gatherBehind+1) || arrived != rounds*32 {
		t.Errorf("%d calls for %d bursts, of which %d messages of 32 each have arrived", net.calls, rounds, arrived)
	}
}
