package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
)

// TestZoneSection: MS-11, MS-39, MS-102: the section is strict. Presets and numbers can be
// combined. An impossible value is refused with an error that names the key.
func TestZoneSection(t *testing.T) {
	spec.Covers(t, "MS-11", "MS-39", "MS-102")
	t.Run("all", func(t *testing.T) {
		wantConfig(t, "zone:\n  name: z\n  node: n1\n  bootstrap: [n1=10.0.0.1@tcp, n2=10.0.0.2@tcp]\n  management: [s=10.0.0.9@tcp]\n"+
			"  theta: 1\n  successors: 3\n  random: 4\n  aggregation: 100ms\n  heartbeat: 500ms\n  timeout: 2s\n  monitor: 1\n", func(c *config.Config) {
			c.Zone.Name, c.Zone.Node, c.Zone.At = "z", "n1", config.Position{File: "f", Line: 2, Column: 9}
			c.Zone.Bootstrap = []zone.ID{zone.MustParseID("n1=10.0.0.1@tcp"), zone.MustParseID("n2=10.0.0.2@tcp")}
			c.Zone.Management = []zone.ID{zone.MustParseID("s=10.0.0.9@tcp")}
			c.Zone.Threshold, c.Zone.Successors, c.Zone.Random, c.Zone.Monitor = 1, 3, 4, true
			c.Zone.Aggregation, c.Zone.Heartbeat, c.Zone.Timeout = 100*time.Millisecond, 500*time.Millisecond, 2*time.Second
		})
	})
	t.Run("MS-102 paper", func(t *testing.T) {
		c, err := config.Parse("f", []byte("zone:\n  name: z\n  role: supervisor\n  preset: paper\n  random: 5\n"))
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Zone.Agent(); m.Threshold != 1 || m.Successors != 1 || m.Random != 5 || !m.Supervisor {
			t.Errorf("%+v", m)
		}
	})
	for _, test := range []struct{ name, text, err string }{
		{"unknown key", "zone:\n  nam: z\n", `f:2:3: unknown key "nam"`},
		{"no section", "zone: z\n", "f:1:7: zone: want lines of the form"},
		{"no id", "zone:\n  name: z\n  bootstrap: [10.0.0.1@tcp]\n", "f:3:15: bootstrap: zone: not a node's id: want NAME=NID"},
		{"twice", "zone:\n  name: z\n  bootstrap: [a=10.0.0.1@tcp, a=10.0.0.1@tcp]\n", "f:3:31: bootstrap: a=10.0.0.1@tcp is listed twice"},
		{"role", "zone:\n  role: king\n", `f:2:9: role: want base or supervisor, not "king"`},
		{"name", "zone:\n  name: a zone\n", "f:2:9: a zone's name has"},
		{"node", "zone:\n  name: z\n  node: a=b\n", "f:3:9: node: zone: a node's name has"},
		{"MS-39", "zone:\n  name: z\n  theta: 3\n  successors: 2\n", "f:4:15: successors (2) must not be less than the threshold (3)"},
		{"random", "zone:\n  name: z\n  random: 1\n", "f:3:11: 1 random neighbours do not make a connected overlay"},
		{"timeout", "zone:\n  name: z\n  timeout: 1s\n", "f:3:12: the timeout (1s) must be two heartbeats"},
		{"two zones", "zone:\n  name: z\n  role: supervisor\n  management: [a=10.0.0.1@tcp]\n", "f:4:15: management: a supervisor is in the management zone itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%v\nwant %s", err, test.err)
			}
		})
	}
}

// TestZoneKey: MS-A33: the key of a zone is on one line of a file that no other user can
// read, and no error contains it.
func TestZoneKey(t *testing.T) {
	spec.Covers(t, "MS-A33")
	dir := t.TempDir()
	file, key := filepath.Join(dir, "lnetd.yaml"), filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("zone:\n  name: z\n  key_file: key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "0123456789abcdef"
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		err        string
	}{
		{"good", secret + "\n", 0o600, ""},
		{"short", "secret\n", 0o600, "a key needs at least 16 bytes"},
		{"twice", secret + "\n" + secret, 0o600, "both keys are the same"},
		{"three", secret + "\n1" + secret + "\n2" + secret, 0o600, "there are 3"},
		{"long", strings.Repeat(secret, 300), 0o600, "has more than 4096 bytes"},
		{"for others", secret, 0o644, "has mode 0644"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := errors.Join(os.WriteFile(key, []byte(test.text), 0o600), os.Chmod(key, test.mode)); err != nil {
				t.Fatal(err)
			}
			c, err := config.Load(file)
			want, _ := keyring.NewKeys([]byte(secret))
			switch {
			case test.err == "" && (err != nil || c.Zone.Keys != want):
				t.Error(err)
			case test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), file+":3:13: key_file: ") || !strings.Contains(err.Error(), test.err)):
				t.Error(err)
			case err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "secret")):
				t.Errorf("it names the key: %v", err)
			}
		})
	}
}

var equateIDs = cmp.Comparer(func(a, b zone.ID) bool { return a == b })
