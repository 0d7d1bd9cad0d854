package node_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// entry returns a section net with an NI, which it describes by its interface or its NID, and with its peer_credits
// unless credits is "".
func entry(on, credits string) string {
	text := "net:\n  - net type: tcp\n    local NI(s):\n      - " + on + "\n"
	if credits != "" {
		text += "        tunables: {peer_credits: " + credits + "}\n"
	}
	return text
}

// TestReloadTwoNames: two files name the same NI, one by its interface and the other by its NID. After a reload of
// either file, the node has what it has after a start with both: the NI stays while one of the files names it, and it
// is started again only if it gets other settings.
func TestReloadTwoNames(t *testing.T) {
	spec.Covers(t, "OP-6")
	const none = "networks: lo\n"
	byName := func(credits string) string { return entry("interfaces: {0: lo}", credits) }
	byNID := func(credits string) string { return entry("nid: 127.0.0.1@tcp", credits) }
	type files struct{ own, imported string }
	for name, test := range map[string]struct {
		from, to files
		steps    int // lines of the reload
	}{
		"lnetd's file no longer names it":       {files{byName(""), byNID("")}, files{none, byNID("")}, 0},
		"that file had no settings":             {files{byName(""), byNID("16")}, files{none, byNID("16")}, 0},
		"that file had settings":                {files{byName("16"), byNID("")}, files{none, byNID("")}, 2},
		"the imported file no longer names it":  {files{byName(""), byNID("")}, files{byName(""), ""}, 0},
		"the imported file had settings":        {files{byName(""), byNID("16")}, files{byName(""), ""}, 2},
		"lnetd's file names it, too":            {files{none, byNID("")}, files{byName(""), byNID("")}, 0},
		"the imported file has settings for it": {files{byName(""), ""}, files{byName(""), byNID("16")}, 2},
		"other settings in lnetd's file":        {files{byName("8"), byNID("")}, files{byName("16"), byNID("")}, 2},
		"other settings in the imported file":   {files{byName("8"), byNID("16")}, files{byName("8"), byNID("32")}, 2},
		"no file names it":                      {files{byName("8"), byNID("16")}, files{none, ""}, 1},
		"only the other file names it":          {files{byName("16"), ""}, files{none, byNID("16")}, 2},
		"settings that the other file's hide":   {files{byName("8"), byNID("16")}, files{byName("9"), byNID("16")}, 0},
		"a network that is new":                 {files{none, ""}, files{byName(""), byNID("16")}, 1},
		"only lnetd's file names it now":        {files{none, byNID("16")}, files{byName("16"), ""}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
			if err != nil {
				t.Fatal(err)
			}
			with := func(f files) *config.Loaded {
				return importing(t, fmt.Sprintf("accept_port: %d\n%s", port, f.own), f.imported)
			}
			from, to := with(test.from), with(test.to)
			n := startImporting(t, from, nil)
			if err := n.Import(t.Context()); err != nil {
				t.Fatal(err)
			}
			done, err := n.Reload(t.Context(), from, to)
			if err != nil || len(done) != test.steps {
				t.Errorf("%q, %v, want %d lines", done, err, test.steps)
			}
			got := state(t, n)
			if err := n.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			fresh := startImporting(t, to, nil)
			if err := fresh.Import(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := state(t, fresh); got != want {
				t.Errorf("after the reload\n%s\nafter a start\n%s", got, want)
			}
		})
	}
}
