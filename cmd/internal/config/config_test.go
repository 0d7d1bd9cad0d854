package config_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/drivers"
	"ulnet/lnet/udsp"
)

func TestReferenceHoldsTheDefaults(t *testing.T) {
	got, err := config.Parse("reference.yaml", []byte(config.Reference()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got, equateNIDs); diff != "" {
		t.Errorf("reference.yaml differs from the defaults (-default +reference):\n%s", diff)
	}
}

func TestReferenceNamesEveryKey(t *testing.T) {
	text := config.Reference()
	for _, key := range config.Keys() {
		if !strings.Contains(text, "\n"+key+": ") && !strings.Contains(text, "\n"+key+":\n  ") {
			t.Errorf("reference.yaml lacks %s", key)
		}
	}
	for _, key := range config.GossipKeys() {
		if !strings.Contains(text, "\n  "+key+": ") {
			t.Errorf("reference.yaml lacks %s of gossip", key)
		}
	}
	for _, key := range config.ZoneKeys() {
		if !strings.Contains(text, "\n  "+key+": ") {
			t.Errorf("reference.yaml lacks %s of zone", key)
		}
	}
	for _, key := range config.O2IBKeys() {
		if !strings.Contains(text, "\n  "+key+": ") {
			t.Errorf("reference.yaml lacks %s of o2ib", key)
		}
	}
	keys, ofAdmin := config.ScollKeys()
	for _, key := range keys {
		if !strings.Contains(text, "\n  "+key+": ") && !strings.Contains(text, "\n  "+key+":\n    ") {
			t.Errorf("reference.yaml lacks %s of scoll", key)
		}
	}
	for _, key := range ofAdmin {
		if !strings.Contains(text, "\n    "+key+": ") {
			t.Errorf("reference.yaml lacks %s of admin", key)
		}
	}
	keys, ofGroup := config.RmcastKeys()
	for _, key := range keys {
		if !strings.Contains(text, "\n  "+key+": ") {
			t.Errorf("reference.yaml lacks %s of rmcast", key)
		}
	}
	for _, key := range ofGroup {
		if !strings.Contains(text, "\n  #     "+key+": ") {
			t.Errorf("reference.yaml lacks %s of a group of rmcast", key)
		}
	}
	for _, key := range config.HandlerKeys() {
		if !strings.Contains(text, "\n#     "+key+": ") {
			t.Errorf("reference.yaml lacks %s of handlers", key)
		}
	}
	keys, ofTimes := config.HealthKeys()
	for _, key := range keys {
		if !strings.Contains(text, "\n  "+key+": ") && !strings.Contains(text, "\n  "+key+":\n    ") {
			t.Errorf("reference.yaml lacks %s of health", key)
		}
	}
	for _, key := range ofTimes {
		if !strings.Contains(text, "\n    "+key+": ") {
			t.Errorf("reference.yaml lacks %s of times", key)
		}
	}
}

// wantConfig checks that reading a file gives the defaults with the given change.
func wantConfig(t *testing.T, text string, change func(*config.Config)) {
	t.Helper()
	got, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	change(&want)
	if diff := cmp.Diff(want, got, equateNIDs, equateIDs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// wantRefused checks that a file is refused with an error that begins with the given text.
func wantRefused(t *testing.T, text, begin string) {
	t.Helper()
	_, err := config.Parse("f", []byte(text))
	if err == nil || !strings.HasPrefix(err.Error(), begin) {
		t.Fatalf("error %v, want %s", err, begin)
	}
	if _, ok := errors.AsType[*config.Error](err); !ok {
		t.Errorf("error of type %T, want *config.Error", err)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, text string
		change     func(*config.Config) // changes the default configuration to the one that the text must give
	}{
		{name: "nothing", text: "", change: func(*config.Config) {}},
		{name: "comments only", text: "# nothing\n", change: func(*config.Config) {}},
		{name: "a word that was a boolean once", text: "source_address: off\n", change: func(c *config.Config) { c.SourceAddress = "off" }},
		{name: "one key", text: "accept_port: 1988\n", change: func(c *config.Config) { c.AcceptPort = 1988 }},
		{
			name: "several keys", text: "networks: tcp(eth0)[0,1],tcp1(10.0.0.1)\naccept: all\nsock_timeout: 5\nmin_reconnectms: 20\ntyped_conns: 0\nnagle: true\nlog_level: debug\n",
			change: func(c *config.Config) {
				c.Networks, c.Accept, c.TCP.SockTimeout = "tcp(eth0)[0,1],tcp1(10.0.0.1)", "all", 5*time.Second
				c.TCP.MinReconnect, c.TCP.Untyped, c.TCP.Nagle, c.LogLevel = 20*time.Millisecond, true, true, slog.LevelDebug
			},
		},
		{
			name: "LNet's time-out", text: "lnet_retry_count: 0\nlnet_response_tracking: 0\nlnet_peer_discovery_disabled: 1\nsock_timeout: 0\nconns_per_peer: 127\nround_robin: 0\nprotocol: 2\nenable_csum: 1\ninject_csum_error: 1\n",
			change: func(c *config.Config) {
				c.RetryCount, c.TCP.ConnsPerPeer, c.TCP.FirstIdle, c.TCP.Checksum, c.TCP.InjectChecksumError = 0, 127, true, true, true
				c.TCP.Protocol, c.DiscoveryDisabled, c.ResponseTracking = 2, true, 0
			},
		},
		{name: "off", text: "source_check: off\n", change: func(c *config.Config) { c.SourceCheck = false }},
		{name: "off as a module parameter", text: "source_check: 0\n", change: func(c *config.Config) { c.SourceCheck = false }},
		{name: "off as YAML", text: "source_check: false\n", change: func(c *config.Config) { c.SourceCheck = false }},
		{name: "on", text: "source_check: on\n", change: func(*config.Config) {}},
		{
			name: "local policy", text: "control_tos: 184\ncontrol_priority: -1\nmax_conns: 10\nmax_conns_per_addr: 3\n",
			change: func(c *config.Config) {
				c.TCP.ControlTOS, c.TCP.ControlPriority, c.TCP.MaxConns, c.TCP.MaxConnsPerAddr = 184, -1, 10, 3
			},
		},
		{
			name: "for kernels only", text: "nscheds: 3\nnconnds: 8\nnconnds_max: 9\neager_ack: 15\nnonblk_zcack: 0\nzc_min_payload: 2048\n",
			change: func(*config.Config) {},
		},
		{
			name: "faults", text: "fault_seed: 7\nfaults:\n  - from fd88::1@tcp loss 5%\n  - partition 10.0.0.[1-5]@tcp | *@tcp1\n  - 'pause 5s'\n",
			change: func(c *config.Config) {
				c.FaultSeed, c.Faults = 7, []string{"from fd88::1@tcp loss 5%", "partition 10.0.0.[1-5]@tcp | *@tcp1", "pause 5s"}
			},
		},
		{name: "rules", text: "udsp:\n  - src: tcp1\n    priority: 3\n  - dst: 10.9.0.[1-9]@tcp9\n    rte: 10.0.0.7@tcp\n", change: func(c *config.Config) {
			c.UDSP = []udsp.Rule{{Src: pattern(t, "tcp1"), Priority: 3}, {Dst: pattern(t, "10.9.0.[1-9]@tcp9"), Rte: pattern(t, "10.0.0.7@tcp")}}
		}},
		{name: "quoted text", text: `capture: "7"`, change: func(c *config.Config) { c.Capture = "7" }},
	} {
		t.Run(test.name, func(t *testing.T) { wantConfig(t, test.text, test.change) })
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, text, err string }{
		{name: "a rule without patterns", text: "udsp:\n  - priority: 3\n", err: "f:2:13: udsp: no pattern: want src, dst or rte"},
		{name: "an unknown key of a rule", text: "udsp:\n  - src: tcp1\n    prio: 3\n", err: `f:3:5: unknown key "prio"`},
		{name: "an impossible pattern", text: "udsp:\n  - src: nosuch\n", err: "f:2:10: src: "},
		{name: "a pattern that is empty", text: "udsp:\n  - src: ''\n", err: "f:2:10: src: want a net"},
		{name: "an impossible priority", text: "udsp:\n  - src: tcp\n    priority: -1\n", err: "f:3:15: priority: want a whole number from 0 to 4294967294"},
		{name: "the same rule twice", text: "udsp:\n  - src: tcp\n  - src: tcp\n", err: "f:3:8: udsp: rule 0 is the same"},
		{name: "rules that are no list", text: "udsp: tcp\n", err: "f:1:7: udsp: want a list"},
		{name: "an unknown fault", text: "faults:\n  - loss 5%\n  - lose 5%\n", err: `f:3:5: faults: unknown word "lose": want partition or pause, or a rule: from, to`},
		{name: "two partitions", text: "faults:\n  - partition *@tcp1\n  - pause\n  - partition *@tcp2\n", err: "f:4:5: faults: a second partition, which would take the place of the first"},
		{name: "a fault that is no text", text: "faults:\n  - loss 5%\n  - [7]\n", err: `f:3:5: faults: want text`},
		{name: "faults that are no list", text: "faults: loss 5%\n", err: `f:1:9: faults: want a list with a statement behind each dash`},
		{name: "seed of faults", text: "fault_seed: -1\n", err: `f:1:13: fault_seed: want a whole number from 0 to 2147483647`},
		{name: "for kernels only, out of range", text: "nonblk_zcack: 2\n", err: `f:1:15: nonblk_zcack: want a whole number from 0 to 1, not "2"`},
		{name: "too many connections per peer", text: "conns_per_peer: 128\n", err: `f:1:17: conns_per_peer: want a whole number from 0 to 127, not "128"`},
		{name: "unknown key", text: "accept_port: 988\nacept: all\n", err: `f:2:1: unknown key "acept"`},
		{name: "lines of other systems", text: "accept_port: 988\r\ncredits: 7\r\nacept: all\r\n", err: `f:3:1: unknown key "acept"`},
		{name: "wrong case", text: "Accept: all\n", err: `f:1:1: unknown key "Accept"`},
		{name: "key twice", text: "nagle: 0\nnagle: 1\n", err: `f:2:1: mapping key "nagle" already defined at [1:1]`},
		{name: "port out of range", text: "\naccept_port: 70000\n", err: `f:2:14: accept_port: want a whole number from 1 to 65535, not "70000"`},
		{name: "fraction", text: "credits: 1.5\n", err: `f:1:10: credits: want a whole number from 1 to 1048576, not "1.5"`},
		{name: "quoted number", text: "credits: '7'\n", err: `f:1:10: credits: want a whole number from 1 to 1048576, not "'7'"`},
		{name: "list for a number", text: "credits: [1]\n", err: `f:1:10: credits: want a whole number from 1 to 1048576, not "[1]"`},
		{name: "number for text", text: "capture: 7\n", err: `f:1:10: capture: want text, not "7"; quotes make text of anything`},
		{name: "no value", text: "networks:\n", err: "f:1:1: networks has no value; without the line it has its default"},
		{name: "flag out of range", text: "nagle: 2\n", err: `f:1:8: nagle: want a whole number from 0 to 1, not "2"`},
		{name: "neither on nor off", text: "source_check: some\n", err: `f:1:15: source_check: want on or off, not "some"`},
		{name: "source address", text: "source_address: \"\"\n", err: `f:1:17: source_address: want check or off, not ""`},
		{name: "accept mode", text: "accept: some\n", err: `f:1:9: accept: want secure, all, none or trust, not "some"`},
		{name: "log level", text: "log_level: loud\n", err: `f:1:12: log_level: log level "loud": want debug, info, warn or error`},
		{name: "networks", text: "networks: tcp(eth0\n", err: `f:1:11: networks: networks "tcp(eth0" at character 9: want ')'; an entry looks like`},
		{name: "a timeout too short for its retries", text: "lnet_transaction_timeout: 2\n", err: "f: lnet_transaction_timeout (2) has to be more than lnet_retry_count (2): raise it, or lower that"},
		{name: "values that exclude each other", text: "min_reconnectms: 5\nmax_reconnectms: 4\n", err: "f: max_reconnectms (4) is less than min_reconnectms (5)"},
		{name: "a list", text: "- accept\n", err: `f:1:1: want lines of the form "key: value"`},
		{name: "text", text: "accept\n", err: `f:1:1: want lines of the form "key: value"`},
		{name: "two documents", text: "nagle: 0\n---\ncredits: 5\n", err: "f:3:8: a second document"},
		{name: "broken YAML", text: "accept: [\n", err: "f:1:9: sequence end token ']' not found"},
		{name: "too long", text: strings.Repeat("#", 1<<17), err: "f: more than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) { wantRefused(t, test.text, test.err) })
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lnetd.yaml")
	if err := os.WriteFile(file, []byte("networks: tcp(eth0)\naccept_port: 1000\ncapture: a.pcapng\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	modprobe := filepath.Join(t.TempDir(), "lustre.conf")
	if err := os.WriteFile(modprobe, []byte("options lnet lnet_retry_count=4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		args   []string
		change func(*config.Config)
		err    string
	}{
		{name: "file", args: []string{"--config", file}, change: func(c *config.Config) {
			c.Networks, c.AcceptPort, c.Capture = "tcp(eth0)", 1000, "a.pcapng"
		}},
		{name: "flags", args: []string{"--config", file, "--accept-port=988", "--log-level=warn", "--capture="}, change: func(c *config.Config) {
			c.Networks, c.AcceptPort, c.LogLevel = "tcp(eth0)", 988, slog.LevelWarn
		}},
		{name: "flags alone", args: []string{"--networks=tcp(127.0.0.2)", "--state-dir=s", "--runtime-dir=r", "--socket=x"}, change: func(c *config.Config) {
			c.Networks, c.StateDir, c.RuntimeDir, c.Socket = "tcp(127.0.0.2)", "s", "r", "x"
		}},
		{name: "RDMA", args: []string{"--o2ib-provider=ibverbs", "--networks=o2ib"}, change: func(c *config.Config) {
			c.O2IB.Provider, c.Networks = drivers.IBVerbs, "o2ib"
		}},
		{name: "files of Lustre", args: []string{"--modprobe", modprobe, "--lnet-conf=l.conf"}, change: func(c *config.Config) {
			c.Modprobe, c.LNetConf, c.RetryCount = modprobe, "l.conf", 4
			c.Networks = "lo" // "lo" means the loopback network alone: no option names a network, and the networks of l.conf are read later
		}},
		{name: "the file replaces options", args: []string{"--modprobe", modprobe, "--config", file, "--lnet-conf=none"}, change: func(c *config.Config) {
			c.Modprobe, c.RetryCount = modprobe, 4
			c.Networks, c.AcceptPort, c.Capture = "tcp(eth0)", 1000, "a.pcapng"
		}},
		{name: "bad provider", args: []string{"--o2ib-provider=siw"}, err: `--o2ib-provider: want softroce or ibverbs, not "siw"`},
		{name: "bad port", args: []string{"--accept-port=0"}, err: "--accept-port: want a port from 1 to 65535, not 0"},
		{name: "bad networks", args: []string{"--networks=ib"}, err: "--networks: networks \"ib\" at character 1: "},
		{name: "bad level", args: []string{"--log-level=7"}, err: "--log-level: "},
		{name: "no file", args: []string{"--config=/nowhere"}, err: "open /nowhere: no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
			flags := config.AddFlags(set)
			if err := set.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			loaded, err := flags.Load(false)
			if test.change == nil {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Fatalf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want, got := config.Default(), loaded.Config
			test.change(&want)
			if diff := cmp.Diff(want, got, equateNIDs, equateIDs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAcceptMode(t *testing.T) {
	for _, test := range []struct {
		accept string
		port   int
		want   string
	}{
		{"", 988, "secure"},
		{"", 1023, "secure"},
		{"", 1024, "trust"},
		{"", 20000, "trust"},
		{"all", 988, "all"},
		{"secure", 20000, "secure"},
	} {
		c := config.Config{Settings: drivers.Settings{Accept: test.accept, AcceptPort: test.port}}
		if got := c.AcceptMode(); got != test.want {
			t.Errorf("accept %q at port %d: %s, want %s", test.accept, test.port, got, test.want)
		}
	}
}

func TestDirs(t *testing.T) {
	for _, test := range []struct {
		name                   string
		uid                    int
		vars                   map[string]string
		state, runtime, socket string
	}{
		{"root", 0, nil, "/var/lib/lnetd", "/run/lnetd", "/run/lnetd/lnetd.sock"},
		{
			"systemd", 0,
			map[string]string{"STATE_DIRECTORY": "/s:/t", "RUNTIME_DIRECTORY": "/r"},
			"/s", "/r", "/r/lnetd.sock",
		},
		{
			"user", 7,
			map[string]string{"XDG_STATE_HOME": "/h/s", "XDG_RUNTIME_DIR": "/run/user/7"},
			"/h/s/lnetd", "/run/user/7/lnetd", "/run/user/7/lnetd/lnetd.sock",
		},
		{
			"user without XDG", 7,
			map[string]string{"HOME": "/h"},
			"/h/.local/state/lnetd", os.TempDir() + "/lnetd-7", os.TempDir() + "/lnetd-7/lnetd.sock",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c config.Loaded
			c.Resolve(config.Dirs{Getenv: func(k string) string { return test.vars[k] }, UID: test.uid})
			got := []string{c.StateDir, c.RuntimeDir, c.Socket}
			if diff := cmp.Diff([]string{test.state, test.runtime, test.socket}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientSocket(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "lnetd.sock")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := config.Dirs{UID: os.Getuid(), Getenv: func(k string) string {
		return map[string]string{"RUNTIME_DIRECTORY": dir}[k]
	}}
	if got := p.ClientSocket(); got != own {
		t.Errorf("ClientSocket = %s, want %s", got, own)
	}
	if err := p.CheckOwner(dir); err != nil {
		t.Errorf("own directory: %v", err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	if err := os.Chown(dir, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckOwner(dir); err != nil {
		t.Errorf("root: %v", err)
	}
	p.UID = 4712
	if err := p.CheckOwner(dir); err == nil || err.Error() != dir+" belongs to user 4711" {
		t.Errorf("directory of somebody else: %v", err)
	}
}

func pattern(t *testing.T, text string) udsp.Pattern {
	t.Helper()
	p, err := udsp.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSelftest checks the keys of the section of the test node.
func TestSelftest(t *testing.T) {
	wantConfig(t, "selftest: 1\nselftest_allow: '10.0.0.[1-5]@tcp *@o2ib'\n", func(c *config.Config) {
		c.Selftest, c.SelftestAllow = true, "10.0.0.[1-5]@tcp *@o2ib"
	})
	wantRefused(t, "selftest: 2\n", "f:1:11: selftest: want a whole number from 0 to 1")
	wantRefused(t, "selftest_allow: 10.0.0.300@tcp\n", "f:1:17: selftest_allow: NIDs")
}
