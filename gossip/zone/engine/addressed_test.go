package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestAgentLoss: MS-A30: all messages that fail together with a connection count as one loss,
// even together with the report that the connection ended. A peer is suspected if a message
// that was sent after that fails too.
func TestAgentLoss(t *testing.T) {
	spec.Covers(t, "MS-A30")
	s := newSolo(t, 4, Config{})
	for i := 1; i < 4; i++ {
		s.link(i, v(1, 1))
	}
	st := NewAddressed(s.m, []nid.Net{nid.MustParseNet("tcp")})
	var out AddressedOutput
	step := func(in AddressedInput) {
		out.Reset()
		s.now += time.Millisecond
		st.Step(s.now, in, &out)
	}
	step(AddressedInput{}) // the machine sends messages in this step
	sent := out.Step
	failed := func(step uint64) AddressedInput {
		return AddressedInput{Input: Input{Kind: Failed}, About: testID(1), Sent: step}
	}
	link := func() *link { return s.m.links.get(s.ref[1]) }

	step(failed(sent))
	if !link().probing || countKind(out.Sends, wire.Heartbeat) != 1 || out.To[0].NID != testID(1).Endpoints()[0] {
		t.Fatalf("a failure leads to no probe: %+v", out.Sends)
	}
	probe := out.Step
	step(failed(sent))
	step(AddressedInput{Input: Input{Kind: Failed, Local: true}, About: testID(1), Sent: probe})
	if l := link(); l == nil || l.state != up {
		t.Fatal("messages of one connection count as two losses")
	}
	step(AddressedInput{Input: Input{Kind: Down}, About: testID(1)})
	step(failed(probe)) // the probe was sent on the connection that has just ended: its failure does not count
	if l := link(); l == nil || l.state != up || !l.probing {
		t.Fatal("the end of a connection and a message on it count as two losses")
	}
	step(failed(out.Step - 1))
	if s.m.stats.Filed == 0 && (link() == nil || link().state == up) {
		t.Fatal("a probe that failed is no loss")
	}
}
