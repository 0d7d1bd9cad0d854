package main

import (
	"strings"
	"testing"

	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

// TestZoneWatchGap: events that the daemon forgot before a watch looked are counted at the
// next event that is shown, in JSON too; a daemon that was restarted is no gap.
func TestZoneWatchGap(t *testing.T) {
	event := func(number uint64, kind zone.EventKind) zonemod.Event {
		return zonemod.Event{Source: "zone", Number: number, Event: zone.Event{Kind: kind}}
	}
	for _, json := range []bool{false, true} {
		var out strings.Builder
		w := zoneWatcher{g: &globals{json: json}, out: &out, wants: func(e *zonemod.Event) bool { return e.Kind == zone.Joined }}
		for _, news := range []zonemod.Events{
			{Next: 9, Events: []zonemod.Event{event(8, zone.Joined)}}, // the first look: what was before is not asked for
			{Next: 14, Events: []zonemod.Event{event(12, zone.Refuted), event(13, zone.Refuted)}},
			{Next: 18, Events: []zonemod.Event{event(16, zone.Joined), event(17, zone.Joined)}},
			{Next: 3, Events: []zonemod.Event{event(2, zone.Joined)}},
			{Next: 3, Events: []zonemod.Event{event(1, zone.Refuted), event(2, zone.Joined)}},
		} {
			if err := w.show(news); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		want := "(5 events before were left out)"
		if json {
			want = `"missed":5}`
		}
		if len(lines) != 4 || !strings.HasSuffix(lines[1], want) || strings.Count(out.String(), "left out")+strings.Count(out.String(), "missed") != 1 {
			t.Errorf("%s", &out)
		}
	}
}
