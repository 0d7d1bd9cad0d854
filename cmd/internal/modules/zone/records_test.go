package zone

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/handlers"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip/zone"
)

// TestEventRecords: the events in docs/handlers.md have the same fields as those of gossip and
// zones. An event has a cause only if a member has gone.
func TestEventRecords(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "handlers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	var b handlers.Batch
	if err := json.Unmarshal([]byte(example), &b); err != nil || len(b.Events) != 2 || b.Version != handlers.BatchVersion {
		t.Fatalf("%v: %+v", err, b)
	}
	var change gossip.Change
	var event Event
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
