package capture_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// roceModel is a random RoCE connection between two nodes, and a capture of it.
type roceModel struct {
	*rand.Rand
	wire  *roceWire
	now   time.Duration
	list  []roceCaught
	told  [][]ibta.PSN // of each message: the PSNs of its packets
	sides []int        // of each message: the side that sends it
	fixed bool
}

// roceCaught is a packet in a capture.
type roceCaught struct {
	capture.Packet
	at           time.Duration
	side         int // that sends it
	psn          ibta.PSN
	ack          bool
	stray, fixed bool
}

// add adds the packets that the wire has got since the latest call.
func (m *roceModel) add(side int, psn ibta.PSN, ack bool) {
	for _, p := range m.wire.list {
		m.now += time.Duration(1+m.IntN(20)) * time.Microsecond
		m.list = append(m.list, roceCaught{Packet: p, at: m.now, side: side, psn: psn, ack: ack, fixed: m.fixed})
		psn = psn.Add(1)
	}
	m.wire.list = nil
}

// message sends a message. If the wire loses one of its packets, the responder asks for it and all later ones again.
func (m *roceModel) message(side int) {
	end, from := m.wire.ends[side], len(m.list)
	first := end.psn
	x := immediate(strings.Repeat("x", m.IntN(1500)))
	x.LNet.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: uint64(len(m.told))})
	m.wire.message(side, x, 256<<m.IntN(3))
	m.add(side, first, false)
	psns := make([]ibta.PSN, end.psn.Sub(first))
	for i := range psns {
		psns[i] = first.Add(i)
	}
	m.told, m.sides = append(m.told, psns), append(m.sides, side)
	if !m.fixed && m.IntN(8) == 0 {
		i := m.IntN(len(psns))
		again := slices.Clone(m.list[from+i:])
		if m.IntN(2) == 0 { // lost before it reached the place where packets are captured
			m.list = slices.Delete(m.list, from+i, from+i+1)
		}
		m.answer(1-side, psns[i], ibta.NakSequence)
		m.now += time.Duration(m.IntN(5)*m.IntN(1000)) * time.Millisecond
		for _, p := range again {
			m.wire.list = append(m.wire.list, p.Packet)
		}
		m.add(side, psns[i], false)
	}
	if m.fixed || m.IntN(3) > 0 {
		m.answer(1-side, end.psn.Add(-1), ibta.AckUnlimited)
	}
}

// begin makes the messages of a connection.
func (m *roceModel) begin() {
	for i := range 2 + m.IntN(30) {
		m.message(i % 2 * m.IntN(2))
		m.fixed = i < 1
		if m.now += time.Duration(m.IntN(100)) * time.Microsecond; m.IntN(10) == 0 {
			m.now += time.Duration(m.IntN(20_000)) * time.Millisecond
		}
	}
}

func (m *roceModel) answer(side int, psn ibta.PSN, s ibta.Syndrome) {
	m.wire.answer(side, psn, s)
	m.add(side, psn, true)
}

// TestRoCEModel: whatever a capture lacks, has twice or in another order, and whatever strangers add to it, each message
// whose packets were captured is shown once and in order. Missing packets count as lost if the capture has later ones of
// the same side; no other packets do.
func TestRoCEModel(t *testing.T) {
	for seed := range uint64(effort.Of(100, 500, 12_000)) {
		m := &roceModel{Rand: rand.New(rand.NewPCG(seed, 1)), wire: newRoceWire(t), fixed: true}
		m.begin()
		m.spoil()
		if err := m.check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
	}
}

func (m *roceModel) spoil() {
	for _, fault := range []func(i int){
		func(i int) { // missing
			n := 1 + m.IntN(2)*m.IntN(10)
			m.list = slices.Concat(m.list[:i], slices.DeleteFunc(slices.Clone(m.list[i:min(len(m.list), i+n)]), func(p roceCaught) bool { return !p.fixed }), m.list[min(len(m.list), i+n):])
		},
		func(i int) { // twice
			m.list = slices.Insert(m.list, i, m.list[i])
		},
		func(i int) { // in front of its predecessor
			if a, b := &m.list[i-1], &m.list[i]; !a.fixed && !b.fixed && a.side == b.side && a.ack == b.ack && b.at-a.at < 500*time.Microsecond {
				*a, *b = *b, *a
			}
		},
		m.behind,
		m.stray,
	} {
		if m.IntN(3) == 0 {
			for range 1 + m.IntN(6) {
				fault(1 + m.IntN(len(m.list)-1))
			}
		}
	}
}

