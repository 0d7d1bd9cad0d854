package replay_test

import (
	"errors"
	"net/netip"
	"testing"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/ibta"
)

// feed gives a player the packets that its node sent in the recording, each changed by f. It omits those
// for which f returns false.
func feed(s *replay.Script, host netip.Addr, f func(p *replay.Packet) bool) *replay.Player {
	p := &replay.Player{Script: s, Host: host, Send: func(replay.Datagram) {}, Begin: func(int) {}}
	p.Prepare()
	p.Step()
	for i := range s.Packets {
		q := s.Packets[i].Clone()
		if q.From.Addr() == host || !f(&q) {
			continue
		}
		q.Bytes = ibta.NewPath(q.From, q.To).AppendICRC(q.ID, q.Packet.AppendTo(nil))
		p.Arrived(q.Datagram)
		p.Step()
	}
	return p
}

// perTurn is the number of packets in 64 KiB.
const perTurn = 64

// inTurns returns a function that divides the recorded WRITEs into turns of 64 KiB. It calls spoil
// with the first and with the last packet of each turn, and with the turn's number. spoil may
// change the packet.
func inTurns(spoil func(turn int, p *replay.Packet)) func(*replay.Packet) bool {
	var at ibta.RETH // header of the recorded WRITE, but with the address where the next packet's payload goes
	n := 0
	return func(p *replay.Packet) bool {
		if !p.OpCode.IsWrite() {
			return true
		}
		if p.OpCode.IsFirst() {
			n, at = 0, p.RETH
		}
		turn, index := n/perTurn, n%perTurn
		n++
		switch index {
		case 0:
			p.OpCode, p.RETH = ibta.WriteFirst, ibta.RETH{Address: at.Address, RKey: at.RKey, Length: 64 << 10}
			spoil(turn, p)
		case perTurn - 1:
			p.OpCode, p.AckReq = ibta.WriteLast, true
			spoil(turn, p)
		}
		at.Address += uint64(len(p.Payload))
		return true
	}
}

// TestTurns: WRITEs in turns of 64 KiB count as equal to one of 1 MiB, if each packet is at its
// position and turns end where they must.
func TestTurns(t *testing.T) {
	s := load(t, bulk)
	third := netip.MustParseAddr("10.88.0.3")
	p := feed(s, third, inTurns(func(int, *replay.Packet) {}))
	if err := p.Rest(); err != nil {
		t.Fatal(err)
	}
	// At each of the 15 boundaries one turn ends and another begins where the recorded WRITE goes
	// on. The first packet says that its WRITE has 64 KiB.
	if n := p.Seen["opcode and RETH inside a transfer"]; n != 15+15+1 {
		t.Errorf("%d packets of turns", n)
	}
	for _, tt := range []struct {
		name  string
		spoil func(turn int, p *replay.Packet)
		want  error
	}{
		{"another address", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsFirst() {
				p.RETH.Address += 4
			}
		}, replay.ErrWrite},
		{"another key", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsFirst() {
				p.RETH.RKey++
			}
		}, replay.ErrWrite},
		{"too long", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsFirst() {
				p.RETH.Length += 1024
			}
		}, replay.ErrWrite},
		{"too short", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsFirst() {
				p.RETH.Length -= 1024
			}
		}, replay.ErrWrite},
		{"without an end", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsLast() {
				p.OpCode = ibta.WriteMiddle
			}
		}, replay.ErrWrite},
		{"without an end of all", func(turn int, p *replay.Packet) {
			if turn == 15 && p.OpCode.IsLast() {
				p.OpCode = ibta.WriteMiddle
			}
		}, replay.ErrWrite},
		{"other bytes", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsLast() {
				p.Payload = append([]byte{^p.Payload[0]}, p.Payload[1:]...)
			}
		}, replay.ErrDiffers},
		{"no ACK asked for", func(turn int, p *replay.Packet) {
			if turn == 3 && p.OpCode.IsLast() {
				p.AckReq = false
			}
		}, replay.ErrAskAck},
	} {
		if err := feed(s, third, inTurns(tt.spoil)).Err(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestOutOfOrder: packets that are missing, come too early, come twice with different bytes, or
// are too many are reported. Packets that come twice with the same bytes are only counted.
func TestOutOfOrder(t *testing.T) {
	s := load(t, bulk)
	third := netip.MustParseAddr("10.88.0.3")
	for _, tt := range []struct {
		name string
		f    func(p *replay.Packet) bool
		want error
	}{
		{"a packet is missing", func(p *replay.Packet) bool { return p.Frame != 100 }, replay.ErrGap},
		{"it acknowledges what is to come", func(p *replay.Packet) bool {
			if p.Frame == 4 {
				p.PSN++
			}
			return true
		}, replay.ErrAck},
		{"a message too many", func(p *replay.Packet) bool {
			if p.Frame == 12 {
				p.AETH.MSN++
			}
			return true
		}, replay.ErrAck},
		{"a NAK", func(p *replay.Packet) bool {
			if p.Frame == 12 {
				p.AETH.Syndrome = ibta.NakAccess
			}
			return true
		}, replay.ErrAck},
		{"to nobody", func(p *replay.Packet) bool {
			if p.Frame == 12 {
				p.DestQP++
			}
			return true
		}, replay.ErrExtra},
		{"the WRITEs go before the GET_REQ", func(p *replay.Packet) bool {
			return p.Frame < 5 || p.Frame > 12
		}, replay.ErrGap},
		{"another traffic class", func(p *replay.Packet) bool {
			if p.Frame == 5 {
				p.Class = 8
			}
			return true
		}, replay.ErrClass},
		{"for another node", func(p *replay.Packet) bool {
			if p.Frame == 5 {
				p.To = netip.AddrPortFrom(improvised, ibta.Port)
			}
			return true
		}, replay.ErrExtra},
	} {
		if err := feed(s, third, tt.f).Err(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	var twice replay.Packet
	p := feed(s, third, func(p *replay.Packet) bool {
		if p.Frame == 1051 { // the last packet of a WRITE
			twice = *p
		}
		return true
	})
	p.Arrived(twice.Datagram)
	if p.Step(); p.Err() != nil || p.Repeated != 1 {
		t.Errorf("repeated %d, %v", p.Repeated, p.Err())
	}
	twice.Bytes[100]++
	twice.Bytes = ibta.NewPath(twice.From, twice.To).AppendICRC(twice.ID, twice.Bytes[:len(twice.Bytes)-ibta.ICRCSize])
	p.Arrived(twice.Datagram)
	if p.Step(); !errors.Is(p.Err(), replay.ErrRepeat) {
		t.Errorf("repeated with other bytes: %v", p.Err())
	}
	bad := feed(s, third, func(*replay.Packet) bool { return false })
	twice.Bytes[0]++
	bad.Arrived(twice.Datagram)
	if bad.Step(); !errors.Is(bad.Err(), replay.ErrICRC) {
		t.Errorf("bad ICRC: %v", bad.Err())
	}
}

// TestEarly: a packet is refused if a packet that precedes it in the recording was not sent
// yet.
func TestEarly(t *testing.T) {
	s := load(t, activePing)
	p := &replay.Player{Script: s, Host: improvised, Send: func(replay.Datagram) {}, Begin: func(int) {}}
	p.Prepare()
	p.Arrived(s.Packets[1].Datagram) // the REP comes before the REQ
	if p.Step(); !errors.Is(p.Err(), replay.ErrEarly) {
		t.Errorf("%v, want %v", p.Err(), replay.ErrEarly)
	}
}
