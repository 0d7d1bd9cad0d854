package tree

import (
	"fmt"
	"strings"
	"testing"
)

// olderNet is what an older lnetctl of Lustre (2.12) exports of two networks, without counters. Tunables of
// o2iblnd stand below "tunables", and nothing below "lnd tunables".
const olderNet = `net:
    - net type: o2ib
      local NI(s):
        - nid: 10.0.0.1@o2ib
          status: up
          interfaces:
              0: ib0
          tunables:
              peer_timeout: 180
              peer_credits: 32
              peer_buffer_credits: 0
              credits: 256
              peercredits_hiw: 16
              map_on_demand: 0
              concurrent_sends: 64
              ntx: 512
              conns_per_peer: 1
          lnd tunables:
          dev cpt: -1
          tcp bonding: 0
          CPT: "[0]"
    - net type: tcp
      local NI(s):
        - nid: 10.0.0.1@tcp
          interfaces:
          tunables:
              credits: 256
              ntx: 512
          lnd tunables:
          dev cpt: 0
          tcp bonding: 0
          CPT: "[0]"
`

// TestOlderNet: an export of an older lnetctl is read, whole or in pieces, with its tunables of o2iblnd. A
// warning names each unknown key, with the first line in which it stands.
func TestOlderNet(t *testing.T) {
	for _, size := range []int{1 << 20, 1} {
		f := new(File)
		if err := f.readPieces(pieces([]byte(olderNet), size), 1<<20); err != nil {
			t.Fatal(err)
		}
		f.tellIgnored()
		tree, err := f.Tree()
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.Net) != 2 {
			t.Fatalf("%d networks", len(tree.Net))
		}
		ni, want := tree.Net[0].NIs[0], map[string]int{"peercredits_hiw": 16, "map_on_demand": 0, "concurrent_sends": 64, "ntx": 512, "conns_per_peer": 1}
		if got := ni.LND.Numbers(); fmt.Sprint(got) != fmt.Sprint(want) || *ni.Tunables.Credits != 256 {
			t.Errorf("tunables %v, want %v", got, want)
		}
		if ni := tree.Net[1].NIs[0]; len(ni.LND) > 0 || len(ni.Interfaces) > 0 {
			t.Errorf("the NI of tcp is %+v", ni)
		}
		const warnings = "line 20: unknown key \"tcp bonding\" is ignored, as in line 31\nline 28: unknown key \"ntx\" is ignored"
		if got := strings.Join(f.Warnings, "\n"); got != warnings {
			t.Errorf("warnings\n%s\nwant\n%s", got, warnings)
		}
	}
}

// TestOlderTunablesGiveWay: a tunable of a driver that is in both places has the value below "lnd tunables".
func TestOlderTunablesGiveWay(t *testing.T) {
	tree, err := Parse([]byte(strings.Replace(olderNet, "lnd tunables:\n", "lnd tunables:\n              ntx: 77\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := tree.Net[0].NIs[0].LND.Get("ntx"); n != 77 || len(tree.Net[0].NIs[0].LND) != 5 {
		t.Errorf("tunables %v", tree.Net[0].NIs[0].LND)
	}
}

// TestUnknownKeysAreBounded: a file with many unknown keys gives few warnings, the last of which has their number.
func TestUnknownKeysAreBounded(t *testing.T) {
	text := "route:\n"
	for i := range 100 {
		text += fmt.Sprintf("- net: tcp1\n  gateway: 10.0.0.1@tcp\n  key%d: 1\n  again: 1\n", i)
	}
	f, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n := len(f.Warnings)
	if n != maxUnknown+1 || f.Warnings[1] != `line 5: unknown key "again" is ignored, as in line 9 and 98 more` || f.Warnings[n-1] != "and 81 more" {
		t.Errorf("%d warnings: %q", n, f.Warnings)
	}
}

// TestOlderSections: the range of the older section numa is the setting numa_range, and max_intf is max_interfaces.
func TestOlderSections(t *testing.T) {
	f, err := Read([]byte("numa:\n    range: 3\nglobal:\n    max_intf: 201\n    retry_count: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := f.Tree()
	if err != nil {
		t.Fatal(err)
	}
	if g := tree.Global; g == nil || g.NUMARange == nil || *g.NUMARange != 3 || *g.RetryCount != 1 || *g.MaxInterfaces != 201 {
		t.Errorf("settings %+v", g)
	}
	if len(f.Warnings) > 0 {
		t.Errorf("warnings %q", f.Warnings)
	}
	for text, want := range map[string]string{
		"numa:\n    range: far\n": "line 2: invalid value 'far' for key 'range'",
		"numa:\n    rage: 1\n":    "line 2: missing mandatory parameter: range",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if tree, err := Parse([]byte("numa:\n")); err != nil || tree.Global != nil {
		t.Errorf("an empty section: %v, %+v", err, tree)
	}
}
