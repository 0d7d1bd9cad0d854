package gossip

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestView: the number of deaths goes on rising when gossip stops and starts again. While gossip
// is stopped, dead servers count as alive, so that they are tried.
func TestView(t *testing.T) {
	id := nid.MustParse("10.0.0.2@tcp")
	v := newView(machine.RealClock())
	var told []Vital
	stop := v.Watch(func(got nid.NID, alive bool, deaths uint64) {
		if got != id {
			t.Errorf("told of %v", got)
		}
		told = append(told, Vital{alive, deaths})
	})
	if alive, deaths := v.Alive(id); !alive || deaths != 0 {
		t.Error("without gossip not all are tried")
	}
	if v.Ended(id, time.Hour) {
		t.Error("without gossip a death is certain")
	}
	first := new(gossip.Agent)
	v.begin(first)
	v.heard(first, id, true, 0)
	v.heard(first, id, false, 1)
	v.heard(new(gossip.Agent), id, true, 9) // a report of an agent that has ended is ignored
	v.detach()
	if alive, deaths := v.Alive(id); !alive || deaths != 1 {
		t.Errorf("alive %v after %d deaths", alive, deaths)
	}
	second := new(gossip.Agent)
	v.begin(second)
	v.heard(second, id, true, 0)
	v.heard(second, id, false, 1)
	stop()
	v.heard(second, id, true, 1)
	want := []Vital{{true, 0}, {false, 1}, {true, 1}, {true, 1}, {false, 2}}
	if len(told) != len(want) {
		t.Fatalf("told %v, want %v", told, want)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("told %v, want %v", told, want)
		}
	}
	late := 0
	v.Watch(func(_ nid.NID, alive bool, deaths uint64) { late++ })
	if late != 1 {
		t.Errorf("a new listener is told of %d nodes", late)
	}
}
