package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// TestListOnceInResend: RM-38: a member reports again and again that it lacks the latest list, or asks to join again.
// The manager sends it the list at most once in Resend, since the list is longer than these messages.
func TestListOnceInResend(t *testing.T) {
	spec.Covers(t, "RM-38")
	for name, kind := range map[string]wire.OrderKind{"report": wire.OrderReport, "join": wire.OrderJoin} {
		t.Run(name, func(t *testing.T) {
			g, now, lists := NewManager(ManagerConfig{Self: hostNID(0), Managers: []nid.NID{hostNID(0)}, Group: testGroup}), time.Hour, 0
			tell := func(kind wire.OrderKind) {
				var out Output
				o := wire.Order{Kind: kind, Group: testGroup, Incarnation: 1}
				g.Step(now, Input{Kind: Instructed, From: hostNID(1), Data: o.AppendTo(nil)}, &out)
				for _, e := range out.Effects {
					if e.Kind == DoReport && len(e.Data) > 0 {
						lists++
					}
				}
			}
			tell(wire.OrderJoin)
			for range 100 {
				tell(kind)
				now += g.cfg.Resend / 50
			}
			if lists != 2 {
				t.Errorf("%d lists within twice Resend, want the first one and one more", lists)
			}
		})
	}
}