// behind moves a request behind acknowledgements, as if it had been captured late.
func (m *roceModel) behind(i int) {
	p, j := m.list[i], i+1
	for j < len(m.list) && m.list[j].at-p.at < 500*time.Microsecond && (m.list[j].ack || m.list[j].side == p.side) {
		j++
	}
	if !p.fixed && !p.ack {
		p.at = m.list[j-1].at
		m.list = slices.Delete(slices.Insert(m.list, j, p), i, i+1)
	}
}

// stray adds packets that no node of the connection sent.
func (m *roceModel) stray(i int) {
	side := m.IntN(2)
	begun := slices.IndexFunc(m.list[:i], func(p roceCaught) bool { return p.side == side && !p.ack && !p.stray })
	told := func(p roceCaught) bool {
		return p.side != side && p.ack && !p.stray && p.psn.Sub(m.list[begun].psn) >= 0
	}
	if m.list[i].fixed || begun < 0 || !slices.ContainsFunc(m.list[begun:i], told) {
		return // only one direction is captured up to here: a stray packet would not be recognized (docs/security.md)
	}
	far := []int{-3000, 3000, 16000, 1 << 20, 1 << 22}[m.IntN(5)] + m.IntN(1000)
	for k := range 1 + m.IntN(8)/7*300 {
		m.wire.packet(side, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: m.wire.ends[side].psn.Add(far + k)}, Payload: []byte("stray")})
		m.list = slices.Insert(m.list, i, roceCaught{Packet: m.wire.list[0], at: m.list[i-1].at, side: side, stray: true})
		m.wire.list = nil
	}
}

// check returns an error if a dissector reports other messages, or other losses, than the capture has.
func (m *roceModel) check() error {
	var got []uint64
	lost, strays := uint64(0), 0
	d := capture.NewDissector(capture.Options{KeepPayload: -1}, func(r *capture.Record) {
		switch {
		case r.Kind == capture.Message && r.RoCE.Msg.Type == kib.Immediate:
			got = append(got, uint64(r.Header.Put().MatchBits))
		case r.Kind == capture.Lost:
			lost += r.Length
		}
	})
	var there [2]map[ibta.PSN]bool
	top := [2]ibta.PSN{m.told[0][0], m.wire.ends[1].psn}
	first := [2]ibta.PSN{m.told[0][0], top[1]}
	begun := [2]bool{true, false}
	for side := range there {
		there[side] = map[ibta.PSN]bool{}
	}
	for _, p := range m.list {
		d.Packet(time.Unix(1, 0).Add(p.at), p.Link, p.Data)
		if packets, pages, size := d.RoCEWaiting(); packets > pages || packets > 4*256 || size > pages*pageSize {
			return fmt.Errorf("%d packets with %d bytes wait, counted as %d pages", packets, size, pages)
		}
		switch {
		case p.stray:
			strays++
		case !p.ack:
			if !begun[p.side] {
				first[p.side], top[p.side], begun[p.side] = p.psn, p.psn, true
			}
			if p.psn.Sub(first[p.side]) >= 0 {
				there[p.side][p.psn] = true
			}
			if p.psn.Sub(top[p.side]) > 0 {
				top[p.side] = p.psn
			}
		}
	}
	d.Close()
	var want []uint64
	wantLost := uint64(0)
	for i, psns := range m.told {
		if !slices.ContainsFunc(psns, func(p ibta.PSN) bool { return !there[m.sides[i]][p] }) {
			want = append(want, uint64(i))
		}
	}
	for side := range there {
		if begun[side] {
			wantLost += uint64(top[side].Sub(first[side]) + 1 - len(there[side]))
		}
	}
	for side := range there {
		if !slices.Equal(m.of(side, got), m.of(side, want)) || lost != wantLost || d.Counts().Outside > uint64(strays) {
			return fmt.Errorf("\n got %v, %d lost\nwant %v, %d lost\n%+v, %d strays", got, lost, want, wantLost, d.Counts(), strays)
		}
	}
	return nil
}

// of returns the messages in list that a side has sent.
func (m *roceModel) of(side int, list []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(list), func(n uint64) bool { return m.sides[n] != side })
}
