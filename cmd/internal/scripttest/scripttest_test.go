package scripttest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/effort"
)

// exitAtEnd is the exit code with which the process of the tool probe ends; the command exit-at-end sets it.
var exitAtEnd int

var probe = Tool{Name: "probe", Run: runProbe}

// TestMain does more than call Main of a tool: it can end the process with another exit code than
// the one that Main returns.
func TestMain(m *testing.M) {
	code := probe.Main(m)
	os.Exit(max(code, exitAtEnd))
}

// runProbe does what the scripts below need: commands that do not end, and processes that fail.
func runProbe(_ context.Context, env cli.Env, args []string) int {
	switch args[0] {
	case "say":
		fmt.Fprintln(env.Stdout, "said")
	case "exit":
		fmt.Fprintln(os.Stderr, "exits at once")
		os.Exit(3)
	case "exit-at-end":
		exitAtEnd = 3
	case "stderr":
		fmt.Fprintln(os.Stderr, "past the environment")
	case "noise": // writes an answer that cannot be read, and does not end
		fmt.Println("noise")
		<-time.After(time.Hour)
	case "hang":
		<-time.After(time.Hour) // killed long before; without a timer, Go would end the process as a deadlock
	case "race":
		race()
	}
	return 0
}

// race writes a variable in two goroutines at once.
func race() {
	n, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		n = 1
	}()
	n = 2
	<-done
	runtime.KeepAlive(n)
}

// recorder is a test that notes whether a script fails, and what is printed then.
type recorder struct {
	*testing.T
	log    bytes.Buffer
	failed bool
}

func (r *recorder) Parallel()       {}
func (r *recorder) Verbose() bool   { return false }
func (r *recorder) Log(args ...any) { fmt.Fprintln(&r.log, args...) }

func (r *recorder) Fatal(args ...any) {
	r.Log(args...)
	r.FailNow()
}

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

func (r *recorder) Run(_ string, f func(testscript.T)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(r)
	}()
	<-ended
}

// play runs a script with a tool.
func play(t *testing.T, tool Tool, script string) *recorder {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{T: t}
	testscript.RunT(r, tool.params(t.TempDir(), []string{path}))
	return r
}

// TestProcessOfTheTool: a script fails if the process that executes the tool's commands fails, also
// after the last command, and if it writes to its own standard error, which commands do not use.
func TestProcessOfTheTool(t *testing.T) {
	quick := probe
	quick.limit = time.Millisecond
	for _, c := range []struct {
		tool         Tool
		script, want string // want: "" if the script passes
	}{
		{probe, "probe say\nstdout said\ncode 0 probe say\nuntil said probe say\n", ""},
		{probe, "exists script\n-- script --\n", ""}, // no line runs the tool, so its process is not started
		{probe, "probe exit\n", "exits at once"},
		{probe, "probe exit-at-end\nprobe say\n", "the process of probe: exit status 3"},
		{probe, "probe stderr\n", "past the environment"},
		{probe, "probe noise\n", "the process of probe: signal: killed"},
		{quick, "probe hang\n", `probe ["hang"]: did not end in 1ms`},
	} {
		r := play(t, c.tool, c.script)
		if r.failed != (c.want != "") || !strings.Contains(r.log.String(), c.want) {
			t.Errorf("%q: failed: %v, want %q\n%s", c.script, r.failed, c.want, &r.log)
		}
	}
}

// TestScriptsAreChecked: a script is refused if it sets the folder, environment or standard input for a
// command of the tool, because the tool's process does not get that setting.
func TestScriptsAreChecked(t *testing.T) {
	const environment = "the env above has no effect on probe, which runs in one process all the time: write exec probe"
	for _, c := range []struct{ script, want string }{
		{"# env, stdin and cd\nprobe a\nexec probe b\n", ""},
		{"env\nprobe a\n", ""}, // env without arguments only prints the environment
		{"probe a\nenv X=1\nexec probe b\n! exec probe c\nother d\n", ""},
		{"stdin file\nstart other\nexec probe b\nprobe c\n", ""},
		{"exec probe cd\nuntil cd probe cd\n", ""},
		{"exec probe\n-- file --\ncd x\n", ""},
		{"mkdir x\n[unix] cd x\n", "s.txt:2: cd has no effect on probe"},
		{"env X=1\nexec other\nprobe a\n", "s.txt:3: " + environment},
		{"[unix] env X=1\n[unix] ! probe a\n", "s.txt:2: " + environment},
		{"env X=1\ncode 2 probe a\n", "s.txt:2: " + environment},
		{"env X=1\nuntil 'a ''b'' c' probe a\n", "s.txt:2: " + environment},
		{"env X=1\nuntil a|b probe a\n", "s.txt:2: " + environment},
		{"stdin file\nprobe a\n", "s.txt:2: the stdin above has no effect on probe"},
	} {
		got := ""
		if err := probe.check("s.txt", c.script); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q: %q, want %q", c.script, got, c.want)
		}
	}
	if err := (Tool{}).check("s.txt", "cd x\nenv X=1\nprobe a\n"); err != nil {
		t.Error("without a tool:", err)
	}
}

// TestRaceInTheTool: under the race detector a script fails if the tool has a data race, and the
// report is shown.
func TestRaceInTheTool(t *testing.T) {
	if !effort.Race {
		t.Skip("needs the race detector")
	}
	r := play(t, probe, "probe race\nprobe say\n")
	if !r.failed || !strings.Contains(r.log.String(), "scripttest.race") {
		t.Errorf("failed: %v\n%s", r.failed, &r.log)
	}
}
