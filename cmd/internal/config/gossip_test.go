package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/internal/config"
	"ulnet/gossip/engine"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// equateNIDs lets cmp compare NIDs and addresses.
var equateNIDs = cmpopts.EquateComparable(nid.NID{}, netip.Addr{})

func nids(texts ...string) (list []nid.NID) {
	for _, s := range texts {
		list = append(list, nid.MustParse(s))
	}
	return list
}

// TestGossipSection: GO-4 and GO-42: the section gossip is read. Impossible values are refused
// with an error that has the line (GO-6, GO-7, GO-8, GO-43).
func TestGossipSection(t *testing.T) {
	spec.Covers(t, "GO-4", "GO-6", "GO-7", "GO-8", "GO-42", "GO-43")
	const three = "gossip:\n  nids: ['10.0.0.[1-3]@tcp']\n"
	known := nids("10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp")
	for _, test := range []struct {
		name, text string
		change     func(*config.Gossip) // changes the default settings to those that the text must give; nil: the text must be refused
		err        string
	}{
		{"nobody", "gossip:\n  start: 0\n", func(g *config.Gossip) { g.Start = false }, ""},
		{"one key", "gossip:\n  quorum: 0\n", func(g *config.Gossip) { g.Quorum = 0 }, ""},
		{"a fudge for later", "gossip:\n  fudge: 3\n", func(g *config.Gossip) { g.Fudge = 3 }, ""},
		{"ranges", three, func(g *config.Gossip) { g.NIDs, g.NIDsAt = known, config.Position{File: "f", Line: 2, Column: 9} }, ""},
		{
			"several", "gossip:\n  nids:\n    - 10.0.0.1@tcp 10.0.0.2@tcp\n    - 10.0.0.3@tcp\n",
			func(g *config.Gossip) { g.NIDs, g.NIDsAt = known, config.Position{File: "f", Line: 3, Column: 5} }, "",
		},
		{
			"all numbers", "gossip:\n  interval: 200ms\n  rtt: 400ms\n  fudge: 0\n  dead_factor: 3\n  dead_slack: 0\n  obsolete: 99\n  cold_start: 1\n  strict: 1\n  seed: 7\n",
			func(g *config.Gossip) {
				g.Interval, g.RTT, g.Fudge, g.DeadFactor, g.DeadSlack, g.Obsolete = 200*time.Millisecond, 400*time.Millisecond, 0, 3, 0, 99
				g.ColdStart, g.Strict, g.Seed = true, true, 7
			}, "",
		},
		{"interval below the limit", "gossip:\n  interval: 199ms\n", nil, `f:2:13: interval: want a time from 200ms to 24h0m0s such as 500ms, not "199ms"`},
		{"interval below half of the round trip", "gossip:\n  rtt: 401ms\n  interval: 200ms\n", nil, `f:3:13: interval: interval 200ms is below half the round trip time of 401ms`},
		{"round trip above the default interval", "gossip:\n  rtt: 3s\n", nil, `f:2:8: rtt: interval 1s is below half`},
		{"no unit", "gossip:\n  interval: 500\n", nil, `f:2:13: interval: want a time`},
		{"microseconds", "gossip:\n  interval: 1000500us\n", nil, `f:2:13: interval: want whole milliseconds`},
		{"unknown key", "gossip:\n  interval: 1s\n  intervall: 1s\n", nil, `f:3:3: unknown key "intervall"`},
		{"no section", "gossip: 7\n", nil, `f:1:9: gossip: want lines of the form "  key: value" below it`},
		{"NIDs here and there", three[:len(three)-1] + "\n  quorum: 0\n  nids_file: x\n", nil, `f:4:14: nids_file: nids names the participants already`},
		{"a NID twice", "gossip:\n  nids:\n    - 10.0.0.[1-3]@tcp\n    - 10.0.0.2@tcp\n", nil, `f:4:7: nids: 10.0.0.2@tcp is listed twice`},
		{"mixed networks", "gossip:\n  nids:\n    - 10.0.0.[1-3]@tcp\n    - 10.0.0.4@tcp1\n", nil, `f:4:7: nids: 10.0.0.4@tcp1 is on another network than 10.0.0.1@tcp: gossip has one`},
		{"no NID", "gossip:\n  nids:\n    - 10.0.0.1@tcp\n    - server2\n", nil, `f:4:7: nids: NIDs "server2": want ADDRESS@NET`},
		{"unknown network", "gossip:\n  nids:\n    - 10.0.0.1@ether\n", nil, `f:3:7: nids: NIDs "10.0.0.1@ether": `},
		{"a whole network", "gossip:\n  nids: ['*@tcp']\n", nil, `f:2:10: nids: NIDs "*@tcp": names a whole network`},
		{"all networks", "gossip:\n  nids: [all]\n", nil, `f:2:10: nids: names a whole network`},
		{"loopback", "gossip:\n  nids: [0@lo]\n", nil, `f:2:10: nids: 0@lo cannot be a participant`},
		{"too many", "gossip:\n  nids: ['10.[0-255].*.*@tcp']\n", nil, `f:2:10: nids: NIDs "10.*.*.*@tcp": more than`},
		{"one alone", "gossip:\n  nids: [10.0.0.1@tcp]\n", nil, `f:2:9: gossip: 1 participants: want at least two`},
		{"fudge too large", three + "  fudge: 2\n", nil, `f:3:10: fudge: fudge 2 is above 0, half the logarithm of 3 participants`},
		{"never dead", three + "  dead_factor: 2\n  dead_slack: 254\n", nil, `f:4:15: dead_slack: participants would be dead after`},
		{"no file", "gossip:\n  nids_file: /nowhere/nids\n", nil, `f:2:14: nids_file: open /nowhere/nids: no such file`},
		{"quorum", "gossip:\n  quorum: 100\n", nil, `f:2:11: quorum: want a whole number from 0 to 99`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.change == nil {
				wantRefused(t, test.text, test.err)
				return
			}
			wantConfig(t, test.text, func(c *config.Config) { test.change(&c.Gossip) })
		})
	}
}

