//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// topics has for each transcript the hosts that need a daemon. It also has the commands to run
// before a line of the transcript at which the state would otherwise differ from the recorded one.
var topics = []struct {
	name  string
	hosts []string
	first map[int][]string // commands to run before a line
	ended map[int]string   // by line: a batch whose tests, which have a loop count, have ended before that line
}{
	{
		name: "00-sessions", hosts: []string{"A", "B"},
		first: map[int][]string{
			// Lustre's tool of version 2.17 ends the session if another one cannot be made.
			49:  {"lst end_session"},
			109: {"lst end_session"},
		},
	},
	{name: "01-console", hosts: []string{"A", "B"}, ended: map[int]string{323: "b1"}},
	{name: "02-two-consoles", hosts: []string{"A", "B"}},
	{name: "03-dead-node", hosts: []string{"A"}},
}

// settings are those of all daemons. After a connection to the dead node has failed, no other one is tried during the topic:
// then its state is Unknown, as in the recording. On a busy machine, the second that is the default is too short for that.
const settings = "selftest: 1\nmin_reconnectms: 60000\n"

// TestTranscripts runs commands that were recorded with Lustre's tool against lnetd. Outputs and
// exit codes are equal, except for what depends on the run. Each permitted difference is in
// testdata/transcripts/differences.txt with its reason.
func TestTranscripts(t *testing.T) {
	spec.Covers(t, "ST-40", "ST-43")
	bin, err := commands.Build(t.TempDir(), "lnetd")
	if err != nil {
		t.Fatal(err)
	}
	known, err := transcript.ReadDifferences("testdata/transcripts/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range effort.Some(3, topics) {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			list, err := transcript.Read(filepath.Join("testdata", "transcripts", topic.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			s := &stage{transcript.NewStage(t, bin)}
			s.build()
			for _, host := range topic.hosts {
				s.Start(host, "tcp(eth0)", settings)
			}
			short, _, _ := strings.Cut(topic.name, "-")
			for _, e := range list {
				for _, command := range topic.first[e.Line] {
					if out, errs, code := s.run(e.Host, command); code != 0 {
						t.Fatalf("%s: exit code %d\n%s%s", command, code, out, errs)
					}
				}
				if batch := topic.ended[e.Line]; batch != "" {
					s.await(e.Host, batch)
				}
				s.play(short, e, known)
			}
			for _, one := range known.NotNeeded(short) {
				t.Errorf("differences.txt: %s is not different any more", one)
			}
		})
	}
}

// stage plays a topic.
type stage struct{ *transcript.Stage }

// build makes the hosts A and B of the recording.
func (s *stage) build() {
	lab := netlab.New(s.T)
	net := lab.Switch("88")
	for i, name := range []string{"A", "B"} {
		s.Hosts[name] = lab.Host(name)
		lab.Cable(s.Hosts[name], fmt.Sprintf("10.88.0.%d/24", 2+i), net, "")
	}
}

// play runs a command, and compares its output and exit code with the transcript.
func (s *stage) play(topic string, e transcript.Entry, known *transcript.Differences) {
	s.T.Helper()
	stdout, stderr, code := s.run(e.Host, e.Command)
	for _, one := range []struct{ aspect, got, want string }{
		{"exit", fmt.Sprint(code), fmt.Sprint(e.Code)},
		{"stdout", volatile(stdout), volatile(e.Stdout)},
		{"stderr", volatile(stderr), volatile(e.Stderr)},
	} {
		if one.got != one.want && !known.Allowed(topic, one.aspect, e.Command) {
			s.T.Errorf("line %d: %s$ %s: %s:\n%s\nwant\n%s", e.Line, e.Host, e.Command, one.aspect, one.got, one.want)
		}
	}
}

// changing are the parts of outputs that depend on the run: the stamps of sessions, rates, and
// how many RPCs have failed.
var changing = []struct {
	pattern *regexp.Regexp
	in      string
}{
	{regexp.MustCompile(`\bID: [0-9]+@`), "ID: STAMP@"},
	{regexp.MustCompile(`\b(Avg|Min|Max): [0-9]+ +`), "$1: N "},
	{regexp.MustCompile(`\b(Avg|Min|Max): [0-9]+\.[0-9]{2} +`), "$1: N.NN "},
	{regexp.MustCompile(`\bRPC: [1-9][0-9]* errors`), "RPC: N errors"},
}

// volatile replaces the parts of an output that depend on the run.
func volatile(text string) string {
	for _, one := range changing {
		text = one.pattern.ReplaceAllString(text, one.in)
	}
	return text
}

// run runs a command line of assignments and commands of lst in this process.
func (s *stage) run(host, line string) (stdout, stderr string, code int) {
	s.T.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{}
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return vars[name] }}
	for part := range strings.SplitSeq(line, "; ") {
		words := strings.Fields(part)
		switch words[0] {
		case "export":
			name, value, _ := strings.Cut(words[1], "=")
			vars[name] = value
		case "lst":
			args := words[1:]
			if len(args) > 0 && args[0] != "--help" && args[0] != "help" {
				args = slices.Concat([]string{"--socket", s.Socket(host)}, args)
			}
			code = run(s.T.Context(), env, args)
		default:
			s.T.Fatalf("no command for this test: %s", part)
		}
	}
	return out.String(), errs.String(), code & 255
}

// await waits until no test of a batch is running.
func (s *stage) await(host, batch string) {
	s.T.Helper()
	for limit := time.Now().Add(90 * time.Second); ; {
		out, errs, _ := s.run(host, "export LST_SESSION=100; lst query --json "+batch)
		var d queryDoc
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			s.T.Fatalf("%v\n%s%s", err, out, errs)
		}
		if d.Running == 0 {
			return
		}
		if time.Now().After(limit) {
			s.T.Fatalf("batch %s does not end\n%s", batch, out)
		}
	}
}
