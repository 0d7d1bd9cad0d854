//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

// topics has the state that each transcript needs at its beginning: the networks of each host
// with a daemon, further settings of the daemons, and commands to run on host A.
var topics = []struct {
	name     string
	networks map[string]string
	settings map[string]string
	before   []string
	// by line: commands to run before the command on that line, because the state would otherwise
	// differ from that of the recorded node
	first map[int][]string
}{
	{name: "02-lnet", before: []string{"ip addr add fd88::5/64 dev eth0 nodad"}},
	{name: "01-help", networks: map[string]string{"A": "lo"}},
	{
		name: "03-net", networks: map[string]string{"A": "lo"},
		first: map[int][]string{
			891:  {"lnetctl net del --net o2ib"}, // this network exists here, but not in the recording
			1020: {"lnetctl net del --net tcp1"},
		},
	},
	{
		name:     "04-peer",
		networks: map[string]string{"A": "tcp(eth0)", "B": "tcp(eth0)", "C": "tcp(eth0),tcp(eth1)", "D": "tcp(eth0)"},
		settings: map[string]string{"D": "lnet_peer_discovery_disabled: 1"},
	},
	{
		name:     "05-route-routing",
		networks: map[string]string{"A": "tcp(eth0)", "B": "tcp1(eth1)", "C": "tcp(eth0),tcp1(eth1)"},
	},
	{
		name: "06-set-global", networks: map[string]string{"A": "tcp(eth0)"},
		before: recordedGlobals,
	},
	{name: "07-stats", networks: map[string]string{"A": "lo", "B": "tcp(eth0)"}},
	{
		name:     "08-ping-discover",
		networks: map[string]string{"A": "tcp(eth0)", "B": "tcp(eth0)", "C": "tcp(eth0),tcp(eth1)", "D": "tcp(eth0)"},
		settings: map[string]string{"D": "lnet_peer_discovery_disabled: 1"},
	},
	{
		name: "09-udsp", networks: map[string]string{"A": "tcp(eth0),tcp1(eth1)", "B": "tcp(eth0),tcp1(eth1)"},
		before: recordedGlobals,
	},
	{name: "10-fault", networks: map[string]string{"A": "tcp(eth0)", "B": "tcp(eth0)"}},
	{name: "11-debug", networks: map[string]string{"A": "tcp(eth0),tcp(eth1)", "B": "tcp(eth0)", "C": "tcp(eth0),tcp(eth1)"}},
	{
		name:     "12-import-export",
		networks: map[string]string{"A": "lo", "B": "tcp(eth0)", "C": "tcp(eth0),tcp(eth1)"},
		first: map[int][]string{
			85: { // the recorded node got these settings before this command, by commands that were not recorded
				"lnetctl net add --net tcp --if eth0", "lnetctl net add --net tcp1 --if eth1",
				"lnetctl route add --net tcp2 --gateway 10.88.0.7@tcp --priority 2",
				"lnetctl udsp add --src tcp --priority 1", "lnetctl discover 10.88.0.6@tcp", "lnetctl discover 10.88.0.7@tcp",
			},
			671:  {"lnetctl lnet unconfigure", "lnetctl lnet configure"},
			703:  {"lnetctl lnet unconfigure", "lnetctl lnet configure"},
			720:  {"lnetctl lnet unconfigure", "lnetctl lnet configure"}, // the previous import failed in the recording, but not here
			1382: {"lnetctl net del --net tcp"},
		},
	},
	{
		name:     "14-router",
		networks: map[string]string{"A": "tcp(eth0)", "B": "tcp1(eth1)", "C": "tcp(eth0),tcp1(eth1)"},
		settings: map[string]string{
			"A": "check_routers_before_use: 1\nroutes: tcp1 2 10.88.0.7@tcp\n",
			"B": "check_routers_before_use: 1\nroutes: tcp 2 10.89.0.7@tcp1\n",
			"C": "routing:\n  enable: 1\n  tiny: 512\n  small: 1024\n  large: 64\n",
		},
		first: map[int][]string{
			349: {"lnetctl discover 10.88.0.5@tcp", "lnetctl discover 10.89.0.6@tcp1"}, // the pushes of these nodes had arrived at the recorded node, but may not have arrived here
			564: {"lnetctl set routing 0"},                                             // 'set routing 1' has succeeded here, unlike in the recording
			591: {"lnetctl discover --force 10.88.0.7@tcp"},                            // node A then learns at once what the next check of its gateways would find out
		},
	},
	{name: "13-misc", networks: map[string]string{"A": "tcp(eth0)", "B": "tcp(eth0)"}},
}

// recordedGlobals are the settings of the recorded node that differ from the defaults.
var recordedGlobals = []string{"lnetctl set drop_asym_route 1", "lnetctl set retry_count 4", "lnetctl set transaction_timeout 60", "lnetctl set health_sensitivity 200"}

