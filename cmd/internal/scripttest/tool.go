package scripttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ulnet/cmd/internal/cli"
)

// A Tool is the command of the package under test. A script that runs it hundreds of times would
// spend most of its CPU time on starts of the program. Therefore the test binary itself runs as one
// more process for each script, in the script's folder, and executes there what the script's lines
// "NAME ARG..." say. The other processes of a script are real programs.
type Tool struct {
	Name string                                                    // name of the program
	Run  func(ctx context.Context, env cli.Env, args []string) int // function that main calls

	Vars []string                                                // variables of scripts, as NAME=VALUE
	Cmds map[string]func(*testscript.TestScript, bool, []string) // commands of scripts besides those of this package

	limit time.Duration // bounds the time of a command; 0: commandLimit
}

// commandLimit bounds the time of one command of the tool.
const commandLimit = 5 * time.Minute

// serverEnv is set in the environment of a test binary that executes the lines of a script.
const serverEnv = "ULNET_SCRIPT_TOOL"

// Main must be called by the function TestMain of a package that runs scripts with the tool. It returns
// the exit code for os.Exit.
func (tool Tool) Main(m *testing.M) int {
	if os.Getenv(serverEnv) != tool.Name {
		return m.Run()
	}
	if err := tool.serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// answer is what a command wrote, and its exit code.
type answer struct {
	Out, Errs []byte
	Code      int // exit code
}

// serve reads commands from in, each a list of arguments in JSON, until the end of in. It executes them, and
// writes an answer in JSON to out for each.
func (tool Tool) serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var args []string
		if err := requests.Decode(&args); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var stdout, stderr bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv}
		code := tool.Run(context.Background(), env, args)
		if err := answers.Encode(answer{stdout.Bytes(), stderr.Bytes(), code}); err != nil {
			return err
		}
	}
}

// server is the process that executes the tool's commands for one script.
type server struct {
	tool     Tool
	env      []string     // environment of the process
	cmd      *exec.Cmd    // nil: the process does not run
	stderr   bytes.Buffer // what the process itself wrote; complete once it has ended
	requests io.WriteCloser
	answers  *json.Decoder
}

// has reports whether the process executes a program's commands.
func (s *server) has(program string) bool { return program == s.tool.Name }

// begin starts the process unless it runs.
func (s *server) begin(dir string) error {
	if s.cmd != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Dir, cmd.Stderr = dir, &s.stderr
	cmd.Env = append(s.env, serverEnv+"="+s.tool.Name, "PWD="+dir, "GOGC="+os.Getenv("GOGC"), raceOptions+" halt_on_error=1")
	if s.requests, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.answers = json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	return nil
}

// run executes a command of the tool. A command that does not end is killed with its process.
func (s *server) run(ts *testscript.TestScript, args []string) answer {
	ts.Check(s.begin(ts.Getenv("WORK")))
	limit, process := cmp.Or(s.tool.limit, commandLimit), s.cmd.Process
	kill := time.AfterFunc(limit, func() { _ = process.Kill() }) // fails only if the process has ended
	var a answer
	err := json.NewEncoder(s.requests).Encode(args)
	if err == nil {
		err = s.answers.Decode(&a)
	}
	if inTime := kill.Stop(); err != nil {
		if !inTime {
			err = fmt.Errorf("did not end in %v", limit)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			_ = process.Kill() // otherwise the process would run on, with its output unread
		}
		ts.Fatalf("%s %q: %v", s.tool.Name, args, errors.Join(err, s.end()))
	}
	return a
}

// end ends the process. It fails if the process has failed, such as by a data race after its last
// answer, or has written to its own standard error, which scripts do not see.
func (s *server) end() error {
	if s.cmd == nil {
		return nil
	}
	_ = s.requests.Close() // fails only if the process has ended
	process := s.cmd.Process
	kill := time.AfterFunc(cmp.Or(s.tool.limit, commandLimit), func() { _ = process.Kill() }) // fails only if the process has ended
	defer kill.Stop()
	err, state := s.cmd.Wait(), s.cmd.ProcessState
	s.cmd = nil
	if err == nil && s.stderr.Len() == 0 {
		return nil
	}
	return fmt.Errorf("the process of %s: %v; on its own standard error:\n%s", s.tool.Name, state, &s.stderr)
}

// cmdTool executes a line that begins with the tool's name.
func cmdTool(ts *testscript.TestScript, neg bool, args []string) {
	a := all(ts).server.run(ts, args)
	_, _ = ts.Stdout().Write(a.Out) // cannot fail: a buffer in memory
	_, _ = ts.Stderr().Write(a.Errs)
	if failed := a.Code != 0; failed != neg {
		ts.Fatalf("exit code %d", a.Code)
	}
}
