package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/gossip/zone"
)

// TestZoneDocument: the configurations in docs/membership.md are valid, the page names all keys,
// and its table of defaults is correct.
func TestZoneDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "membership.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc, examples := string(text), 0
	for _, part := range strings.Split(doc, "```yaml\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		c, err := config.Parse("example", []byte(example))
		if err != nil || !c.Zone.Enabled() || len(c.Zone.Bootstrap) != 3 {
			t.Errorf("%v: %+v", err, c.Zone)
		}
		examples++
	}
	if examples != 2 {
		t.Errorf("%d examples", examples)
	}
	for _, key := range config.ZoneKeys() {
		if !strings.Contains(doc, "`"+key+"`") && !strings.Contains(doc, "\n  "+key+": ") {
			t.Errorf("it does not name %s", key)
		}
	}
	c, err := config.Parse("example", []byte("zone:\n  name: z\n  node: n\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Zone.Agent()
	m.Self = zone.MustParseID("n=10.0.0.1@tcp")
	full, err := m.Engine().Filled()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		key   string
		value any
	}{
		{"theta", full.Threshold},
		{"successors", full.Successors},
		{"random", full.Random},
		{"delegates", full.Delegates},
		{"heartbeat", full.Heartbeat},
		{"aggregation", full.Aggregation},
		{"max_members", full.MaxMembers},
	} {
		if want := fmt.Sprintf("\n| `%s` | %v | ", row.key, row.value); !strings.Contains(doc, want) {
			t.Errorf("there is no line %q", want)
		}
	}
}