// TestTranscripts runs commands that were recorded with the kernel's tool against lnetd. It
// compares the structure of outputs, keys, their order and layout, texts and exit codes. Each
// permitted difference is in testdata/transcripts/differences.txt with its reason.
func TestTranscripts(t *testing.T) {
	bin, err := commands.Build(t.TempDir(), "lnetd", "lnetctl")
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
			for _, host := range slices.Backward(slices.Sorted(maps.Keys(topic.networks))) { // the routers, C and D, start before A and B
				s.Start(host, topic.networks[host], topic.settings[host])
			}
			for _, command := range topic.before {
				s.prepare(transcript.Entry{Host: "A", Command: command})
			}
			short, _, _ := strings.Cut(topic.name, "-")
			for _, e := range list {
				for _, command := range topic.first[e.Line] {
					s.lnetctl(e.Host, command)
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

// build makes the hosts A to D of the recording, and 10.88.0.1, where no node listens.
func (s *stage) build() {
	lab := netlab.New(s.T)
	first, second := lab.Switch("88"), lab.Switch("89")
	lab.Cable(lab.Host("refuses"), "10.88.0.1/24", first, "")
	for i, name := range []string{"A", "B", "C", "D"} {
		h := lab.Host(name)
		lab.Cable(h, fmt.Sprintf("10.88.0.%d/24", 5+i), first, "")
		lab.Cable(h, fmt.Sprintf("10.89.0.%d/24", 5+i), second, "")
		s.Hosts[name] = h
	}
}

// play runs a command, and compares its output and exit code with the transcript.
func (s *stage) play(topic string, e transcript.Entry, known *transcript.Differences) {
	s.T.Helper()
	if e.Prepare {
		s.prepare(e)
		return
	}
	if strings.HasPrefix(e.Command, "dmesg ") || strings.HasPrefix(e.Command, "cat /sys/kernel/") {
		return // skipped, because the command looks into the kernel
	}
	var stdout, stderr string
	var code int
	if words, plain := splitWords(e.Command); plain && words[0] == "lnetctl" {
		stdout, stderr, code = s.run(e.Host, words[1:])
	} else {
		stdout, stderr, code = s.shell(e.Host, e.Command)
	}
	exit := ""
	if code != e.Code {
		exit = fmt.Sprintf("%d, want %d", code, e.Code)
	}
	for _, one := range []struct{ aspect, diff, text string }{
		{"exit", exit, stdout + stderr},
		{"stdout", compareText(stdout, e.Stdout), stdout},
		{"stderr", compareText(stderr, e.Stderr), stderr},
		{"layout", cmp.Or(compareLayout(stdout, e.Stdout), compareLayout(stderr, e.Stderr)), stdout + stderr},
	} {
		if one.diff != "" && !known.Allowed(topic, one.aspect, e.Command) {
			s.T.Errorf("line %d: %s$ %s: %s: %s\n%s", e.Line, e.Host, e.Command, one.aspect, one.diff, one.text)
		}
	}
}

// prepare runs a command of preparation on a host: lnetctl, or a command of the system.
func (s *stage) prepare(e transcript.Entry) {
	s.T.Helper()
	if s.modules(e) {
		return
	}
	if strings.HasPrefix(e.Command, "lnetctl ") {
		s.lnetctl(e.Host, e.Command)
		return
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(e.Command, "/bin/ip", "ip"))
	if err := s.Hosts[e.Host].Do(func() error {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}); err != nil {
		s.T.Fatalf("line %d: %s: %v", e.Line, e.Command, err)
	}
}

// lnetctl runs a command, and fails the test if the command fails.
func (s *stage) lnetctl(host, command string) {
	s.T.Helper()
	words, _ := splitWords(command)
	if out, errs, code := s.run(host, words[1:]); code != 0 {
		s.T.Fatalf("%s: exit code %d\n%s%s", command, code, out, errs)
	}
}

// run runs ulnet's lnetctl in this process.
func (s *stage) run(host string, args []string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(s.T.Context(), env, slices.Concat([]string{"--socket", s.Socket(host)}, args))
	return out.String(), errs.String(), code & 255
}

// shell runs a command line in a shell in which lnetctl is ulnet's.
func (s *stage) shell(host, command string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd := exec.Command("sh", "-c", fmt.Sprintf("lnetctl() { '%s/lnetctl' --socket '%s' \"$@\"; }\n%s", s.Bin, s.Socket(host), command))
	cmd.Dir = s.Dir
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // an error is ignored, since the exit code shows it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// splitWords splits a command line with double quotes into words. The result plain is false if
// the line needs a shell.
func splitWords(line string) (words []string, plain bool) {
	if strings.ContainsAny(line, "|<>';$`") || strings.Contains(line, ".yaml") { // files are those of the stage
		return nil, false
	}
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words, true
}
