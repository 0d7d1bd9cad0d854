package program_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/cmd/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, ctx context.Context, r program.Run, script string) program.Result {
	t.Helper()
	r.Args, r.Output = []string{"/bin/sh", "-c", script}, 1000
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	result, err := r.Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestGrace: all processes of the group get SIGTERM, and those that are left after the grace period
// are killed.
func TestGrace(t *testing.T) {
	for _, test := range []struct {
		name   string
		grace  time.Duration
		script string // the script writes to descriptor 3 when the test may end it
		exit   int32
		output string
	}{
		{"it cleans up", time.Minute, "trap 'echo bye; exit 7' TERM; echo >&3; sleep 1000 & wait", 7, "bye\n"},
		{"it does not catch it", time.Minute, "echo >&3; sleep 1000; echo not reached", -15, ""},
		{"it ignores it", 10 * time.Millisecond, "trap '' TERM; echo >&3; while :; do sleep 0.01; done", -9, ""},
		{"no grace", 0, "trap 'echo bye; exit 7' TERM; echo >&3; sleep 1000 & wait", -9, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, says, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer begun.Close()
			defer says.Close()
			var reader sync.WaitGroup
			defer reader.Wait()
			reader.Go(func() {
				_, _ = begun.Read(make([]byte, 1))
				cancel()
			})
			began := time.Now()
			got := run(t, ctx, program.Run{Grace: test.grace, Files: []*os.File{says}}, test.script)
			if got.Exit != test.exit || got.TimeOver || string(got.Output) != test.output {
				t.Errorf("%+v %q, want exit %d and %q", got, got.Output, test.exit, test.output)
			}
			if took := time.Since(began); took > 60*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestTimeOver: after its timeout a program is ended in the same way as when the context ends,
// and the result says that the timeout was the reason.
func TestTimeOver(t *testing.T) {
	got := run(t, t.Context(), program.Run{Timeout: 50 * time.Millisecond, Grace: time.Minute}, "sleep 1000")
	if got.Exit != -15 || !got.TimeOver {
		t.Errorf("%+v", got)
	}
}

// TestLeftBehind: processes that a program leaves in its group are killed when it ends.
func TestLeftBehind(t *testing.T) {
	got := run(t, t.Context(), program.Run{Grace: time.Minute}, "trap '' TERM; sleep 1000 & echo $!")
	pid := strings.TrimSpace(string(got.Output))
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

// TestSurroundings checks what a program's environment contains, and which part of its output is kept.
func TestSurroundings(t *testing.T) {
	t.Setenv("SECRET", "of the daemon")
	got := run(t, t.Context(), program.Run{Input: []byte("in\n"), Env: []string{"A=b"}}, `pwd; cat; echo "$A-$SECRET-"; echo err >&2; exit 3`)
	if want := "/\nin\nb--\nerr\n"; string(got.Output) != want || got.Exit != 3 || got.Cut || got.TimeOver {
		t.Errorf("%+v %q, want %q", got, got.Output, want)
	}
	// If the program does not read its input, nothing blocks.
	got = run(t, t.Context(), program.Run{Input: make([]byte, 1<<20)}, "seq 1 1000")
	if !got.Cut || len(got.Output) != 1000 || !strings.HasSuffix(string(got.Output), "\n999\n1000\n") || got.Exit != 0 {
		t.Errorf("%+v", got)
	}
	r := program.Run{Args: []string{"/nowhere/program"}, Timeout: time.Minute}
	if _, err := r.Do(t.Context()); err == nil {
		t.Error("a program that is not there runs")
	}
}
