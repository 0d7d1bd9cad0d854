package main

import (
	"strings"
	"testing"

	zonemod "ulnet/cmd/internal/modules/zone"
	"ulnet/gossip/zone"
)

// TestZoneWatchGap: the number of events that the daemon dropped before the watch asked for
// them is shown with the next event, in JSON too. A restart of the daemon is not such a gap.
func TestZoneWatchGap(t *testing.T) {
	event := func(number uint64, kind zone.EventKind) zonemod.Event {
		return zonemod.Event{Source: "zone", Number: number, Event: zone.Event{Kind: kind}}
	}
	for _, json := range []bool{false, true} {
		var out strings.Builder
		w := zoneWatcher{g: &globals{json: json}, out: &out, wants: func(e *zonemod.Event) bool { return e.Kind == zone.Joined }}
		for _, news := range []zonemod.Events{
			{Next: 9, Events: []zonemod.Event{event(8, zone.Joined)}}, // the first answer has no earlier events, because the request asks for none
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
