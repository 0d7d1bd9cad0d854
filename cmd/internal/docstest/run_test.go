//go:build linux

package docstest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/netlab"
)

// marks are the words after "sh" in the fences of blocks that no stage runs, each with the
// reason. TestBlocks checks the help of the commands in these blocks.
var marks = map[string]string{
	"in a clone":       "builds, tests or installs everything, which is what make test does around this test",
	"on a kernel node": "needs Lustre's modules of the kernel",
	"with an adapter":  "needs hardware for RDMA and its libraries",
	"as root":          "changes settings of the whole system",
	"for minutes":      "takes minutes, or more memory than build machines have",
}

// exits are the commands that, as their documents say, exit with another code than 0.
var exits = map[string]string{
	"lnetsim run --runs 100 faults.sim":   "1", // because it finds the bug of the scenario
	"lnetsim shrink --seed 10 faults.sim": "1", // because it finds the bug in a shorter scenario, too
}

// patience bounds the time of a stage.
const patience = 15 * time.Minute

// raceOptions keep programs with the race detector from sleeping when they exit.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// A run is a block of a document that the shell of a stage runs.
type run struct {
	where string // position of the block, as DOCUMENT:LINE
	want  string
	out   string // path of the file with the block's output
}

// TestRun: a shell runs the blocks of all documents, with daemons as the documents describe. The
// output is the one that the documents show.
func TestRun(t *testing.T) {
	t.Parallel()
	bin, err := commands.Build(t.TempDir(), ours...)
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t)
	for _, problem := range unclaimed(docs) {
		t.Error(problem)
	}
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.sweeps && testing.Short() {
				t.Skip("simulates for seconds; skipped by -short")
			}
			for _, name := range s.programs {
				needs.Program(t, name)
			}
			for _, problem := range s.perform(t, bin, docs) {
				t.Error(problem)
			}
		})
	}
}

// unclaimed returns the blocks that no stage runs and that have no mark with a reason.
func unclaimed(docs []document) (problems []string) {
	for _, d := range docs {
		for _, b := range d.blocks {
			n := 0
			for _, s := range stages {
				for _, p := range s.parts {
					if p.claims(d.name, b) {
						n++
					}
				}
			}
			commands := b.language == "sh" || strings.HasPrefix(b.text, "$ ")
			switch {
			case !commands || strings.HasPrefix(d.name, "docs/spec/"):
			case b.mark != "" && marks[b.mark] == "":
				problems = append(problems, fmt.Sprintf("%s:%d: no reason is known for the mark %q", d.name, b.line, b.mark))
			case b.mark == "" && n != 1:
				problems = append(problems, fmt.Sprintf("%s:%d: %d parts of stages run this block, want one, or a mark behind \"sh\"", d.name, b.line, n))
			}
		}
	}
	return problems
}

// lab reports whether TestRun can run blocks here.
var lab = sync.OnceValue(func() bool { return os.Geteuid() == 0 && netlab.Possible() == nil })

// lacks reports whether this machine has not installed a program that the stage needs.
func (s stage) lacks() bool {
	return slices.ContainsFunc(s.programs, func(name string) bool {
		_, err := needs.Find(name)
		return err != nil
	})
}

// performed reports whether TestRun runs a block.
func performed(d document, b block) bool {
	for _, s := range stages {
		if !lab() || s.sweeps && testing.Short() || s.lacks() {
			continue
		}
		for _, p := range s.parts {
			if p.claims(d.name, b) {
				return true
			}
		}
	}
	return false
}

// perform runs the blocks of a stage, and returns what is wrong with them.
func (s stage) perform(t *testing.T, bin string, docs []document) (problems []string) {
	work := t.TempDir()
	wrap(t, bin, work)
	hosts := s.start(t, bin, work)
	text, runs := s.script(t, work, docs)
	file, failed := filepath.Join(work, "script"), filepath.Join(work, "failed")
	write(t, file, text)

	cmd := exec.Command("bash", file)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(work, "bin")+":"+os.Getenv("PATH"), "WORK="+work, "FAILED="+failed, raceOptions)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	shell := hosts[0].Start(cmd)
	group := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // an error means that all processes have ended already
	defer group()
	late := time.AfterFunc(patience, group)
	defer late.Stop()
	if err := shell.Wait(); err != nil {
		problems = append(problems, fmt.Sprintf("the shell: %v\n%s", err, out.String()))
	}
	list, _ := os.ReadFile(failed) // if the file does not exist, no command has failed
	return append(problems, judge(runs, string(list))...)
}

