package config

import (
	"os/exec"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/needs"
)

// TestManPageOfAReference: titles are sections, keys have the comments above them, and examples
// keep their lines.
func TestManPageOfAReference(t *testing.T) {
	got := manPage("# Reference.\n\n# --- Events ----\n\n# How often it -\n# happens.\n#   on   always\n# For example\n#\n# every: 5\n# .other: \\n\nevery: 1\nuntil: 2\n\n" +
		"# A section.\nhealth:\n  # Name.\n  name: \"\"\n\n  times:\n    # Ping.\n    ping: 5s\n  more: 1\nlast: 1\n")
	want := ".PP\nReference.\n.SH EVENTS\n.TP\n\\fBevery: 1\\fP\n.TQ\n\\fBuntil: 2\\fP\nHow often it \\-\nhappens.\n.nf\n  on   always\n.fi\nFor example\n.nf\n\nevery: 5\n\\&.other: \\en\n.fi\n" +
		".TP\n\\fBhealth:\\fP\nA section.\n.TP\n\\fBhealth.name: \"\"\\fP\nName.\n.TP\n\\fBhealth.times:\\fP\n.TP\n\\fBhealth.times.ping: 5s\\fP\nPing.\n.TP\n\\fBhealth.more: 1\\fP\n.TP\n\\fBlast: 1\\fP\n"
	if got = strings.TrimSuffix(strings.TrimPrefix(got, manPreface), manEnd); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestManPage: the page of the reference has every key, and man shows it without a warning.
func TestManPage(t *testing.T) {
	page := ManPage()
	for _, key := range Keys() {
		if name := strings.ReplaceAll(key, "-", `\-`); !strings.Contains(page, "\\fB"+name+":") {
			t.Errorf("the page does not have %s", key)
		}
	}
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "groff"), "-man", "-Tutf8", "-ww")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("%v:\n%.2000s", err, out)
	}
}
