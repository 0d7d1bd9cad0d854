package handlers

import (
	"testing"
)

// TestWatch: the function that watches gets every event with its record, whether a handler selects
// it or not.
func TestWatch(t *testing.T) {
	f := newFake(t)
	var got []string
	f.set.Tell("early", 0)
	f.set.Watch(func(event string, record any) {
		if record != len(got) {
			t.Errorf("%s has record %v", event, record)
		}
		got = append(got, event)
	})
	f.set.Tell("gossip.died", 0)
	f.set.Tell("zone.left", 1)
	if len(got) != 2 || got[0] != "gossip.died" || got[1] != "zone.left" {
		t.Errorf("%q", got)
	}
	f.end()
}