// judge compares the exit codes and the output of commands with those in the documents.
func judge(runs []run, failed string) (problems []string) {
	wrong := map[string]string{}
	for _, line := range strings.Split(failed, "\n") {
		where, rest, ok := strings.Cut(line, "|")
		code, command, _ := strings.Cut(rest, "|")
		if ok && exits[command] != code {
			wrong[where] += fmt.Sprintf("exit code %s of %s\n", code, command)
		}
	}
	for _, r := range runs {
		got, err := os.ReadFile(r.out)
		if line := missing(r.want, string(got)); line != "" || err != nil {
			wrong[r.where] += fmt.Sprintf("no line like %q in the output\n", line)
		}
		if key := unshown(r.want, string(got)); key != "" {
			wrong[r.where] += fmt.Sprintf("the document does not show the key %q\n", key)
		}
		if wrong[r.where] != "" {
			problems = append(problems, fmt.Sprintf("%s: %s%.4000s", r.where, wrong[r.where], got))
			delete(wrong, r.where)
		}
	}
	for where, what := range wrong { // errors in the script before the first block, or between two blocks
		problems = append(problems, where+": "+what)
	}
	return problems
}

// script returns the script for the shell of a stage.
func (s stage) script(t *testing.T, work string, docs []document) (text string, runs []run) {
	instead := strings.NewReplacer(append(s.instead, "/run/lnetd", filepath.Join(work, "here/run"), "/etc/lnetd.key", filepath.Join(work, "key"))...)
	var b strings.Builder
	b.WriteString(prelude)
	fmt.Fprintf(&b, "HOSTS=%q\nhost here\nBLOCK=before\n", s.names())
	for _, p := range s.parts {
		b.WriteString(p.before + "\n")
		for _, d := range docs {
			for i, block := range d.blocks {
				if !p.claims(d.name, block) {
					continue
				}
				files(t, filepath.Join(work, "here"), block, d.blocks[:i])
				r := run{where: fmt.Sprintf("%s:%d", d.name, block.line), out: filepath.Join(work, fmt.Sprintf("out%d", len(runs)))}
				var commands string
				commands, r.want = script(block)
				r.want = instead.Replace(r.want)
				fmt.Fprintf(&b, "BLOCK=%s\nexec > %s 2>&1\n%s\n", r.where, r.out, instead.Replace(commands))
				runs = append(runs, r)
			}
		}
		b.WriteString(p.after + "\nrest\n")
	}
	return b.String(), runs
}

// TestWrongBlocks: a command that fails, output that the document does not show, and a block
// without a stage are reported.
func TestWrongBlocks(t *testing.T) {
	t.Parallel()
	bin, err := commands.Build(t.TempDir(), ours...)
	if err != nil {
		t.Fatal(err)
	}
	text := "```sh\necho NID 3 ms\n```\n```text\nNID 4 s\n```\n" + // the output is as the document shows
		"```sh\necho NIDS 3 ms\n```\n```text\nNID 4 s\n```\n```text\n$ false\n```\n" +
		"```sh\nlnetd --nosuch\n```\n```sh on the moon\ntrue\n```\n" +
		"```sh\nprintf '  a: 1\\n  b: 2\\n  c: 3\\n'\n```\n```text\n  a: 1\n  b: 2\n```\n"
	docs := []document{{name: "wrong.md", text: text, blocks: fenced(text)}}
	s := stage{hosts: []member{{name: "here", address: "10.0.0.7/24"}}, parts: []part{{document: "wrong.md"}}}
	problems := append(s.perform(t, bin, docs), unclaimed(docs)...)
	for i, want := range []string{
		"wrong.md:7: no line like \"NID 4 s\"", "wrong.md:13: exit code 1 of false", "wrong.md:16: exit code 2 of lnetd --nosuch", "wrong.md:22: the document does not show the key \"c\"",
		"wrong.md:1: 0 parts", "wrong.md:7: 0 parts", "wrong.md:13: 0 parts", "wrong.md:16: 0 parts", "wrong.md:19: no reason is known", "wrong.md:22: 0 parts",
	} {
		if i >= len(problems) || !strings.HasPrefix(problems[i], want) {
			t.Fatalf("%d: %q; want %s", i, problems, want)
		}
	}
	if len(problems) != 10 {
		t.Errorf("%q", problems)
	}
}
