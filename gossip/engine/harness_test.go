package engine

import (
	"bytes"
	"testing"
	"time"

	"ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

const interval = 200 * time.Millisecond

// testNIDs returns the NIDs 10.0.0.1@tcp and so on.
func testNIDs(n int) []nid.NID {
	var ids []nid.NID
	for i := range n {
		ids = append(ids, nid.FromNumber(nid.MakeNet(nid.TCP, 0), uint32(0x0A000001+i)))
	}
	return ids
}

func testList(t testing.TB, n int) *List {
	t.Helper()
	l, err := NewList(testNIDs(n))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// harness steps one machine, participant self of n, and plays the other participants.
type harness struct {
	t     testing.TB
	m     *Machine
	list  *List
	now   time.Duration
	wake  time.Duration
	out   Output
	sends []Send // messages that the last step sent
}

func newHarness(t testing.TB, n, self int, change func(*Config)) *harness {
	t.Helper()
	cfg := Config{Interval: interval, ColdStart: true, Seed: 1}
	if change != nil {
		change(&cfg)
	}
	h := &harness{t: t, list: testList(t, n)}
	var err error
	if h.m, err = New(cfg, h.list, self); err != nil {
		t.Fatal(err)
	}
	h.step(Input{})
	return h
}

// step steps the machine and checks the invariants.
func (h *harness) step(in Input) {
	h.t.Helper()
	h.out.Reset()
	h.wake = h.m.Step(h.now, in, &h.out)
	h.sends = h.out.Sends
	if err := h.m.invariants(); err != nil {
		h.t.Fatalf("at %v: %v", h.now, err)
	}
	if h.wake <= h.now {
		h.t.Fatalf("at %v: wants to wake at %v", h.now, h.wake)
	}
}

// cycles lets n gossip cycles pass without a message, and returns the events of all of them.
func (h *harness) cycles(n int) (events []Event) {
	h.t.Helper()
	for range n {
		h.now = h.wake
		h.step(Input{})
		events = append(events, h.out.Events...)
	}
	return events
}

// header returns a header as a peer would send it: it has the length of the machine's list and the
// machine's clock, and no parameters.
func (h *harness) header() wire.Header {
	return wire.Header{N: uint32(h.list.Len()), Clock: h.m.Clock()}
}

// ping delivers a ping with the given ages. from is the index of its sender.
func (h *harness) ping(from int, header wire.Header, ages ...byte) {
	h.t.Helper()
	h.step(Input{Kind: Ping, From: h.list.NID(from), Data: append(header.AppendTo(nil), ages...)})
}

// reply delivers a reply with the given body. from is the index of its sender.
func (h *harness) reply(from int, header wire.Header, body ...byte) {
	h.t.Helper()
	h.step(Input{Kind: Reply, From: h.list.NID(from), Data: append(header.AppendTo(nil), body...)})
}

// params adds the machine's own parameters to a header.
func (h *harness) params(header wire.Header) wire.Header {
	header.Flags |= wire.FlagParams
	header.Interval, header.Digest = interval, h.list.Digest()
	return header
}

// sent parses the only message of the last step, or the ping that was sent to two partners.
func (h *harness) sent(reply bool) (wire.Header, []byte) {
	h.t.Helper()
	twice := !reply && len(h.sends) == 2 && bytes.Equal(h.sends[0].Data(&h.out), h.sends[1].Data(&h.out))
	if len(h.sends) != 1 && !twice || h.sends[0].Reply != reply {
		h.t.Fatalf("sent %d messages, %+v, want one with reply %v", len(h.sends), h.sends, reply)
	}
	header, body, err := wire.ParseHeader(h.sends[0].Data(&h.out))
	if err != nil {
		h.t.Fatal(err)
	}
	return header, body
}

// kinds returns the kind of each event.
func kinds(events []Event) (k []EventKind) {
	for _, e := range events {
		k = append(k, e.Kind)
	}
	return k
}

// young returns n ages: 0 for the sender, 1 for the others.
func young(n, sender int) []byte {
	ages := make([]byte, n)
	for i := range ages {
		ages[i] = 1
	}
	ages[sender] = 0
	return ages
}

// set replaces the machine's ages of the first participants.
func (h *harness) set(ages ...byte) {
	copy(h.m.ages.bytes, ages)
	h.m.health.changed = true
}
