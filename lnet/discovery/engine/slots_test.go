package engine

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestStrangersShare: if pushes of unknown nodes make the machine ping these nodes, the pings leave slots to other peers.
func TestStrangersShare(t *testing.T) {
	spec.Covers(t, "RT-7", "PD-13")
	b := newBench(t, Limits{MaxInFlight: 4})
	b.meet(them)
	b.meet(other)
	for i := range 4 {
		in := pushFrom(nid.MustParse(fmt.Sprintf("10.0.7.%d@tcp", i)), info(full, 2))
		in.Err = syscall.EIO
		b.step(in)
	}
	if len(b.open) != 1 {
		t.Errorf("open for strangers: %v", b.open)
	}
	b.step(selfIs(3))
	if len(b.open) != 3 {
		t.Errorf("with pushes to known peers: %v", b.open)
	}
	b.step(Input{Kind: Refresh, NID: also, Force: true})
	if len(b.open) != 4 || b.last.To != also {
		t.Errorf("with the check of a gateway: %v", b.open)
	}
	b.settle(info(full, 3, them), info(full, 3, other), info(full, 3, also))
	if len(b.open) != 1 {
		t.Errorf("the strangers have %v", b.open)
	}
	b.now = 150 * time.Second
	b.step(Input{})
	if len(b.open) != 1 {
		t.Errorf("after the first stranger: %v", b.open)
	}
}

// TestPushesShare: pushes to known peers, which nothing waits for, leave slots to a peer whose discovery
// is forced.
func TestPushesShare(t *testing.T) {
	spec.Covers(t, "RT-7")
	b := newBench(t, Limits{MaxInFlight: 4})
	for i := range 6 {
		b.meet(nid.MustParse(fmt.Sprintf("10.0.7.%d@tcp", i)))
	}
	b.step(selfIs(3))
	if len(b.open) != 3 {
		t.Errorf("open: %v", b.open)
	}
	in := pushFrom(other, info(full, 2))
	in.Err = syscall.EIO
	if b.step(in); len(b.open) != 3 {
		t.Errorf("with a stranger: %v", b.open)
	}
	b.step(Input{Kind: Refresh, NID: them, Force: true})
	if b.last.To != them {
		t.Errorf("open: %v", b.open)
	}
}

// TestForcedShare: however many first messages wait for peers that do not answer, and however many calls force the discovery
// of such peers, a slot is left for a gateway's check.
func TestForcedShare(t *testing.T) {
	spec.Covers(t, "RT-7")
	b := newBench(t, Limits{MaxInFlight: 16})
	b.step(Input{Kind: RoutesAre, Gateways: []nid.NID{them}})
	for i := range 20 {
		b.step(discover(nid.MustParse(fmt.Sprintf("10.0.7.%d@tcp", i))))
	}
	if len(b.open) != 15 {
		t.Errorf("open for messages: %v", b.open)
	}
	if b.step(Input{Kind: Refresh, NID: other, Force: true}); len(b.open) != 15 {
		t.Errorf("with a forced discovery: %v", b.open)
	}
	b.step(Input{Kind: Refresh, NID: them, Force: true})
	if len(b.open) != 16 || b.last.To != them {
		t.Errorf("with the check of a gateway: %v", b.open)
	}
	b.settle(info(full, 2, them))
	if p := b.m.peers.of(them); !p.flags.UpToDate() {
		t.Errorf("the gateway is %v", p.flags)
	}
}

// TestDeadNodesStepAside: the first messages to dead nodes take all slots. When the pings of these nodes
// are repeated, they leave their slots to other nodes. The number of dead nodes that are pinged outside
// of the slots is four times the number of slots at most.
func TestDeadNodesStepAside(t *testing.T) {
	spec.Covers(t, "PD-28")
	b := newBench(t, Limits{MaxInFlight: 16})
	dead := func(i int) nid.NID { return nid.MustParse(fmt.Sprintf("10.0.7.%d@tcp", i)) }
	for i := range 15 {
		b.step(discover(dead(i)))
	}
	if b.step(discover(them)); b.last.To == them {
		t.Error("there are more slots than 15")
	}
	if sent := b.until(repeatAfter); !slices.ContainsFunc(sent, func(s Send) bool { return s.To == them }) {
		t.Errorf("after %v: %v", repeatAfter, sent)
	}
	b.settle(info(full, 2, them))
	for i := range 200 {
		b.step(discover(dead(i)))
	}
	b.until(100 * time.Second)
	asked := make(map[nid.NID]bool)
	for _, s := range b.open {
		asked[s.To] = true
	}
	if len(asked) != 15+4*16 {
		t.Errorf("%d dead nodes are asked, want 15 in slots and 64 besides", len(asked))
	}
	if b.until(time.Hour); len(b.open) > 0 || b.m.inFlight != [numClasses]int{} {
		t.Errorf("in the end %v are open, and slots are taken: %v", b.open, b.m.inFlight)
	}
}

// TestPushHoldsNothing: a peer that lacks nothing but a push stays up to date for messages.
func TestPushHoldsNothing(t *testing.T) {
	spec.Covers(t, "NS-2")
	b := newBench(t, Limits{MaxInFlight: 1})
	b.meet(them)
	b.meet(other)
	b.step(selfIs(3))
	for _, p := range b.out.Peers {
		if !p.Flags.UpToDate() {
			t.Errorf("%v has %v", p.Primary, p.Flags)
		}
	}
	if len(b.out.Peers) != 2 || len(b.open) != 1 {
		t.Errorf("peers %v, open %v", b.out.Peers, b.open)
	}
}
