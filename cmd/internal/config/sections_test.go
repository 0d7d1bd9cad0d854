package config_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
)

// treeOf returns the contents of a file in the form of lnetctl's files, as text.
func treeOf(t *testing.T, text string) string {
	t.Helper()
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	doc, err := c.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tree.Write(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSections: the flat keys and the sections of lnetctl's files give the same tree. The
// output of that tree can be read again as lnetd's file.
func TestSections(t *testing.T) {
	flat := "networks: tcp(eth0,10.0.0.7),tcp1\nroutes: tcp2 3 10.0.0.[1-2]@tcp:1\nudsp:\n  - src: tcp1\n    priority: 4\n" +
		"lnet_retry_count: 3\nlnet_peer_discovery_disabled: 1\nrouting: {enable: 1, tiny: 9}\nrouter_ping_timeout: 7\nlnet_numa_range: 5\n"
	want := "net:\n-     net type: tcp\n      local NI(s):\n      -     interfaces:\n                  0: eth0\n" +
		"-     net type: tcp\n      local NI(s):\n      -     interfaces:\n                  0: 10.0.0.7\n"
	first := treeOf(t, flat)
	if !strings.HasPrefix(first, want) {
		t.Errorf("wrote\n%s\nwant at first\n%s", first, want)
	}
	for _, line := range []string{"    retry_count: 3\n", "    discovery: 0\n", "    router_ping_timeout: 7\n", "    tiny: 9\n", "    enable: 1\n", "      gateway: 10.0.0.2@tcp\n"} {
		if !strings.Contains(first, line) {
			t.Errorf("%q is missing in\n%s", line, first)
		}
	}
	named := treeOf(t, strings.Replace(flat, ",tcp1\n", ",tcp1(eth1)\n", 1))
	if diff := cmp.Diff(named, treeOf(t, named)); diff != "" {
		t.Errorf("read as sections it says (-first +second):\n%s", diff)
	}
}

// TestSectionsSayMore: sections can contain settings for which there are no flat keys.
func TestSectionsSayMore(t *testing.T) {
	text := "net:\n  - net type: lo\n  - net type: tcp\n    local NI(s):\n      - nid: 10.0.0.5@tcp\n        tunables:\n          peer_credits: 16\n" +
		"        lnd tunables:\n          conns_per_peer: 2\n          timeout: 9\n" +
		"peer:\n  - primary nid: 10.0.0.2@tcp\n    peer ni:\n      - nid: 10.1.0.2@tcp1\n" +
		"udsp:\n  - idx: 0\n    src: tcp\n    action:\n      priority: 6\nrouting:\n  - enable: 1\n  - tiny: 40\n"
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if c.Networks != "lo" || len(c.Sections.Net) != 1 || *c.Sections.Net[0].NIs[0].Tunables.PeerCredits != 16 {
		t.Errorf("networks %q, %+v", c.Networks, c.Sections.Net)
	}
	if p := c.Sections.Peer; len(p) != 1 || len(p[0].NIs) != 1 || len(c.UDSP) != 1 || c.UDSP[0].Priority != 6 || !c.Routing.Enable || c.Routing.Tiny != 40 {
		t.Errorf("peers %+v, rules %v, routing %+v", p, c.UDSP, c.Routing)
	}
}

// TestSectionsErrors: each error has the line to which it refers.
func TestSectionsErrors(t *testing.T) {
	const ni = "net:\n  - net type: tcp\n    local NI(s):\n      - interfaces:\n          0: eth0\n"
	for text, want := range map[string]string{
		ni + "        tunable: 1\n":                                  `f:6: net: unknown key "tunable"`,
		ni + "        lnd tunables:\n          nosuch: 1\n":          "f:4: net: socklnd has no tunable",
		ni + "        tunables:\n          peer_credits: many\n":     "f:7: net: invalid value 'many' for key 'peer_credits'",
		"net:\n  - net type: nosuch\n":                               "f:2: net: ",
		"net:\n  - net type: tcp\n":                                  "f:2: net: an NI on tcp needs an interface or a NID",
		ni + "networks: tcp\n":                                       "f:6:1: networks and net exclude each other",
		ni + "ip2nets: tcp 10.*.*.*\n":                               "f:6:1: ip2nets and net exclude each other",
		"net: &a []\n":                                               "f:1: net: anchors and aliases are not supported",
		"peer:\n  - primary nid: nosuch\n":                           "f:2: peer: unsupported primary NID",
		"peer:\n  - Multi-Rail: true\n":                              "f:2: peer: a peer without 'primary nid'",
		"route:\n  - net: tcp2\n":                                    "f:2: route: missing mandatory parameter: gateway",
		"global:\n  nosuch: 1\n":                                     `f:2: global: unknown key "nosuch"`,
		"global:\n  retry_count: 6\n":                                "f:2: global: retry_count: want a whole number from 0 to 5, not 6",
		"global:\n  retry_count: 4\n  transaction_timeout: 3\n":      "f: lnet_transaction_timeout (3) has to be more than lnet_retry_count (4)",
		"lnet_retry_count: 3\nglobal:\n  retry_count: 3\n":           "f:1:1: lnet_retry_count is retry_count in the section global",
		"buffers:\n  tiny: -1\n":                                     "f:2: buffers: tiny: want a whole number",
		"buffers:\n  tiny: 1\nrouting:\n  small: 1\n":                "f:4:3: routing.small and buffers exclude each other",
		"udsp:\n  - idx: 0\n    src: tcp\n    action:\n      pri: 1": `f:5:7: unknown key "pri"`,
		"ping:\n  - primary nid: 10.0.0.1@tcp\n":                     `f:1:1: unknown key "ping"`,
	} {
		t.Run(text, func(t *testing.T) { wantRefused(t, text, want) })
	}
}