// TestGossipNIDsFile: the path of the file is relative to the configuration. Errors in the file
// have its own name and line.
func TestGossipNIDsFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lnetd.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("lnetd.yaml", "gossip:\n  interval: 500ms\n  nids_file: servers\n")
	write("servers", "# metadata\n10.0.0.1@tcp\n\n10.0.1.[1-9/4]@tcp 10.0.0.2@tcp # data\n")
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := nids("10.0.0.1@tcp", "10.0.1.1@tcp", "10.0.1.5@tcp", "10.0.1.9@tcp", "10.0.0.2@tcp")
	if diff := cmp.Diff(want, c.Gossip.NIDs, equateNIDs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write("servers", "10.0.0.1@tcp\n   10.0.0.[1-5]@tcp\n")
	if _, err = config.Load(file); err == nil || err.Error() != filepath.Join(dir, "servers")+":2:4: 10.0.0.1@tcp is listed twice" {
		t.Errorf("a NID twice: %v", err)
	}
}

// TestParseNIDs: GO-43: the example of the design stands for two times 64 NIDs.
func TestParseNIDs(t *testing.T) {
	spec.Covers(t, "GO-43")
	list, err := config.ParseNIDs("f", strings.NewReader("192.168.[1-2].[1-128/2]@o2ib0"))
	if err != nil || len(list) != 2*64 {
		t.Fatalf("%d NIDs, %v, want 128", len(list), err)
	}
	if list[0] != nid.MustParse("192.168.1.1@o2ib") || list[127] != nid.MustParse("192.168.2.127@o2ib") {
		t.Errorf("from %v to %v", list[0], list[127])
	}
	if _, err := config.ParseNIDs("f", strings.NewReader("10.0.0.1@tcp\n"+strings.Repeat("x", 2<<20))); err == nil || !strings.HasPrefix(err.Error(), "f:2:1: ") {
		t.Errorf("a line without an end: %v", err)
	}
}

// TestGossipMachine: the state machine of gossip uses the numbers of the file, even 0, and otherwise
// its own defaults.
func TestGossipMachine(t *testing.T) {
	byDefault, err := config.Default().Gossip.Agent().Engine().Limits(1000)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := engine.Config{Interval: time.Second}.Limits(1000)
	if diff := cmp.Diff(plain, byDefault); diff != "" {
		t.Errorf("the defaults differ from those of package gossip (-gossip +ours):\n%s", diff)
	}
	g := config.Default().Gossip
	g.Fudge, g.DeadFactor, g.DeadSlack = 0, 0, 200
	l, err := g.Agent().Engine().Limits(1000)
	if err != nil || l.Fudge != 0 || l.Dead != 200 {
		t.Errorf("limits %+v, %v, want no fudge, and dead after 200", l, err)
	}
	g.DeadFactor, g.DeadSlack = 5, 0
	if l, err = g.Agent().Engine().Limits(1000); err != nil || l.Dead != 50 {
		t.Errorf("limits %+v, %v, want dead after 50", l, err)
	}
}
