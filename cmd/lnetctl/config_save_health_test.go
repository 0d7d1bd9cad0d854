package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

// TestSaveHealth: settings of health whose bounds depend on each other have the same values again after
// 'config save' and a restart, whatever the configuration file of lnetd says. In the order of the file,
// retry_count comes first.
func TestSaveHealth(t *testing.T) {
	for _, one := range []struct{ text, set string }{
		{"lnet_health_sensitivity: 0\n", "health_sensitivity 100, retry_count 2"},
		{"lnet_transaction_timeout: 5\n", "transaction_timeout 150, retry_count 5"},
		{"lnet_transaction_timeout: 5\nlnet_health_sensitivity: 0\n", "transaction_timeout 150, health_sensitivity 7, retry_count 5"},
		{"lnet_retry_count: 5\n", "retry_count 0, transaction_timeout 1"},
		{"lnet_retry_count: 5\n", "health_sensitivity 0"},
	} {
		n := serveText(t, one.text)
		for s := range strings.SplitSeq(one.set, ", ") {
			n.lnetctl(t, append([]string{"set"}, strings.Fields(s)...)...)
		}
		if got, want := n.restarted(t, one.text).settings(t), n.settings(t); got != want {
			t.Errorf("with %q and %q, after the restart\n%s\nwant\n%s", one.text, one.set, got, want)
		}
	}
}

// TestImportTogether: settings of health that are not valid one after another are changed together. If they
// are not valid together either, the settings before them stay applied, and the error names the line of the wrong
// one. An error in a line between them does not undo them. The result lists all items that were applied, and no
// others.
func TestImportTogether(t *testing.T) {
	const text = "lnet_health_sensitivity: 0\nlnet_transaction_timeout: 5\n"
	n := serveText(t, text)
	for _, one := range []struct {
		node   string // configuration of a new node; empty: the node that the last file has changed
		global string
		lines  string // lines that are applied, then the line with an error
		health string // health_sensitivity, retry_count and transaction_timeout afterwards
	}{
		{"", "retry_count: 5\nrouter_sensitivity: 90\ntransaction_timeout: 50\nnuma_range: 1\nhealth_sensitivity: 10\n", "[2 3 4 5 6] 0", "10 5 50"},
		{"", "transaction_timeout: 4\nretry_count: 3\n", "[2 3] 0", "10 3 4"},
		{"", "retry_count: 1\ntransaction_timeout: 1\nhealth_sensitivity: 9\n", "[2] 3", "10 1 4"},
		{"lnet_transaction_timeout: 5\n", "retry_count: 5\ndiscovery: 2\ntransaction_timeout: 50\n", "[2 4] 3", "100 5 50"},
		{"lnet_transaction_timeout: 5\n", "retry_count: 5\ntransaction_timeout: 50\nhealth_sensitivity: 5000\n", "[] 4", "100 2 5"},
		{text, "retry_count: 5\ntransaction_timeout: 100000\nhealth_sensitivity: 10\n", "[] 3", "0 0 5"},
	} {
		if one.node != "" {
			n = serveText(t, one.node)
		}
		before := *node.GlobalTree(n.Status())
		f, err := tree.Read([]byte("global:\n    " + strings.ReplaceAll(strings.TrimSpace(one.global), "\n", "\n    ") + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		r := tree.Apply(t.Context(), n.Editor(), tree.Add, f)
		lines, failed := []int{}, 0
		for _, i := range r.Done {
			lines = append(lines, i.Line)
		}
		if len(r.Errs) > 0 {
			failed = r.Errs[0].Line
		}
		if got := fmt.Sprint(lines, failed); got != one.lines {
			t.Errorf("of\n%s lines %s are applied and wrong, want %s; %v", one.global, got, one.lines, r.Errs)
		}
		now := node.GlobalTree(n.Status())
		if got := fmt.Sprint(*now.HealthSensitivity, *now.RetryCount, *now.TransactionTimeout); got != one.health {
			t.Errorf("after\n%s health is %s, want %s", one.global, got, one.health)
		}
		for _, i := range r.Done {
			before.Set(*i.Setting)
		}
		if got, want := withoutShown(now), withoutShown(&before); !slices.Equal(got, want) {
			t.Errorf("after\n%s the settings are %v; those that are told lead to %v", one.global, got, want)
		}
	}
}

// withoutShown lists all settings except the one that follows from others.
func withoutShown(g *tree.Global) []tree.Setting {
	return slices.DeleteFunc(g.Settings(), func(s tree.Setting) bool { return s.Name == tree.ShownOnly })
}

// TestImportTold: import tells the lines of settings that were changed together, and that of a wrong one among
// them with the reason.
func TestImportTold(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"retry_count: 5\n  discovery: 2\n  transaction_timeout: 50\n", "# applied are the items of the lines 2, 4\n"},
		{"retry_count: 5\n  transaction_timeout: 50\n  health_sensitivity: 5000\n", "# line 4: health_sensitivity is 0 to 1000, not 5000"},
	} {
		path := filepath.Join(t.TempDir(), "lnet.conf")
		if err := os.WriteFile(path, []byte("global:\n  "+c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		n := serveText(t, "lnet_transaction_timeout: 5\n")
		if code, _, errs := (&fakeServer{socket: n.socket}).lnetctl(t.Context(), "import", path); code != 234 || !strings.Contains(errs, c.want) {
			t.Errorf("code %d, %q; want %q", code, errs, c.want)
		}
	}
}

// TestImportBuffers: if one number of router buffers is wrong, the file's other numbers are not applied either, as
// the comment "nothing was changed" says.
func TestImportBuffers(t *testing.T) {
	n := serveText(t, "routing: {enable: 1, tiny: 77, small: 77, large: 77}\n")
	before := n.settings(t)
	path := filepath.Join(t.TempDir(), "lnet.conf")
	if err := os.WriteFile(path, []byte("buffers:\n    tiny: 512\n    small: -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := (&fakeServer{socket: n.socket}).lnetctl(t.Context(), "import", path)
	if code != 234 || !strings.Contains(errs, "nothing was changed") {
		t.Errorf("code %d, %s", code, errs)
	}
	if got := n.settings(t); got != before {
		t.Errorf("settings are now\n%s\nwant\n%s", got, before)
	}
}
