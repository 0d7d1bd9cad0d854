package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// numbered returns a NID with a number, on the net of this node.
func numbered(i int) nid.NID { return nid.MustParse(fmt.Sprintf("10.9.%d.%d@tcp", i/250, 1+i%250)) }

// TestCrowdOfStrangers: more strangers than the table has room for push once, and answer nothing. A message to a node that is not
// known yet makes this node ping it all the same. Strangers that have been removed
// leave the queue for a slot as soon as another one gets a slot.
func TestCrowdOfStrangers(t *testing.T) {
	spec.Covers(t, "PD-30")
	b := newBench(t, Limits{MaxNIDs: 200, MaxInFlight: 16})
	for i := range 3100 {
		b.step(pushFrom(numbered(i), info(full, 2, numbered(i))))
		b.now += time.Millisecond
	}
	b.step(discover(them))
	if len(b.out.Done) > 0 || !slices.ContainsFunc(b.out.Sends, func(s Send) bool { return s.To == them }) {
		t.Errorf("the machine did %v", b.did())
	}
	if n := len(b.m.ready[stranger]); n > 2*200 {
		t.Errorf("%d strangers wait for a slot", n)
	}
}

// TestCrowdThatAnswers: as many strangers as the table has room for push, answer one message each, and are known
// then. This node's info changes, so this node has to push the new info to all of them. A message to a node that is
// not known yet makes this node ping that node all the same.
func TestCrowdThatAnswers(t *testing.T) {
	spec.Covers(t, "PD-30")
	b := newBench(t, Limits{MaxNIDs: 200, MaxInFlight: 16})
	for i := range 200 {
		b.step(pushFrom(numbered(i), info(full, 2, numbered(i))))
		b.step(b.ack())
	}
	b.step(selfIs(9))
	for _, at := range []time.Duration{0, 10 * time.Second} {
		b.until(at)
		to := numbered(1000 + int(at/time.Second))
		b.step(discover(to))
		if len(b.out.Done) > 0 || !slices.ContainsFunc(b.out.Sends, func(s Send) bool { return s.To == to }) {
			t.Errorf("at %v: the machine did %v", at, b.did())
		}
	}
}

// TestClaimOfMany: a stranger claims the NIDs of 128 nodes that are known. Their discoveries and messages are not disturbed.
func TestClaimOfMany(t *testing.T) {
	spec.Covers(t, "PD-19", "PD-22")
	b := newBench(t, Limits{})
	ids := []nid.NID{other}
	for i := range 128 {
		b.meet(numbered(i))
		ids = append(ids, numbered(i))
	}
	before := b.m.Stats()
	for range 20 {
		b.step(pushFrom(other, info(full, 2, ids...)))
		for i := 0; i < len(b.open); {
			if s := b.open[i]; s.To == other {
				i++
			} else {
				b.last = s
				b.step(b.reply(info(full, 2, s.To)))
			}
		}
		for _, p := range b.out.Peers {
			if p.Primary != other && !p.Flags.UpToDate() {
				t.Fatalf("%v is %v", p.Primary, p.Flags)
			}
		}
		b.until(b.now + time.Second)
	}
	for _, id := range ids[1:] {
		if p := b.m.peers.of(id); p.primary != id || len(p.nis) != 1 || !p.flags.UpToDate() {
			t.Errorf("%v is known as %v, %v", id, p.nis, p.flags)
		}
	}
	if n := b.m.Stats().Probes - before.Probes; n > probeBurst+21 {
		t.Errorf("%d probes in 20 s", n)
	}
}

// TestIncarnationsFlap: a stranger sends pushes, each with another incarnation than the one before, and answers
// nothing. This node sends about one message for each push, at most, and does not hold up messages to other nodes.
func TestIncarnationsFlap(t *testing.T) {
	spec.Covers(t, "PD-23")
	b := newBench(t, Limits{MaxInFlight: 16})
	b.meet(them, also)
	before := b.m.Stats()
	const pushes = 500
	for i := range pushes {
		in := pushFrom(other, info(full, uint32(i%3), other, them, also))
		in.Incarnation = uint64(1 + i%2)
		b.step(in)
		b.until(b.now + 10*time.Millisecond)
	}
	s := b.m.Stats()
	if n := s.Pings + s.Pushes - before.Pings - before.Pushes; n > pushes+10 || s.Probes > probeBurst+8 {
		t.Errorf("%d pings and pushes, %d probes", n, s.Probes)
	}
	if p := b.m.peers.of(them); p != b.m.peers.of(also) || !p.flags.UpToDate() {
		t.Errorf("they are known as %v, %v", p.nis, p.flags)
	}
	b.step(discover(numbered(1)))
	if b.last.To != numbered(1) {
		t.Errorf("a first message is held up: %v", b.open)
	}
}

// TestGatewaysNIDClaimed: a stranger says in the answer to a ping that the NID of a gateway, and NIDs behind that
// gateway, are its own. The gateway stays a peer of its own, and so do those behind it.
func TestGatewaysNIDClaimed(t *testing.T) {
	spec.Covers(t, "PD-19", "RT-20")
	b := newBench(t, Limits{})
	b.step(Input{Kind: RoutesAre, Gateways: []nid.NID{them}, Beyond: []nid.Net{far.Net()}})
	b.step(discover(them))
	b.settle(info(full, 2, them))
	b.step(discover(far))
	b.settle(info(full, 2, far))
	b.step(discover(other))
	b.step(b.reply(info(full, 1<<32-1, them, far, other)))
	b.settle(info(full, 2, them), info(full, 2, far), info(full, 1<<32-1, them, far, other))
	for range 10 {
		b.until(b.now + 10*time.Second)
		b.settle(info(full, 2, them), info(full, 2, far), info(full, 1<<32-1, them, far, other))
	}
	for _, id := range []nid.NID{them, far, other} {
		if p := b.m.peers.of(id); p.primary != id || len(p.nis) != 1 {
			t.Errorf("%v is known as %v", id, p.nis)
		}
	}
	if !b.m.isGateway(b.m.peers.of(them)) || b.m.isGateway(b.m.peers.of(other)) {
		t.Error("the stranger counts as the gateway")
	}
	if slices.ContainsFunc(b.open, func(s Send) bool { return s.To == far }) {
		t.Errorf("NIDs behind the gateway are probed for the stranger: %v", b.open)
	}
}

// TestSequenceLowered: a peer sends an info with the highest sequence number, and then infos of the same incarnation
// with lower ones. These are ignored. An info of the next incarnation is used.
func TestSequenceLowered(t *testing.T) {
	spec.Covers(t, "PD-20")
	b := newBench(t, Limits{})
	highest := pushFrom(them, info(full, 1<<32-1, them))
	highest.Incarnation = 5
	b.step(highest)
	b.settle(info(full, 1<<32-1, them))
	for _, sequence := range []uint32{0, 1, 1<<32 - 2} {
		lower := pushFrom(them, info(full, sequence, them, also))
		lower.Incarnation = 5
		b.step(lower)
		if p := b.m.peers.of(them); len(p.claimed) > 0 {
			t.Errorf("sequence %d: claims %v", sequence, p.claimed)
		}
	}
	restarted := pushFrom(them, info(full, 2, them, also))
	restarted.Incarnation = 6
	b.step(restarted)
	if p := b.m.peers.of(them); len(p.claimed) != 1 {
		t.Errorf("after a restart: claims %v", p.claimed)
	}
}
