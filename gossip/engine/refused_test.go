package engine

import (
	"bytes"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestRefused: an impossible message, or one that arrives far too late, raises the counter for
// its reason. It changes neither the ages, nor the clock, nor the health of a participant
// (GO-5, GO-12, GO-31, GO-34, GO-66, GO-A4, GO-A10, GO-A14). With Strict a message with other
// parameters stops the node.
func TestRefused(t *testing.T) {
	spec.Covers(t, "GO-5", "GO-12", "GO-31", "GO-34", "GO-66", "GO-A4", "GO-A10", "GO-A14")
	const n, minutes = 10, 5
	with := func(f wire.Flags, change func(*wire.Header)) func(wire.Header) wire.Header {
		return func(h wire.Header) wire.Header {
			h.Flags |= f
			if change != nil {
				change(&h)
			}
			return h
		}
	}
	late := func(h *wire.Header) { h.Clock = 1 } // a clock as in a message recorded in the first cycle
	vector := young(n, 3)
	for _, c := range []struct {
		name   string
		kind   Kind
		header func(wire.Header) wire.Header
		body   []byte
		spoil  func([]byte) []byte // makes a valid message one that must be refused
		counts func(*Stats) *uint64
		stops  bool // in strict mode the message stops the node
	}{
		{"another version", Ping, nil, vector, func(b []byte) []byte { b[0] = 9; return b }, (*Stats).otherVersion, true},
		{"another version, reply", Reply, nil, nil, func(b []byte) []byte { b[1] = 9; return b }, (*Stats).otherVersion, true},
		{"another list", Ping, with(0, func(h *wire.Header) { h.Digest[0]++ }), vector, nil, (*Stats).disagreements, true},
		{"another list, reply", Reply, with(0, func(h *wire.Header) { h.Digest[0]++ }), nil, nil, (*Stats).disagreements, true},
		{"another interval", Ping, with(0, func(h *wire.Header) { h.Interval += time.Millisecond }), vector, nil, (*Stats).disagreements, true},
		{"another number", Ping, with(0, func(h *wire.Header) { h.N++ }), append(vector, 1), nil, (*Stats).disagreements, true},
		{"nothing", Ping, nil, nil, func([]byte) []byte { return nil }, (*Stats).malformed, false},
		{"half a header", Reply, nil, nil, func(b []byte) []byte { return b[:20] }, (*Stats).malformed, false},
		{"unknown flags", Ping, with(1<<9, nil), vector, nil, (*Stats).malformed, false},
		{"both forms", Reply, with(wire.FlagBitmap|wire.FlagPairs, nil), nil, nil, (*Stats).malformed, false},
		{"an age less", Ping, nil, vector[:n-1], nil, (*Stats).malformed, false},
		{"an age more", Ping, nil, append(vector, 1), nil, (*Stats).malformed, false},
		{"a ping with a bitmap", Ping, with(wire.FlagBitmap, nil), vector, nil, (*Stats).malformed, false},
		{"a reply with a vector", Reply, nil, vector, nil, (*Stats).malformed, false},
		{"no whole bitmap", Reply, with(wire.FlagBitmap, nil), []byte{1}, nil, (*Stats).malformed, false},
		{"a bitmap without its ages", Reply, with(wire.FlagBitmap, nil), []byte{0xFF, 0, 1, 2}, nil, (*Stats).malformed, false},
		{"half a pair", Reply, with(wire.FlagPairs, nil), []byte{4, 0, 0}, nil, (*Stats).malformed, false},
		{"a bit for nobody", Reply, with(wire.FlagBitmap, nil), []byte{1, 4, 1, 1}, nil, (*Stats).noParticipant, false},
		{"a pair for nobody", Reply, with(wire.FlagPairs, nil), []byte{n, 0, 0, 0, 1}, nil, (*Stats).noParticipant, false},
		{"a sender who is not young", Ping, nil, young(n, 4), nil, (*Stats).notYoung, false},
		{"a clock of 2^62", Ping, with(0, func(h *wire.Header) { h.Clock = maxClock }), vector, nil, (*Stats).badClock, false},
		{"all bits of the clock", Reply, with(0, func(h *wire.Header) { h.Clock = ^uint64(0) }), nil, nil, (*Stats).badClock, false},
		{"a clock of another day", Ping, with(0, func(h *wire.Header) { h.Clock += maxJump + 1 }), vector, nil, (*Stats).badClock, false},
		{"a ping of minutes ago", Ping, with(0, late), vector, nil, (*Stats).obsolete, false},
		{"a reply of minutes ago", Reply, with(wire.FlagPairs, late), []byte{5, 0, 0, 0, 1}, nil, (*Stats).obsolete, false},
	} {
		for _, strict := range []bool{false, true} {
			h := newHarness(t, n, 0, func(cfg *Config) { cfg.Strict = strict })
			h.meet(minutes * int(time.Minute/interval) / 10)
			h.m.clock.value *= 10 // a clock as high as after a long run
			h.meet(2)
			header := h.params(h.header())
			if c.header != nil {
				header = c.header(header)
			}
			data := append(header.AppendTo(nil), c.body...)
			if c.spoil != nil {
				data = c.spoil(data)
			}
			ages, clock, want := bytes.Clone(h.m.ages.Bytes()), h.m.Clock(), h.m.Stats()
			*c.counts(&want)++
			h.step(Input{Kind: c.kind, From: h.list.NID(3), Data: data})
			got := h.m.Stats()
			got.RepliesSent = want.RepliesSent // this counter may differ: some of these messages are answered
			if got != want || h.m.Stopped() != (strict && c.stops) {
				t.Errorf("%s, strict %v: counters %+v, want %+v; stopped %v", c.name, strict, got, want, h.m.Stopped())
			}
			if !h.m.Stopped() && (!bytes.Equal(h.m.ages.Bytes(), ages) || h.m.AliveCount() != n) || h.m.Clock() != clock {
				t.Errorf("%s, strict %v: taken over: ages %v, clock %d, want %v and %d", c.name, strict, h.m.ages.Bytes(), h.m.Clock(), ages, clock)
			}
		}
	}
}

func (s *Stats) otherVersion() *uint64  { return &s.OtherVersion }
func (s *Stats) disagreements() *uint64 { return &s.Disagreements }
func (s *Stats) malformed() *uint64     { return &s.Malformed }
func (s *Stats) noParticipant() *uint64 { return &s.NoParticipant }
func (s *Stats) notYoung() *uint64      { return &s.NotYoung }
func (s *Stats) badClock() *uint64      { return &s.BadClock }
func (s *Stats) obsolete() *uint64      { return &s.Obsolete }
