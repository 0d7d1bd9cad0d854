package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// rack is a supervisor, to which delegates of the zone rack speak, each from its own NID.
type rack struct {
	*solo
	inc uint64 // incarnation of the delegates
}

func (r *rack) says(kind wire.DispatchKind, i int, activation, registration uint64) {
	r.t.Helper()
	r.spoken(testNID(i), nid.NID{}, wire.Dispatch{
		Kind: kind, Zone: "rack", From: testID(i), Version: v(r.inc, 1), Activation: activation, Registration: registration,
	})
}

// active delivers the registration of delegate i as the active one.
func (r *rack) active(i int, activation uint64) {
	r.t.Helper()
	r.says(wire.Register, i, activation, 1)
}

// passive delivers the registration of delegate i, which is not active.
func (r *rack) passive(i int) { r.t.Helper(); r.says(wire.Register, i, 0, 1) }

// bye delivers the goodbye of delegate i.
func (r *rack) bye(i int) { r.t.Helper(); r.says(wire.Unregister, i, 0, 0) }

// moves delivers what delegate i says when it has found another supervisor.
func (r *rack) moves(i int) { r.t.Helper(); r.says(wire.Unregister, i, 0, 1) }

// silent lets so much time pass that the zone is stale.
func (r *rack) silent() { r.t.Helper(); r.idle(6 * time.Second) }

// TestStrangerEndsNoZone: a zone whose delegates have all fallen silent stays in the census as stale or lost, whatever
// goodbyes a host says that is none of its delegates, or has registered as one that is not active. The zone is current
// again once its delegate registers (MS-97, MS-98).
func TestStrangerEndsNoZone(t *testing.T) {
	spec.Covers(t, "MS-97", "MS-98")
	for what, then := range map[string]func(r *rack){
		"a goodbye":                       func(r *rack) { r.silent(); r.bye(9) },
		"a goodbye when the zone is lost": func(r *rack) { r.idle(40 * time.Second); r.bye(9) },
		"a registration and a goodbye":    func(r *rack) { r.silent(); r.passive(9); r.bye(9) },
		"registrations before":            func(r *rack) { r.passive(9); r.idle(3 * time.Second); r.passive(9); r.idle(time.Second); r.bye(9) },
		"after a take-over": func(r *rack) {
			r.passive(2)
			r.bye(1)
			r.active(2, 2)
			r.passive(9)
			r.idle(3 * time.Second)
			r.passive(9)
			r.idle(time.Second)
			r.bye(9)
		},
		"after one resigned":                  func(r *rack) { r.active(2, 2); r.passive(1); r.silent(); r.passive(9); r.bye(9) },
		"after the active one's goodbye":      func(r *rack) { r.passive(2); r.bye(1); r.silent(); r.passive(9); r.bye(9) },
		"just after the active one's goodbye": func(r *rack) { r.passive(2); r.bye(1); r.idle(4 * time.Second); r.bye(9) },
		"after all have moved":                func(r *rack) { r.passive(2); r.moves(1); r.moves(2); r.bye(9) },
	} {
		r := &rack{newSolo(t, 1, Config{Supervisor: true}), 3}
		r.active(1, 1)
		then(r)
		if c := r.m.Census(); len(c) != 1 {
			t.Errorf("%s: census %+v", what, c)
		}
		r.silent()
		if c := r.m.Census(); len(c) != 1 || c[0].State == Current {
			t.Errorf("%s: census afterwards %+v", what, c)
		}
		r.inc++
		r.active(1, 3)
		if c := r.m.Census(); len(c) != 1 || c[0].State != Current || c[0].Delegate != testID(1) || c[0].Version != v(4, 1) {
			t.Errorf("%s: census once the zone is heard again %+v", what, c)
		}
	}
}

// TestZoneEnds: a zone is gone from the census when its last delegate says goodbye, if that is the active one, or that
// one has unregistered or resigned before, whichever delegates have restarted or moved to another supervisor. Until
// then it stays (MS-40, MS-98).
func TestZoneEnds(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-98")
	for _, tt := range []struct {
		what   string
		before func(r *rack)
		last   int // the delegate that says goodbye last
	}{
		{"a single delegate", func(*rack) {}, 1},
		{"the active one last", func(r *rack) { r.passive(2); r.bye(2) }, 1},
		{"the active one first", func(r *rack) { r.passive(2); r.passive(3); r.bye(1); r.bye(3) }, 2},
		{"after a take-over", func(r *rack) { r.passive(2); r.bye(1); r.active(2, 2) }, 2},
		{"after a take-over, the active one first", func(r *rack) { r.active(2, 2); r.passive(1); r.bye(2) }, 1},
		{"the active one has moved", func(r *rack) { r.passive(2); r.moves(1) }, 2},
		{"the active one has resigned", func(r *rack) { r.passive(2); r.passive(1); r.bye(1) }, 2},
		{"all have restarted", func(r *rack) { r.passive(2); r.inc++; r.passive(1); r.passive(2); r.bye(1) }, 2},
		{"one has restarted after a silence", func(r *rack) { r.silent(); r.inc++; r.passive(1) }, 1},
		{"heard again after a silence", func(r *rack) { r.silent(); r.active(1, 1) }, 1},
		{"another one after a silence", func(r *rack) { r.silent(); r.active(2, 2); r.passive(1); r.bye(1) }, 2},
	} {
		r := &rack{newSolo(t, 1, Config{Supervisor: true}), 3}
		r.active(1, 1)
		tt.before(r)
		if c := r.m.Census(); len(c) != 1 {
			t.Errorf("%s: before the last goodbye the census is %+v", tt.what, c)
		}
		if r.bye(tt.last); len(r.m.Census()) != 0 {
			t.Errorf("%s: census %+v", tt.what, r.m.Census())
		}
		r.inc++
		r.active(1, 3)
		if c := r.m.Census(); len(c) != 1 || c[0].State != Current {
			t.Errorf("%s: census once the zone is back %+v", tt.what, c)
		}
	}
}
