//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/netlab"
)

// topics has the state that each transcript needs at its beginning: the networks of each host
// with a daemon, further settings of the daemons, and commands to run on host A.
var topics = []struct {
	name     string
	networks map[string]string
	settings map[string]string
	before   []string
	// by line: commands to run before the command on that line, if the state differs from the
	// recorded node's from there on
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
			85: { // the recorded node got these settings before this command, but not in the recording
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
			349: {"lnetctl discover 10.88.0.5@tcp", "lnetctl discover 10.89.0.6@tcp1"}, // the pushes of these nodes may not have arrived yet
			564: {"lnetctl set routing 0"},                                             // 'set routing 1' has succeeded here, unlike in the recording
			591: {"lnetctl discover --force 10.88.0.7@tcp"},                            // this node then learns at once what the next check of routers would find out
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
	known, err := readDifferences("testdata/transcripts/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			list, err := readTranscript(topic.name)
			if err != nil {
				t.Fatal(err)
			}
			s := &stage{t: t, bin: bin, dir: t.TempDir(), hosts: map[string]*netlab.Host{}, daemons: map[string]*daemon{}}
			s.build()
			for _, host := range slices.Backward(slices.Sorted(maps.Keys(topic.networks))) { // the routers, C and D, start before A and B
				s.start(host, topic.networks[host], topic.settings[host])
			}
			for _, command := range topic.before {
				s.prepare(entry{host: "A", command: command})
			}
			short, _, _ := strings.Cut(topic.name, "-")
			for _, e := range list {
				for _, command := range topic.first[e.line] {
					s.lnetctl(e.host, command)
				}
				s.play(short, e, known)
			}
			for _, one := range known.notNeeded(short) {
				t.Errorf("differences.txt: %s is not different any more", one)
			}
		})
	}
}

// stage has the hosts of a topic, with their daemons.
type stage struct {
	t     *testing.T
	bin   string
	dir   string
	hosts map[string]*netlab.Host

	daemons map[string]*daemon // by host: the daemons that run
}

// build makes the hosts A to D of the recording, and 10.88.0.1, where no node listens.
func (s *stage) build() {
	lab := netlab.New(s.t)
	first, second := lab.Switch("88"), lab.Switch("89")
	lab.Cable(lab.Host("refuses"), "10.88.0.1/24", first, "")
	for i, name := range []string{"A", "B", "C", "D"} {
		h := lab.Host(name)
		lab.Cable(h, fmt.Sprintf("10.88.0.%d/24", 5+i), first, "")
		lab.Cable(h, fmt.Sprintf("10.89.0.%d/24", 5+i), second, "")
		s.hosts[name] = h
	}
}

func (s *stage) socket(host string) string { return filepath.Join(s.dir, host+".sock") }

// daemon is an lnetd that was started.
type daemon struct {
	*netlab.Process
	ended chan struct{} // closed when it has ended
}

// start starts the daemon of a host with networks and further settings, and waits until it answers.
func (s *stage) start(host, networks, settings string) {
	s.t.Helper()
	file := filepath.Join(s.dir, host+".yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.launch(host, "--config", file, "--networks", networks)
	if !s.answers(host) {
		s.t.Fatalf("lnetd of %s has ended\n%s", host, s.log(host))
	}
}

// launch starts the daemon of a host.
func (s *stage) launch(host string, args ...string) {
	s.t.Helper()
	at := filepath.Join(s.dir, host)
	log, err := os.OpenFile(at+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(s.bin, "lnetd"), slices.Concat([]string{"--socket", s.socket(host), "--state-dir", at + ".state", "--runtime-dir", at + ".run"}, args)...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = log
	d := &daemon{s.hosts[host].Start(cmd), make(chan struct{})}
	s.daemons[host] = d
	go func() {
		defer close(d.ended)
		_ = d.Wait() // how it ends is in its log
	}()
}

// play runs a command, and compares its output and exit code with the transcript.
func (s *stage) play(topic string, e entry, known *differences) {
	s.t.Helper()
	if e.prepare {
		s.prepare(e)
		return
	}
	if strings.HasPrefix(e.command, "dmesg ") || strings.HasPrefix(e.command, "cat /sys/kernel/") {
		return // skipped, because the command looks into the kernel
	}
	var stdout, stderr string
	var code int
	if words, plain := splitWords(e.command); plain && words[0] == "lnetctl" {
		stdout, stderr, code = s.run(e.host, words[1:])
	} else {
		stdout, stderr, code = s.shell(e.host, e.command)
	}
	exit := ""
	if code != e.code {
		exit = fmt.Sprintf("%d, want %d", code, e.code)
	}
	for _, one := range []struct{ aspect, diff, text string }{
		{"exit", exit, stdout + stderr},
		{"stdout", compareText(stdout, e.stdout), stdout},
		{"stderr", compareText(stderr, e.stderr), stderr},
		{"layout", cmp.Or(compareLayout(stdout, e.stdout), compareLayout(stderr, e.stderr)), stdout + stderr},
	} {
		if one.diff != "" && !known.allowed(topic, one.aspect, e.command) {
			s.t.Errorf("line %d: %s$ %s: %s: %s\n%s", e.line, e.host, e.command, one.aspect, one.diff, one.text)
		}
	}
}

// prepare runs a command of preparation on a host, which is lnetctl or a command of the system.
func (s *stage) prepare(e entry) {
	s.t.Helper()
	if s.modules(e) {
		return
	}
	if strings.HasPrefix(e.command, "lnetctl ") {
		s.lnetctl(e.host, e.command)
		return
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(e.command, "/bin/ip", "ip"))
	if err := s.hosts[e.host].Do(func() error {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}); err != nil {
		s.t.Fatalf("line %d: %s: %v", e.line, e.command, err)
	}
}

// lnetctl runs a command, and fails the test if the command fails.
func (s *stage) lnetctl(host, command string) {
	s.t.Helper()
	words, _ := splitWords(command)
	if out, errs, code := s.run(host, words[1:]); code != 0 {
		s.t.Fatalf("%s: exit code %d\n%s%s", command, code, out, errs)
	}
}

// run runs ulnet's lnetctl in this process.
func (s *stage) run(host string, args []string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(s.t.Context(), env, slices.Concat([]string{"--socket", s.socket(host)}, args))
	return out.String(), errs.String(), code & 255
}

// shell runs a command line in a shell in which lnetctl is ulnet's.
func (s *stage) shell(host, command string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd := exec.Command("sh", "-c", fmt.Sprintf("lnetctl() { '%s/lnetctl' --socket '%s' \"$@\"; }\n%s", s.bin, s.socket(host), command))
	cmd.Dir = s.dir
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
