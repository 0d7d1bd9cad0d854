package archtest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestInstall: make install replaces Lustre's lnetctl only if it is told to, and never replaces
// lctl.
func TestInstall(t *testing.T) {
	for _, test := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{"LNETCTL=no"}, false}, {[]string{"LNETCTL=yes"}, true}} {
		args := append([]string{"--no-print-directory", "-n", "-C", "../../..", "install", "PREFIX=/p"}, test.args...)
		out, err := exec.CommandContext(t.Context(), "make", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("make %v: %v\n%s", args, err, out)
		}
		var ours, theirs, ourLctl bool
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != "install" {
				continue
			}
			for _, name := range fields[1:] {
				theirs = theirs || name == "/p/bin/lnetctl" || name == "bin/lnetctl" && fields[len(fields)-1] == "/p/bin"
				ours = ours || name == "/p/bin/ulnet-lnetctl"
				ourLctl = ourLctl || name == "/p/bin/ulnet-lctl"
				if name == "/p/bin/lctl" || name == "bin/lctl" && fields[len(fields)-1] == "/p/bin" {
					t.Errorf("make install %v replaces Lustre's lctl: %s", test.args, line)
				}
			}
		}
		if theirs != test.want || !ours || !ourLctl {
			t.Errorf("make install %v: as lnetctl: %t, want %t; as ulnet-lnetctl: %t, as ulnet-lctl: %t, want true", test.args, theirs, test.want, ours, ourLctl)
		}
	}
}
