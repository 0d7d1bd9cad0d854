package scripttest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// waitLimit bounds the waits of scripts.
const waitLimit = 90 * time.Second

// raceOptions is a variable of the environment that keeps programs with the
// race detector from sleeping for a second at their end.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// processes are the programs that a script has started.
type processes struct {
	byName map[string]*process
	server server
}

type processesKey struct{}

func all(ts *testscript.TestScript) *processes {
	return ts.Value(processesKey{}).(*processes)
}

// process is a program in the background.
type process struct {
	cmd   *exec.Cmd
	done  chan struct{}    // closed when the program has ended
	state *os.ProcessState // how the program ended; valid once done is closed
}

func (p *processes) find(ts *testscript.TestScript, name string) *process {
	c := p.byName[name]
	if c == nil {
		ts.Fatalf("there is no %s", name)
	}
	return c
}

// killAll ends all programs. The script fails if the one that executes the tool's commands fails.
func (p *processes) killAll(t testscript.T) {
	failed := p.server.end()
	for _, c := range p.byName {
		_ = c.cmd.Process.Kill() // fails only if the program has ended
		<-c.done
	}
	if failed != nil {
		t.Fatal(failed)
	}
}

// command prepares a program that is looked up in the script's PATH.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(lookPath(ts, args[0]), args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "HOME="+ts.Getenv("WORK"), raceOptions)
	return cmd
}

func lookPath(ts *testscript.TestScript, program string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	ts.Fatalf("no such program: %s", program)
	return ""
}

// begin starts a program and waits for its first line, on standard error or standard output.
// That line means that the program is ready.
func (p *processes) begin(ts *testscript.TestScript, name string, onStderr bool, args []string) {
	if p.byName[name] != nil {
		ts.Fatalf("there is a %s already", name)
	}
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	errs, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	pipe, w, err := os.Pipe()
	ts.Check(err)
	cmd := command(ts, args)
	said := out
	cmd.Stdout, cmd.Stderr = w, errs
	if onStderr {
		said = errs
		cmd.Stdout, cmd.Stderr = out, w
	}
	ts.Check(cmd.Start())
	_ = w.Close()
	c := &process{cmd: cmd, done: make(chan struct{})}
	p.byName[name] = c
	ready := make(chan error, 1)
	go c.watch(pipe, said, ready, func() { _, _ = out.Close(), errs.Close() })
	select {
	case err := <-ready:
		if err != nil {
			<-c.done
			ts.Fatalf("%s ended at once: %v\n%s%s", name, c.state, ts.ReadFile(name+".out"), ts.ReadFile(name+".err"))
		}
	case <-time.After(waitLimit):
		ts.Fatalf("%s is not ready", name)
	}
}

// watch copies the output of the process to a file, reports its first line, and waits for
// its end.
func (c *process) watch(pipe, file *os.File, ready chan<- error, closeFiles func()) {
	defer close(c.done)
	r := bufio.NewReader(pipe)
	line, err := r.ReadString('\n')
	_, _ = file.WriteString(line)
	ready <- err
	_, _ = io.Copy(file, r)
	_ = c.cmd.Wait() // an error is ignored: the exit code is in cmd.ProcessState
	c.state = c.cmd.ProcessState
	_ = pipe.Close()
	closeFiles()
}
