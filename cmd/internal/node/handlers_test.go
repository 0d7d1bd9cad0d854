package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/handlers"
	"ulnet/gossip/zone"
	"ulnet/health"
)

// TestEventRecords: the events in docs/handlers.md are those of this package, field by
// field, and an event that is no departure has no cause.
func TestEventRecords(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "handlers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	var b handlers.Batch
	if err := json.Unmarshal([]byte(example), &b); err != nil || len(b.Events) != 2 || b.Version != handlers.BatchVersion {
		t.Fatalf("%v: %+v", err, b)
	}
	var change GossipChange
	var event ZoneEvent
	for i, record := range []any{&change, &event} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, b.Events[i]); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Events[i], record); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(record)
		if diff := cmp.Diff(compact.String(), string(again)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	if name := event.eventName(); name != "zone.left.dead" {
		t.Error(name)
	}
	event.Kind = zone.Joined
	again, err := json.Marshal(event)
	if strings.Contains(string(again), "cause") || !strings.Contains(string(again), `"event":"joined","id":"n3=10.0.0.3@tcp","version":{`) || err != nil {
		t.Errorf("%s, %v", again, err)
	}
}

// TestHealthRecord: what a handler gets of an event of client health is what the watch
// makes of the daemon's line about it, and all have names that handlers can select.
func TestHealthRecord(t *testing.T) {
	var log bytes.Buffer
	var told []HealthEvent
	e := startHealthEvents(slog.New(slog.NewJSONHandler(&log, nil)), func(e *HealthEvent) { told = append(told, *e) })
	client := health.ClientIDOf("c")
	e.ofServer(health.Event{Kind: health.ClientEvicted, Cause: health.LostMaster, Client: client, Incarnation: 1 << 60, Name: "n", Epoch: 3, Master: nidAt("10.0.0.1")})
	e.ofServer(health.Event{Kind: health.ClientConnected, Client: client})
	e.ofServer(health.Event{Kind: health.QuorumLost})
	e.ofClient(health.ClientEvent{Kind: health.Evicted, Server: nidAt("10.0.0.1"), Code: health.MasterDead})
	e.close()
	for i, name := range []string{"health.evicted.lost-master", "health.connected", "health.quorum-lost", "health.evicted"} {
		line, err := log.ReadBytes('\n')
		if err != nil || i >= len(told) {
			t.Fatal(err, told)
		}
		watched := HealthEvent{Source: config.HealthSource} // as 'lnetctl health watch' does
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

// TestHandlerUser: a handler of an unknown user is refused at its place in the file.
func TestHandlerUser(t *testing.T) {
	cfg := config.Default()
	cfg.Networks = "lo"
	cfg.Handlers = []config.Handler{{Name: "h", On: []string{"gossip"}, Run: []string{"/bin/true"}, User: "no such user", UserAt: config.Place{File: "f", Line: 7, Column: 3}}}
	_, err := New(Config{Config: cfg})
	if place, ok := errors.AsType[*config.Error](err); !ok || place.Line != 7 || !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "user of the handler h: ") {
		t.Errorf("%v", err)
	}
}
