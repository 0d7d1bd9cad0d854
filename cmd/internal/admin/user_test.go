package admin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/program"
)

// TestUser: an action with a user runs as that user, with only that user's groups and without
// the daemon's environment. The action can read its file with bulk data, although the user
// cannot enter the file's folder.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run actions as other users")
	}
	t.Setenv("SECRET", "of the daemon")
	t.Setenv("PATH", "/root/bin:/bin")
	unprivileged, err := program.LookupUser("65534")
	if err != nil || unprivileged.Name != "nobody" {
		t.Skipf("no user 65534 here: %v", err)
	}
	file := filepath.Join(t.TempDir(), "f") // the user may not enter the folder of this file
	if err := os.WriteFile(file, []byte("bulk"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runJob(t, t.Context(), `id -u; id -G; grep ^CapEff /proc/self/status | tr -d '\t'; cat "$SCOLL_FILE"; echo; env | sort; cat `+file, func(j *job) {
		j.action.User, j.file = unprivileged, file
	})
	got := string(r.Output)
	for _, want := range []string{
		"65534\n65534\nCapEff:0000000000000000\nbulk\n", "\nHOME=" + unprivileged.Home + "\n", "\nPATH=" + program.UserPath + "\n", "\nUSER=nobody\n", "ermission denied",
	} {
		if !strings.Contains("\n"+got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "SECRET") || strings.Contains(got, "/root/bin") {
		t.Errorf("the daemon's environment: %q", got)
	}
	if _, err := program.LookupUser("no such user"); err == nil {
		t.Error("a user that is not there is found")
	}
}
