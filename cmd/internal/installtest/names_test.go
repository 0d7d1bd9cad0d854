//go:build linux

package installtest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestInstall: make install replaces Lustre's lnetctl and lst only if it is told to, and never
// replaces lctl. All three are installed under other names.
func TestInstall(t *testing.T) {
	for _, test := range []struct {
		args    []string
		replace string // tools of Lustre that are replaced
	}{
		{nil, ""},
		{[]string{"LNETCTL=no", "LST=no"}, ""},
		{[]string{"LNETCTL=yes"}, "lnetctl"},
		{[]string{"LST=yes"}, "lst"},
		{[]string{"LNETCTL=yes", "LST=yes"}, "lnetctl lst"},
	} {
		args := append([]string{"--no-print-directory", "-n", "-C", root, "install", "PREFIX=/p"}, test.args...)
		out := run(t, exec.CommandContext(t.Context(), "make", args...))
		var replaced, renamed []string
		for line := range strings.Lines(out) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != "install" {
				continue
			}
			for _, tool := range []string{"lnetctl", "lst", "lctl"} {
				for _, name := range fields[1:] {
					if name == "/p/bin/"+tool || name == "bin/"+tool && fields[len(fields)-1] == "/p/bin" {
						replaced = append(replaced, tool)
					}
					if name == "/p/bin/ulnet-"+tool {
						renamed = append(renamed, tool)
					}
				}
			}
		}
		if got := strings.Join(replaced, " "); got != test.replace {
			t.Errorf("make install %v replaces %q, want %q", test.args, got, test.replace)
		}
		if got := strings.Join(renamed, " "); got != "lnetctl lst lctl" {
			t.Errorf("make install %v installs as ulnet-: %q", test.args, got)
		}
	}
}
