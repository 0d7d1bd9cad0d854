package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestGoodbye: when a node says goodbye, all others remove it as soon as the news arrives, and
// learn its exit code; discovery sends no requests to it (MS-40, MS-A8, MS-A33).
func TestGoodbye(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-A8", "MS-A33")
	w := booted(t, 2, 24, Config{})
	codes := map[int]int32{}
	w.told = func(n *node, e *Event) {
		if e.Kind == Left && e.Cause == Said {
			codes[n.i] = e.Code
		}
	}
	n := w.nodes[3]
	for _, o := range w.nodes {
		o.boot = nil
	}
	n.step(Input{Kind: Leave, Code: 42})
	n.kill()
	took := w.until(3*time.Second, w.agree)
	if took > time.Second || len(codes) != 23 {
		t.Errorf("after %v, %d know", took, len(codes))
	}
	for i, c := range codes {
		if c != 42 {
			t.Errorf("node %d was told code %d", i, c)
		}
	}
	for _, o := range w.nodes {
		if o != n && o.m.wanted(o.m.cfg.Table.Lookup(n.id)) {
			t.Errorf("%v looks for it", o.id)
		}
	}
	n.start()
	w.until(3*time.Second, w.agree)
}

// TestMissedGoodbye: a node that missed a goodbye learns of it, with its code, when views are
// repaired. Discovery sends no requests to the node that left (MS-A9, MS-A33).
func TestMissedGoodbye(t *testing.T) {
	spec.Covers(t, "MS-A9", "MS-A33")
	w := booted(t, 3, 40, Config{})
	deaf, leaver := w.nodes[4], w.nodes[11]
	lost := 0
	w.lose = func(_, to *node, m *wire.Message) bool {
		if to != deaf || m.Kind != wire.Update {
			return false
		}
		lost++
		return true
	}
	var heard []Event
	w.told = func(n *node, e *Event) {
		if n == deaf && e.Kind == Left {
			heard = append(heard, *e)
		}
	}
	leaver.step(Input{Kind: Leave, Code: 42})
	leaver.kill()
	w.until(20*time.Second, w.agree)
	if lost == 0 || len(heard) != 1 || heard[0].Cause != Said || heard[0].Code != 42 {
		t.Errorf("%d messages lost, told %+v, want one goodbye with code 42", lost, heard)
	}
	if deaf.m.wanted(deaf.m.cfg.Table.Lookup(leaver.id)) {
		t.Errorf("%v looks for it", deaf.id)
	}
}
