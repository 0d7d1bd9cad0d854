package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// load returns the configuration of a daemon with the flags args, whose configuration file has the text
// of the argument file.
func load(t *testing.T, file string, args ...string) *config.Loaded {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("lnetd.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	if err := set.Parse(append([]string{"--config", "lnetd.yaml"}, args...)); err != nil {
		t.Fatal(err)
	}
	l, err := flags.Load(false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestValues: each value comes from the place with the highest precedence that sets it: the default, a
// line of the file, a flag, the environment, or a command at run time.
func TestValues(t *testing.T) {
	spec.Covers(t, "OP-5")
	l := load(t, `networks: tcp(eth0)
accept_port: 1000
gossip:
  interval: 500ms
global:
  retry_count: 3
  discovery: 0
buffers:
  tiny: 7
handlers:
  late:
    on: [gossip.died,
      gossip.alive]
    run: [/bin/true]
  other:
    on: [gossip]
    run: [/bin/false]
peer:
  - primary nid: 10.0.0.2@tcp
`, "--accept-port", "988", "--log-level=warn")
	l.Resolve(config.Dirs{Getenv: func(name string) string { return map[string]string{"STATE_DIRECTORY": "/s"}[name] }})
	values := l.Values(config.Source{Key: "lnet_retry_count", Value: "5", From: config.RunTime})
	var given []string
	for _, v := range values {
		if v.Origin != config.FromDefault {
			given = append(given, strings.Join([]string{v.Key, v.Value, string(v.Origin), v.From}, "|"))
		}
	}
	want := []string{
		"peer|[{primary nid: 10.0.0.2@tcp}]|file|lnetd.yaml:18",
		"networks|tcp(eth0)|file|lnetd.yaml:1",
		"lnet_retry_count|5|run time|run time",
		"lnet_peer_discovery_disabled|1|file|lnetd.yaml:7",
		"routing.tiny|7|file|lnetd.yaml:9",
		"accept_port|988|flag|--accept-port",
		"gossip.interval|500ms|file|lnetd.yaml:4",
		"handlers.late.on|[gossip.died, gossip.alive]|file|lnetd.yaml:12",
		"handlers.late.run|[/bin/true]|file|lnetd.yaml:14",
		"handlers.other.on|[gossip]|file|lnetd.yaml:16",
		"handlers.other.run|[/bin/false]|file|lnetd.yaml:17",
		"state_dir|/s|environment|$STATE_DIRECTORY",
		"log_level|warn|flag|--log-level",
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, value := range map[string]string{"socket": "/run/lnetd/lnetd.sock", "runtime_dir": "/run/lnetd", "gossip.rtt": "0", "health.times.ping": "5s"} {
		if !slices.ContainsFunc(values, func(v config.Value) bool {
			return v.Key == key && v.Value == value && v.Origin == config.FromDefault
		}) {
			t.Errorf("%s is not %s by default", key, value)
		}
	}
}

// TestNetworksOnce: of the keys that name networks, only the one in effect differs from its default.
func TestNetworksOnce(t *testing.T) {
	spec.Covers(t, "OP-5")
	const net = "net:\n  - net type: tcp\n    local NI(s):\n      - interfaces:\n          0: eth0\n"
	for _, test := range []struct {
		file string
		args []string
		want string
	}{
		{"accept_port: 988", nil, ""},
		{"ip2nets: tcp 10.*.*.*", nil, "ip2nets lnetd.yaml:1"},
		{net, nil, "net lnetd.yaml:1"},
		{net, []string{"--networks=tcp1(eth1)"}, "networks --networks"},
		{"lnet_conf: l.conf", nil, "networks lnet_conf"},
		{"lnet_conf: l.conf\nnetworks: tcp", nil, "networks lnetd.yaml:2"},
	} {
		var given []string
		for _, v := range load(t, test.file, test.args...).Values() {
			if slices.Contains([]string{"networks", "ip2nets", "net"}, v.Key) && v.Origin != config.FromDefault {
				given = append(given, v.Key+" "+v.From)
			}
		}
		if got := strings.Join(given, ", "); got != test.want {
			t.Errorf("%q %v: %s, want %s", test.file, test.args, got, test.want)
		}
	}
}

// TestEveryKeyHasAValue: Values lists all keys of the file, each once.
func TestEveryKeyHasAValue(t *testing.T) {
	spec.Covers(t, "OP-5")
	l := config.Loaded{Config: config.Default()}
	seen, sections := map[string]bool{}, map[string]bool{}
	for _, v := range l.Values() {
		if seen[v.Key] || v.Origin != config.FromDefault || v.From != "" {
			t.Errorf("%+v, or it is listed twice", v)
		}
		section, _, _ := strings.Cut(v.Key, ".")
		seen[v.Key], sections[section] = true, true
	}
	for _, key := range config.Keys() {
		if !sections[key] {
			t.Errorf("%s has no value", key)
		}
	}
}

// TestAllErrors: a file with several mistakes has an error with its line for each.
func TestAllErrors(t *testing.T) {
	spec.Covers(t, "OP-4")
	file := filepath.Join(t.TempDir(), "f")
	_, err := config.Parse(file, []byte("acept: all\naccept_port: many\ngossip:\n  intervall: 1s\n  quorum: 100\nnetworks: tcp(eth0\n"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{":1:1: unknown key", ":2:14: accept_port: want", ":4:3: unknown key \"intervall\"", ":5:11: quorum: want", ":6:11: networks: "} {
		if !strings.Contains(err.Error(), file+want) {
			t.Errorf("%v does not have %s", err, want)
		}
	}
}
