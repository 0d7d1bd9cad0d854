package installtest

import (
	"debug/buildinfo"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
)

// TestNotices: the notices of a program have the license of Go and of each module in it. For a file that
// is not a program there are no notices.
func TestNotices(t *testing.T) {
	t.Parallel()
	bin, err := commands.Build(t.TempDir(), "lnetctl")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, "lnetctl")
	info, err := buildinfo.ReadFile(program)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("modules of lnetctl: %v, %v", info, err)
	}
	script := filepath.Join(root, "contrib", "package", "notices")
	text := run(t, exec.CommandContext(t.Context(), script, program))
	want := []string{"Go: LICENSE\n"}
	for _, m := range info.Deps {
		want = append(want, m.Path+" "+m.Version+": ")
	}
	for _, title := range want {
		if !strings.Contains(text, "\n"+title) {
			t.Errorf("there is no entry %q", title)
		}
	}
	if out, err := exec.CommandContext(t.Context(), script, "/bin/sh").Output(); err == nil || len(out) > 0 {
		t.Errorf("of /bin/sh: %v\n%s", err, out)
	}
}
