package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestScollSection: SC-124: the administrator chooses the tree and its K, for all services or
// for one. Impossible values are refused with an error that has the line.
func TestScollSection(t *testing.T) {
	spec.Covers(t, "SC-124")
	for _, test := range []struct {
		name, text string
		change     func(*config.Scoll) // changes the default settings to those that the text must give; nil: the text must be refused
		err        string
	}{
		{"enabled", "scoll:\n  enable: 1\n", func(s *config.Scoll) { s.Enable = true }, ""},
		{
			"numbers", "scoll:\n  nid: 10.0.0.1@tcp\n  rtt: 50us\n  guard: 2ms\n  min_bulk_rate: 5000\n  max_active: 7\n  max_members: 9\n  max_groups: 11\n  max_timeout: 1m\n",
			func(s *config.Scoll) {
				s.NID, s.RTT, s.Guard = nid.MustParse("10.0.0.1@tcp"), 50*time.Microsecond, 2*time.Millisecond
				s.MinBulkRate, s.MaxActive, s.MaxMembers, s.MaxGroups, s.MaxTimeout = 5000, 7, 9, 11, time.Minute
			}, "",
		},
		{
			"trees (SC-124)", "scoll:\n  tree: k-ary 3\n  admin:\n    tree: flat\n",
			func(s *config.Scoll) {
				s.Tree, s.Admin.Tree = scoll.Tree{Type: scoll.KAry, K: 3}, scoll.Tree{Type: scoll.KAry, K: 1 << 20}
			}, "",
		},
		{
			"groups", "scoll:\n  groups:\n    a:\n      nids: ['10.0.0.[1-2]@tcp', 10.0.1.1@tcp1]\n    b:\n      nids: [10.0.0.1@tcp]\n      tree: k-nomial 4\n",
			func(s *config.Scoll) {
				s.Groups = []config.Group{
					{Name: "a", NIDs: nids("10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.1.1@tcp1")},
					{Name: "b", NIDs: nids("10.0.0.1@tcp"), Tree: scoll.Tree{Type: scoll.KNomial, K: 4}},
				}
			}, "",
		},
		{
			"actions", "scoll:\n  admin:\n    max_bulk: 0\n    max_memory: 1048576\n    max_actions: 1\n    output: 10\n    actions:\n      up:\n        run: [/bin/uptime]\n      x:\n        run:\n          - sh\n          - '-c'\n        timeout: 5s\n",
			func(s *config.Scoll) {
				s.Admin.MaxBulk, s.Admin.MaxMemory, s.Admin.MaxActions, s.Admin.Output = 0, 1<<20, 1, 10
				s.Admin.Actions = []config.Action{
					{Name: "up", Run: []string{"/bin/uptime"}, Timeout: 30 * time.Second},
					{Name: "x", Run: []string{"sh", "-c"}, Timeout: 5 * time.Second},
				}
			}, "",
		},
		{"time-out", "scoll:\n  max_timeout: 72m\n", nil, "f:2:16: max_timeout: want a time from 100ms to 1h11m0s such as 500ms, not \"72m\""},
		{"unknown key", "scoll:\n  enabled: 1\n", nil, `f:2:3: unknown key "enabled"`},
		{"unknown key of admin", "scoll:\n  admin:\n    action: x\n", nil, `f:3:5: unknown key "action"`},
		{"unknown key of a group", "scoll:\n  groups:\n    a:\n      nid: x\n", nil, `f:4:7: unknown key "nid"`},
		{"no section", "scoll: 1\n", nil, `f:1:8: scoll: want lines of the form`},
		{"no group", "scoll:\n  groups:\n    a: 7\n", nil, `f:3:5: want lines of the form`},
		{"empty group", "scoll:\n  groups:\n    a:\n      tree: flat\n", nil, `f:3:5: group a: nids is missing`},
		{"group without anything", "scoll:\n  groups:\n    a:\n", nil, `f:3:5: group a: nids is missing`},
		{"name", "scoll:\n  groups:\n    a b:\n      nids: [10.0.0.1@tcp]\n", nil, `f:3:5: "a b" is no name`},
		{"long name", "scoll:\n  admin:\n    actions:\n      " + strings.Repeat("x", 65) + ":\n        run: [x]\n", nil, `f:4:7: "xxx`},
		{"member twice", "scoll:\n  groups:\n    a:\n      nids: ['10.0.0.[1-3]@tcp', 10.0.0.2@tcp]\n", nil, `f:4:34: nids: 10.0.0.2@tcp is listed twice`},
		{"loopback", "scoll:\n  groups:\n    a:\n      nids: [0@lo]\n", nil, `f:4:14: nids: 0@lo cannot be a member`},
		{"a whole network", "scoll:\n  groups:\n    a:\n      nids: ['*@tcp']\n", nil, `f:4:14: nids: NIDs "*@tcp": names a whole network`},
		{"tree", "scoll:\n  tree: k-nomial 1\n", nil, `f:2:9: tree: "k-nomial 1" is no tree`},
		{"nid", "scoll:\n  nid: 0@lo\n", nil, `f:2:8: nid: want one NID of this node, not 0@lo`},
		{"rtt", "scoll:\n  rtt: 1us\n", nil, `f:2:8: rtt: want a time from 10µs to 1m0s such as 500ms, not "1us"`},
		{"rtt without unit", "scoll:\n  rtt: 5\n", nil, `f:2:8: rtt: want a time`},
		{"roots", "scoll:\n  admin:\n    allow_roots: 10.0.0.1@tcp\n", nil, `f:3:18: allow_roots: want a list`},
		{"no root", "scoll:\n  admin:\n    allow_roots: [server]\n", nil, `f:3:19: allow_roots: NIDs "server"`},
		{"action without program", "scoll:\n  admin:\n    actions:\n      a:\n        timeout: 5s\n", nil, `f:4:7: action a: run is missing`},
		{"number in a program", "scoll:\n  admin:\n    actions:\n      a:\n        run: [sleep, 5]\n", nil, `f:5:22: run: want text, not "5"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.change == nil {
				wantRefused(t, test.text, test.err)
				return
			}
			wantConfig(t, test.text, func(c *config.Config) { test.change(&c.Scoll) })
		})
	}
}

// TestAllowRoots: by default no node is allowed; otherwise those that the file names are.
func TestAllowRoots(t *testing.T) {
	c, err := config.Parse("f", []byte("scoll:\n  admin:\n    allow_roots: ['10.0.0.[1-4]@tcp', '*@tcp1']\n"))
	if err != nil || len(c.Scoll.Admin.AllowRoots) != 2 || len(config.Default().Scoll.Admin.AllowRoots) != 0 {
		t.Fatal(err, c.Scoll.Admin.AllowRoots)
	}
	var got []string
	for _, set := range c.Scoll.Admin.AllowRoots {
		got = append(got, set.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.[1-4]@tcp", "*@tcp1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestScollMachine: the agent of collectives gets the settings of the file. A tree that is set for one
// service takes precedence over the tree for all (SC-124).
func TestScollMachine(t *testing.T) {
	spec.Covers(t, "SC-124")
	s := config.Default().Scoll
	s.MaxActive, s.RTT = 3, time.Millisecond
	if m := s.Agent(); m.MaxActive != 3 || m.RTT != time.Millisecond || m.MaxMembers != 16384 || m.MaxGroups != 8192 {
		t.Errorf("%+v", m)
	}
	if got := s.AdminTree(); got != s.Tree {
		t.Error(got)
	}
	if s.Admin.Tree = (scoll.Tree{Type: scoll.KAry, K: 9}); s.AdminTree() != s.Admin.Tree {
		t.Error(s.AdminTree())
	}
}

// TestDocumented: the configuration in docs/collectives.md is valid.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "collectives.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	yaml, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("there is none")
	}
	c, err := config.Parse("docs/collectives.md", []byte(yaml))
	if err != nil || !c.Scoll.Enable || len(c.Scoll.Groups) != 1 || len(c.Scoll.Groups[0].NIDs) != 20 || len(c.Scoll.Admin.Actions) != 1 {
		t.Errorf("%+v, %v", c.Scoll, err)
	}
}

// TestScollIdentity: the section says which nodes may be members, which keys they need, and
// under which conditions actions run.
func TestScollIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("sixteen bytes at least\nanother key of them\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "scoll:\n  allow_members: ['10.0.0.[1-4]@tcp']\n  key_file: " + file +
		"\n  admin:\n    actions_without_identity: yes\n    actions:\n      a:\n        run: [x]\n        user: nobody\n"
	c, err := config.Parse("f", []byte(text))
	s := c.Scoll
	if err != nil || len(s.AllowMembers) != 1 || s.Keys.Len() != 2 || !s.Admin.Unidentified || s.Admin.Actions[0].User != "nobody" {
		t.Errorf("%+v, %v", s, err)
	}
	if d := config.Default().Scoll; d.Admin.Unidentified || d.Keys.Len() != 0 {
		t.Errorf("by default %+v", d)
	}
	wantRefused(t, "scoll:\n  key_file: /no/such/file\n", "f:2:13: key_file: open /no/such/file")
	wantRefused(t, "scoll:\n  admin:\n    actions_without_identity: maybe\n", "f:3:31: actions_without_identity: ")
}
