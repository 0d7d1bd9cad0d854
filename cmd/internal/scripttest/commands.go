package scripttest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// The command until waits between two runs of its program: first for untilInterval, in the end for
// longUntilInterval, because starting a program takes as much CPU time as a daemon uses in a second.
const untilInterval, longUntilInterval = 50 * time.Millisecond, 400 * time.Millisecond

func cmdNode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: node NAME ADDR [FLAG...]")
	}
	name, addr := args[0], args[1]
	command := append([]string{
		"lnetd",
		"--networks", "tcp(" + addr + ")", "--accept-port", ts.Getenv("PORT"), "--socket", ts.MkAbs(name),
		"--state-dir", ts.MkAbs(name + ".state"), "--runtime-dir", ts.MkAbs(name + ".run"),
	}, args[2:]...)
	all(ts).begin(ts, name, false, command)
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	onStderr := true
	if len(args) > 0 && args[0] == "-out" {
		onStderr, args = false, args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start [-out] NAME PROGRAM [ARG...]")
	}
	all(ts).begin(ts, args[0], onStderr, args[1:])
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}
	if neg || len(args) != 2 || signals[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME TERM|INT|KILL|HUP")
	}
	ts.Check(all(ts).find(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await NAME [CODE]")
	}
	want := 0
	if len(args) == 2 {
		want = number(ts, args[1])
	}
	name := args[0]
	c := all(ts).find(ts, name)
	select {
	case <-c.done:
	case <-time.After(waitLimit):
		ts.Fatalf("%s does not end", name)
	}
	if code := c.state.ExitCode(); code != want {
		ts.Fatalf("%s ended with %v, want exit code %d\n%s%s", name, c.state, want, ts.ReadFile(name+".out"), ts.ReadFile(name+".err"))
	}
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code CODE PROGRAM [ARG...]")
	}
	want := number(ts, args[0])
	if s := &all(ts).server; s.has(args[1]) {
		a := s.run(ts, args[2:])
		ts.Check(os.WriteFile(ts.MkAbs("code.out"), a.Out, 0o600))
		ts.Check(os.WriteFile(ts.MkAbs("code.err"), a.Errs, 0o600))
		checkCode(ts, args[1:], a.Code, want)
		return
	}
	cmd := command(ts, args[1:])
	runAndCheck(ts, cmd, cmd.Run, want)
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM [ARG...]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.After(waitLimit)
	for interval := untilInterval; ; interval = min(interval*3/2, longUntilInterval) {
		a := ask(ts, args[1:])
		if pattern.Match(a.Out) {
			return
		}
		select {
		case <-time.After(interval):
		case <-deadline:
			ts.Fatalf("%v never says %q: exit code %d\n%s%s", args[1:], args[0], a.Code, a.Out, a.Errs)
		}
	}
}

// ask runs a program, or a command of the tool, and returns its answer.
func ask(ts *testscript.TestScript, args []string) answer {
	if s := &all(ts).server; s.has(args[0]) {
		return s.run(ts, args[1:])
	}
	var out, errs bytes.Buffer
	cmd := command(ts, args)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		ts.Fatalf("%v: %v", args, err)
	}
	return answer{out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()}
}

func cmdUnprivileged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: [!] unprivileged PROGRAM [ARG...]")
	}
	want := 0
	if neg {
		want = 1
	}
	cmd := command(ts, args)
	runAndCheck(ts, cmd, func() error {
		ended := make(chan error)
		go func() {
			runtime.LockOSThread() // not unlocked, so the thread, which has lost the capability, ends with the goroutine
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_NET_BIND_SERVICE, 0, 0, 0); err != nil {
				ended <- err
				return
			}
			ended <- cmd.Run()
		}()
		return <-ended
	}, want)
}

// runAndCheck runs a prepared command and fails the script if the exit code is not want.
func runAndCheck(ts *testscript.TestScript, cmd *exec.Cmd, run func() error, want int) {
	out, err := os.Create(ts.MkAbs("code.out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs("code.err"))
	ts.Check(err)
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = out, errs
	err = run()
	if cmd.ProcessState == nil {
		ts.Fatalf("%v: %v", cmd.Args, err)
	}
	checkCode(ts, cmd.Args, cmd.ProcessState.ExitCode(), want)
}

// checkCode fails the script if an exit code is not want.
func checkCode(ts *testscript.TestScript, args []string, code, want int) {
	if code != want {
		ts.Fatalf("%v: exit code %d, want %d\n%s%s", args, code, want, ts.ReadFile("code.out"), ts.ReadFile("code.err"))
	}
}

func cmdBigFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bigfile NAME SIZE")
	}
	content := make([]byte, number(ts, args[1]))
	random := rand.NewChaCha8([32]byte([]byte("the same bytes in every test run")))
	_, _ = random.Read(content) // never fails
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o600))
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
