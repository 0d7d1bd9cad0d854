package admin

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func runJob(t *testing.T, ctx context.Context, script string, change func(*job)) Ran {
	t.Helper()
	j := job{action: Action{Run: []string{"/bin/sh", "-c", script}, Timeout: time.Minute}, output: 1000, root: "1.2.3.4@tcp"}
	if change != nil {
		change(&j)
	}
	r, err := j.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAction: an action gets its text, its file and the NID of the root, but no variables of the
// daemon's environment. Its exit code or signal, and the end of its output, are reported.
func TestAction(t *testing.T) {
	t.Setenv("SECRET", "of the daemon")
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("bulk"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runJob(t, t.Context(), `pwd; cat; cat "$SCOLL_FILE"; echo; echo $SCOLL_ROOT >&2; echo "-$SECRET-"; exit 3`, func(j *job) {
		j.text, j.file = []byte("text\n"), file
	})
	if want := "/\ntext\nbulk\n1.2.3.4@tcp\n--\n"; string(r.Output) != want || r.Exit != 3 || r.Cut || r.TimeOver {
		t.Errorf("%+v %q, want %q", r, r.Output, want)
	}
	if r := runJob(t, t.Context(), "kill -TERM $$", nil); r.Exit != -15 {
		t.Errorf("%+v", r)
	}
	r = runJob(t, t.Context(), "seq 1 1000", func(j *job) { j.output = 10 })
	if string(r.Output) != "\n999\n1000\n" || !r.Cut {
		t.Errorf("%+v %q", r, r.Output)
	}
	j := job{action: Action{Run: []string{"/nowhere/program"}, Timeout: time.Minute}}
	if _, err := j.run(t.Context()); err == nil {
		t.Error("a program that is not there runs")
	}
}

// awaitEnd waits until a process that was killed is gone, or a zombie.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(60 * time.Second); ; {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || !strings.Contains(string(stat), "(sleep)") || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %s is left: %s", pid, stat)
		}
	}
}

// TestActionEnds: no process of an action's group remains, whether its program ends, its time is
// over, or the daemon ends. A process that has left the group does not delay the end.
func TestActionEnds(t *testing.T) {
	sleeper := "sleep 1000 & echo $!; "
	for _, test := range []struct {
		name, script string
		daemonEnds   bool
		exit         int32
		timeOver     bool
	}{
		{"the program ends", sleeper, false, 0, false},
		{"time over", sleeper + "wait", false, -9, true},
		{"the daemon ends", sleeper + "wait", true, -9, false},
		{"it ignores signals", "trap '' TERM INT; " + sleeper + "wait", false, -9, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Ran
			for after := 100 * time.Millisecond; len(r.Output) == 0 && after < time.Minute; after *= 3 { // on a busy machine a run may end before the shell has printed the process ID; then the test runs it again, with more time
				ctx, cancel := context.WithCancel(t.Context())
				if test.daemonEnds {
					time.AfterFunc(after, cancel)
				}
				began := time.Now()
				r = runJob(t, ctx, test.script, func(j *job) {
					if test.timeOver {
						j.limit = after
					}
				})
				cancel()
				if r.Exit != test.exit || r.TimeOver != test.timeOver {
					t.Errorf("%+v", r)
				}
				if took := time.Since(began); took > after+30*time.Second {
					t.Errorf("took %v", took)
				}
			}
			pid := strings.TrimSpace(string(r.Output))
			if pid == "" {
				t.Fatal("the shell did not print the process")
			}
			awaitEnd(t, pid)
		})
	}
	t.Run("who left the group", func(t *testing.T) {
		began := time.Now()
		r := runJob(t, t.Context(), "setsid sleep 60 & echo $!", nil)
		took := time.Since(began)
		pid, err := strconv.Atoi(strings.TrimSpace(string(r.Output)))
		if took > 30*time.Second || err != nil {
			t.Fatalf("took %v, %q", took, r.Output)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that the process was killed with the group, before setsid had taken it out of the group
	})
}
