package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestRmcastSection: RM-12, RM-31, RM-A18: a valid section sets these settings, and each
// mistake in a section is refused.
func TestRmcastSection(t *testing.T) {
	spec.Covers(t, "RM-12", "RM-31", "RM-A18")
	const group = "rmcast:\n  groups:\n    a:\n      number: 7\n      managers: ['10.0.0.[1-2]@tcp']\n"
	for _, test := range []struct {
		name, text string
		change     func(*config.Rmcast) // changes the default settings to those that the text must give; nil: the text must be refused
		err        string
	}{
		{"enabled", "rmcast:\n  enable: 1\n  nid: 10.0.0.1@tcp\n", func(r *config.Rmcast) { r.Enable, r.NID = true, nid.MustParse("10.0.0.1@tcp") }, ""},
		{
			"numbers", "rmcast:\n  buffers: 9\n  max_members: 10\n  backlog: 1048576\n",
			func(r *config.Rmcast) { r.Buffers, r.Members, r.Backlog = 9, 10, 1<<20 }, "",
		},
		{"a group", group, func(r *config.Rmcast) {
			r.Groups = []config.McastGroup{{
				Name: "a", Number: 7, Managers: nids("10.0.0.1@tcp", "10.0.0.2@tcp"), Join: true, FIFO: true, Multicast: true, Window: 128, Fragment: 4096,
				MemberTimeout: 30 * time.Second, LeastCapacity: 64 << 10,
			}}
		}, ""},
		{"all of a group", group + "      join: 0\n      fifo: 0\n      multicast: 0\n      window: 4096\n      fragment: 1024\n      member_timeout: 5\n      least_fragment: 512\n      least_capacity: 0\n", func(r *config.Rmcast) {
			r.Groups = []config.McastGroup{{Name: "a", Number: 7, Managers: nids("10.0.0.1@tcp", "10.0.0.2@tcp"), Window: 4096, Fragment: 1024, MemberTimeout: 5 * time.Second, LeastFragment: 512}}
		}, ""},
		{"members", group + "      members: ['10.0.0.[4-5]@tcp']\n", func(r *config.Rmcast) {
			r.Groups = []config.McastGroup{{
				Name: "a", Number: 7, Managers: nids("10.0.0.1@tcp", "10.0.0.2@tcp"), Members: nids("10.0.0.4@tcp", "10.0.0.5@tcp"),
				Join: true, FIFO: true, Multicast: true, Window: 128, Fragment: 4096,
				MemberTimeout: 30 * time.Second, LeastCapacity: 64 << 10,
			}}
		}, ""},
		{"no key file", "rmcast:\n  key_file: nowhere\n", nil, "f:2:13: key_file: "},
		{"unknown key", "rmcast:\n  group: 1\n", nil, `f:2:3: unknown key "group"`},
		{"unknown key of a group", group + "      port: 5\n", nil, `f:6:7: unknown key "port"`},
		{"no section", "rmcast: 1\n", nil, "f:1:9: rmcast: want lines of the form"},
		{"no number", "rmcast:\n  groups:\n    a:\n      managers: [10.0.0.1@tcp]\n", nil, "f:3:5: group a: number is missing"},
		{"least fragment", group + "      least_fragment: 5000\n", nil, "f:3:5: group a: least_fragment is above fragment"},
		{"no managers", "rmcast:\n  groups:\n    a:\n      number: 1\n", nil, "f:3:5: group a: managers is missing"},
		{"number", "rmcast:\n  groups:\n    a:\n      number: 65536\n", nil, "f:4:15: number: want a whole number from 1 to 65535"},
		{"one number twice", group + "    b:\n      number: 7\n      managers: [10.0.0.1@tcp]\n", nil, "f:6:5: group b: a has number 7 already"},
		{"a manager twice", "rmcast:\n  groups:\n    a:\n      managers: [10.0.0.1@tcp, 10.0.0.1@tcp]\n", nil, "f:4:32: managers: 10.0.0.1@tcp is listed twice"},
		{"fragment", group + "      fragment: 100000\n", nil, "f:6:17: fragment: want a whole number from 256 to 65536"},
		{"window", group + "      window: 0\n", nil, "f:6:15: window: want a whole number from 1 to 4096"},
		{"bulk data by no group", "scoll:\n  admin:\n    multicast: a\n", nil, "f: multicast in the section admin of scoll: there is no group a"},
		{"name", "rmcast:\n  groups:\n    a b:\n      number: 1\n", nil, `f:3:5: "a b" is no name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.change == nil {
				wantRefused(t, test.text, test.err)
				return
			}
			wantConfig(t, test.text, func(c *config.Config) { test.change(&c.Rmcast) })
		})
	}
}

// TestMcastMembers: the nodes that may be members are those of the group's list; without a
// list, those that have the key; without a key, those of gossip; and without gossip, all.
func TestMcastMembers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(strings.Repeat("k", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	const group = "  groups:\n    a:\n      number: 7\n      managers: [10.0.0.1@tcp]\n"
	const gossip, list, key = "gossip:\n  nids: ['10.0.0.[7-8]@tcp']\n", "      members: [10.0.0.9@tcp]\n", "  key_file: key\n"
	for _, test := range []struct {
		text string
		want []nid.NID
	}{
		{"rmcast:\n" + group, nil},
		{gossip + "rmcast:\n" + group, nids("10.0.0.7@tcp", "10.0.0.8@tcp")},
		{gossip + "rmcast:\n" + key + group, nil},
		{gossip + "rmcast:\n" + group + list, nids("10.0.0.9@tcp")},
		{"rmcast:\n" + key + group + list, nids("10.0.0.9@tcp")},
	} {
		c, err := config.Parse(filepath.Join(dir, "f"), []byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.McastMembers(&c.Rmcast.Groups[0]); !slices.Equal(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", test.text, got, test.want)
		}
		if keys := c.Rmcast.Keys.Len(); keys != strings.Count(test.text, "key_file") {
			t.Errorf("%s: %d keys", test.text, keys)
		}
	}
}

// TestRmcastDocument: the configuration in docs/multicast.md is valid, and the table of keys
// there shows the defaults.
func TestRmcastDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "multicast.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	yaml, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("there is none")
	}
	c, err := config.Parse("docs/multicast.md", []byte(yaml))
	if err != nil || !c.Rmcast.Enable || len(c.Rmcast.Groups) != 1 || len(c.Rmcast.Groups[0].Managers) != 2 {
		t.Fatalf("%+v, %v", c.Rmcast, err)
	}
	for _, row := range []string{"`join` | 1", "`fifo` | 1", "`multicast` | 1", "`window` | 128", "`fragment` | 4096", "`member_timeout` | 30", "`least_fragment` | 0", "`least_capacity` | 65536"} {
		if !strings.Contains(string(text), "| "+row+" |") {
			t.Errorf("there is no row %q", row)
		}
	}
	if g := c.Rmcast.Groups[0]; !g.Join || !g.FIFO || !g.Multicast || g.Window != 128 || g.Fragment != 4096 {
		t.Errorf("defaults: %+v", g)
	}
}
