package health

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// TestHealthRecord: an event handler gets the same form of an event as the watch command prints.
// Handlers can select each event by its name.
func TestHealthRecord(t *testing.T) {
	var log bytes.Buffer
	var told []Event
	e := startEvents(slog.New(slog.NewJSONHandler(&log, nil)), func(e *Event) { told = append(told, *e) })
	client := health.ClientIDOf("c")
	e.ofServer(health.Event{Kind: health.ClientEvicted, Cause: health.LostMaster, Client: client, Incarnation: 1 << 60, Name: "n", Epoch: 3, Master: nid.MustParse("10.0.0.1@tcp")})
	e.ofServer(health.Event{Kind: health.ClientConnected, Client: client})
	e.ofServer(health.Event{Kind: health.QuorumLost})
	e.ofClient(health.ClientEvent{Kind: health.Evicted, Server: nid.MustParse("10.0.0.1@tcp"), Code: health.MasterDead})
	e.close()
	for i, name := range []string{"health.evicted.lost-master", "health.connected", "health.quorum-lost", "health.evicted"} {
		line, err := log.ReadBytes('\n')
		if err != nil || i >= len(told) {
			t.Fatal(err, told)
		}
		watched := Event{Source: config.HealthSource} // the form that 'lnetctl health watch' prints
		if err := json.Unmarshal(line, &watched); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(watched)
		got, err2 := json.Marshal(told[i])
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil || err2 != nil {
			t.Error(diff, err, err2)
		}
		if got := told[i].eventName(); got != name || !slices.Contains(config.EventNames(), name) {
			t.Errorf("%s, want %s", got, name)
		}
	}
}
