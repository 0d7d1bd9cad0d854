package replay_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/ibta"
)

// pair is two players, each of which is the other's node under test.
type pair struct {
	players [2]*replay.Player
	sent    []replay.Datagram
}

// play makes two players play a recording with each other; spoil may change what
// they send.
func play(s *replay.Script, spoil func(n int, d *replay.Datagram)) *pair {
	var p pair
	hosts := s.Hosts()
	for i := range p.players {
		p.players[i] = &replay.Player{Script: s, Host: hosts[i]}
	}
	for i, other := range []int{1, 0} {
		p.players[i].Send = func(d replay.Datagram) {
			if spoil != nil {
				d.Bytes = bytes.Clone(d.Bytes)
				spoil(len(p.sent), &d)
			}
			p.sent = append(p.sent, d)
			p.players[other].Arrived(d)
		}
		p.players[i].Begin = func(int) {}
		p.players[i].Prepare()
	}
	for p.players[0].Step() || p.players[1].Step() {
		continue
	}
	return &p
}

func (p *pair) err() error {
	for _, player := range p.players {
		if err := player.Err(); err != nil {
			return err
		}
	}
	for _, player := range p.players {
		if err := player.Rest(); err != nil {
			return err
		}
	}
	return nil
}

// TestPlayers makes two players play each recording with each other. Both find
// everything as it was recorded, and the packets of both together are the recording, also the
// RoCE ACKs, which the players make themselves. That shows that kernels send ACKs by the rules
// that the player checks.
func TestPlayers(t *testing.T) {
	for _, file := range recordings {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := load(t, file)
			p := play(s, nil)
			if err := p.err(); err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for i := range s.Packets {
				want = append(want, text(s.Packets[i].Datagram))
			}
			for _, d := range p.sent {
				got = append(got, text(d))
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for i, player := range p.players {
				if player.OwnAcks+player.Repeated+len(player.Seen) > 0 {
					t.Errorf("player %d: %d ACKs of its own, %d repeated, differences %v", i, player.OwnAcks, player.Repeated, player.Seen)
				}
			}
		})
	}
}

// text returns the bytes of a datagram without its ICRC.
func text(d replay.Datagram) string {
	return fmt.Sprintf("%v %v %x", d.From, d.To, d.Bytes[:len(d.Bytes)-ibta.ICRCSize])
}

// reseal computes the ICRC of a datagram anew.
func reseal(d *replay.Datagram) {
	n := len(d.Bytes) - ibta.ICRCSize
	d.Bytes = ibta.NewPath(d.From, d.To).AppendICRC(d.ID, d.Bytes[:n])
}

// TestSpoiled changes one bit of a recording at a time: in every byte if ULNET_LONG is set, otherwise
// in every fifth. The receiver detects the change, unless it is one of the allowed differences.
func TestSpoiled(t *testing.T) {
	stride := 5
	if os.Getenv("ULNET_LONG") != "" {
		stride = 1
	}
	for _, file := range recordings[:3] {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := load(t, file)
			whole := play(s, nil)
			for n, d := range whole.sent {
				p, err := replay.Parse(d)
				if err != nil {
					t.Fatal(err)
				}
				for at := n % stride; at < len(d.Bytes)-ibta.ICRCSize; at += stride {
					bit := at % 8
					spoiled := play(s, func(i int, d *replay.Datagram) {
						if i == n {
							d.Bytes[at] ^= 1 << bit
							reseal(d)
						}
					})
					err := spoiled.receiver(&p).Err()
					if (err == nil) != mayDiffer(s, &p, at, bit) {
						t.Errorf("bit %d of byte %d of %v of %v: %v", bit, at, &p, p.From, err)
					}
				}
			}
		})
	}
}

// receiver returns the player of the node that a packet goes to.
func (p *pair) receiver(q *replay.Packet) *replay.Player {
	if p.players[0].Host == q.To.Addr() {
		return p.players[0]
	}
	return p.players[1]
}

// mayDiffer reports whether a bit of a packet may differ from the recorded one.
func mayDiffer(s *replay.Script, p *replay.Packet, at, bit int) bool {
	const (
		flags, path, ask, psn = 1, 4, 8, 9
		mad, body             = ibta.BTHSize + ibta.DETHSize, ibta.BTHSize + ibta.DETHSize + ibta.MADHeaderSize
	)
	in := func(from, n int) bool { return at >= from && at < from+n }
	if at == flags && bit == 6 { // MigReq, bit 6 of the BTH's flags
		return true
	}
	if p.CM == nil {
		return false
	}
	switch p.CM.MAD.Attribute {
	case ibta.AttrREQ:
		if in(body+16, 8) {
			return once(s, p)
		}
		if in(body, 4) {
			return later(s, p)
		}
	case ibta.AttrREP:
		if in(body+28, 8) {
			return once(s, p)
		}
		if in(body, 4) {
			return later(s, p)
		}
	}
	begins := p.CM.MAD.Attribute == ibta.AttrREQ || p.CM.MAD.Attribute == ibta.AttrDREQ
	return begins && in(mad+8, 8) || in(psn, 3) || at == ask && bit == 7
}

// once reports whether the GUID of a REQ or REP is in no other packet.
func once(s *replay.Script, p *replay.Packet) bool {
	n := 0
	for i := range s.Packets {
		if c := s.Packets[i].CM; c != nil && max(c.REQ.LocalGUID, c.REP.LocalGUID) == max(p.CM.REQ.LocalGUID, p.CM.REP.LocalGUID) {
			n++
		}
	}
	return n == 1
}

// later reports whether a REQ or REP is not the first one of its sender. In a later one the
// receiver accepts any comm id.
func later(s *replay.Script, p *replay.Packet) bool {
	for i := range s.Packets {
		q := &s.Packets[i]
		if q.From != p.From || q.CM == nil {
			continue
		}
		if kind := q.CM.MAD.Attribute; kind == ibta.AttrREQ || kind == ibta.AttrREP {
			return !bytes.Equal(q.Bytes, p.Bytes)
		}
	}
	return false
}
