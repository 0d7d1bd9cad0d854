package zone_test

import (
	"testing"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
)

// TestKinds: handlers and JSON have these words for events and causes. Each kind of event that
// the machine has also has a name in this package.
func TestKinds(t *testing.T) {
	kinds := map[string]zone.EventKind{
		"joined": zone.Joined, "left": zone.Left, "attributes": zone.AttributesChanged, "suspected": zone.Suspected,
		"doubted": zone.Doubted, "refuted": zone.Refuted, "clash": zone.Clash, "refused": zone.Refused,
		"far-ahead": zone.FarAhead, "alarmed": zone.Alarmed, "contested": zone.Contested,
		"supervisor-lost": zone.SupervisorLost, "supervisor-found": zone.SupervisorFound, "zone-refused": zone.ZoneRefused,
	}
	for _, word := range engine.EventNames() {
		if kind, ok := kinds[word]; !ok || kind.String() != word {
			t.Errorf("the kind %q is %v, in the table: %v", word, kind, ok)
		}
	}
	causes := map[string]zone.Cause{
		"said": zone.Said, "dead": zone.Dead, "restarted": zone.Restarted, "corrected": zone.Corrected, "parted": zone.Parted,
	}
	for _, word := range engine.CauseNames() {
		if cause, ok := causes[word]; !ok || cause.String() != word {
			t.Errorf("the cause %q is %v, in the table: %v", word, cause, ok)
		}
	}
}
