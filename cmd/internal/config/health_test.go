package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

// TestHealthSection: CH-57, CH-A3, CH-A4: times that contradict each other are refused with an
// error that names the key to change. A role that lacks a setting is refused with an error that
// says what to set.
func TestHealthSection(t *testing.T) {
	spec.Covers(t, "CH-57", "CH-A3", "CH-A4")
	const scoll = "scoll:\n  enable: 1\n"
	at := func(line, column int) config.Position { return config.Position{File: "f", Line: line, Column: column} }
	for _, test := range []struct {
		name, text string
		change     func(*config.Config) // changes the default settings to those that the text must give; nil: the text must be refused
		err        string
	}{
		{"a server that waits for gossipctl", "health:\n  server: 1\n  servers: ['10.0.0.[1-2]@tcp']\n" + scoll, func(c *config.Config) {
			c.Scoll.Enable = true
			c.Health.Server, c.Health.At, c.Health.Servers = true, at(2, 11), nids("10.0.0.1@tcp", "10.0.0.2@tcp")
		}, ""},
		{"a server of gossip", scoll + "health:\n  server: 1\ngossip:\n  nids: ['10.0.0.[1-2]@tcp']\n", func(c *config.Config) {
			c.Scoll.Enable = true
			c.Gossip.NIDs, c.Gossip.NIDsAt = nids("10.0.0.1@tcp", "10.0.0.2@tcp"), at(6, 9)
			c.Health.Server, c.Health.At = true, at(4, 11)
		}, ""},
		{"a client", "health:\n  client: 1\n  servers: [10.0.0.1@tcp, 10.0.0.2@tcp]\n  name: compute-1\n  nid: 10.0.0.9@tcp\n  attach: [10.0.0.2@tcp]\n", func(c *config.Config) {
			c.Health.Client, c.Health.At, c.Health.Servers = true, at(2, 11), nids("10.0.0.1@tcp", "10.0.0.2@tcp")
			c.Health.Name, c.Health.NID, c.Health.Attach = "compute-1", nids("10.0.0.9@tcp")[0], nids("10.0.0.2@tcp")
		}, ""},
		{"attached to all", "health:\n  attach: all\n", func(c *config.Config) { c.Health.AttachAll = true }, ""},
		{"ids of a NID", "health:\n  ids_per_nid: 10001\n", nil, "f:2:16: ids_per_nid: "},
		{"ids of user programs", "health:\n  user_ids_per_nid: 0\n", nil, "f:2:21: user_ids_per_nid: "},
		{"numbers", "health:\n  records: 0\n  max_clients: 7\n  ids_per_nid: 1\n  user_ids_per_nid: 10000\n  balance: 0\n", func(c *config.Config) {
			c.Health.Records, c.Health.MaxClients, c.Health.Balance = false, 7, false
			c.Health.MaxIDs, c.Health.MaxUserIDs = 1, 10_000
		}, ""},
		{
			"times", "health:\n  times:\n    ping: 1s\n    client: 1500ms\n    elect: 900ms\n    evict: 4s\n    orphan: 5s\n    quorum: at once\n    broadcast: 2s\n    rtt: 10ms\n    tick: 200ms\n    try: 100ms\n",
			func(c *config.Config) {
				h := &c.Health.Times
				h.Ping, h.Client, h.Elect, h.Evict, h.Orphan = time.Second, 1500*time.Millisecond, 900*time.Millisecond, 4*time.Second, 5*time.Second
				h.Quorum, h.Broadcast, h.RTT, h.Tick, h.Try = -1, 2*time.Second, 10*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
			}, "",
		},
		{"unknown key", "health:\n  servers: []\n  serve: 1\n", nil, `f:3:3: unknown key "serve"`},
		{"unknown time", "health:\n  times:\n    pings: 1s\n", nil, `f:3:5: unknown key "pings"`},
		{"no section", "health: 1\n", nil, `f:1:9: health: want lines of the form`},
		{"no times", "health:\n  times: 5s\n", nil, `f:2:10: times: want lines of the form`},
		{"a server without collectives", "health:\n  server: 1\n", nil, `f:2:11: server: a server of client health evicts over collectives: set enable: 1 in the section scoll`},
		{"a server without servers", scoll + "health:\n  server: 1\n", nil, `f:4:11: server: a server of client health learns by gossip who is alive: list the servers with nids in the section gossip`},
		{"a client without servers", "health:\n  client: 1\n", nil, `f:2:11: client: list the servers that there are with servers`},
		{"a server twice", "health:\n  servers: ['10.0.0.[1-2]@tcp', 10.0.0.1@tcp]\n", nil, `f:2:33: servers: 10.0.0.1@tcp is listed twice`},
		{"attached to who is none", "health:\n  servers: [10.0.0.1@tcp]\n  attach: [10.0.0.2@tcp]\n", nil, `f:3:11: attach: 10.0.0.2@tcp is none of the servers`},
		{"attached to some", "health:\n  attach: some\n", nil, `f:2:11: attach: want a list with NIDs`},
		{"name", "health:\n  name: \"a\\tb\"\n", nil, `f:2:9: name: "a\tb": want up to 255 bytes that can be printed`},
		{"long name", "health:\n  name: " + strings.Repeat("x", 256) + "\n", nil, `f:2:9: name: "xxx`},
		{"no clients", "health:\n  max_clients: 0\n", nil, `f:2:16: max_clients: want a whole number from 1`},
		{"no file of connects' keys", "health:\n  key_file: /nowhere/keys\n", nil, `f:2:13: key_file: open /nowhere/keys: no such file`},
		{"no file of keys", "health:\n  claim_keys: /nowhere/keys\n", nil, `f:2:15: claim_keys: open /nowhere/keys: no such file`},
		{"CH-57: evict before the next ping", "health:\n  times:\n    ping: 5s\n    evict: 4s\n", nil, `f:4:12: evict: the eviction time-out 4s is not longer than the ping interval 5s`},
		{"evict after two pings", "health:\n  times:\n    evict: 11s\n", nil, `f:3:12: evict: the eviction time-out 11s is shorter than three`},
		{"slow pings", "health:\n  times:\n    ping: 10s\n    evict: 0\n    client: 8s\n", nil, `f:5:13: client: the clients' time-out 8s is not longer than the ping interval`},
		{"no time to elect", "health:\n  times:\n    elect: 6s\n", nil, `f:3:12: elect: a client needs up to`},
		{"orphans", "health:\n  times:\n    orphan: 3s\n", nil, `f:3:13: orphan: orphans have 3s`},
		{"try", "health:\n  times:\n    try: 4s\n", nil, `f:3:10: try: a client that tries`},
		{"two at fault", "health:\n  times:\n    ping: 1s\n    rtt: 50s\n    evict: 2s\n    orphan: 1s\n", nil, `f:5:12: evict: `},
		{"quorum", "health:\n  times:\n    quorum: never\n", nil, `f:3:13: quorum: want a time from 0s to 24h0m0s such as 500ms, not "never", or "at once"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.change == nil {
				wantRefused(t, test.text, test.err)
				return
			}
			wantConfig(t, test.text, test.change)
		})
	}
}

// TestClaimKeys: CH-44: the path of the file of keys is relative to the configuration. The file
// has one key or two, and no other user may read it. Errors about the file do not contain the
// keys.
func TestClaimKeys(t *testing.T) {
	spec.Covers(t, "CH-44")
	dir := t.TempDir()
	file, keys := filepath.Join(dir, "lnetd.yaml"), filepath.Join(dir, "keys")
	if err := os.WriteFile(file, []byte("health:\n  claim_keys: keys\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const one, two = "0123456789abcdef", "fedcba9876543210"
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		want       []string
		err        string
	}{
		{"one", one + "\n", 0o600, []string{one}, ""},
		{"two", "# new\n" + one + "\n\n  " + two, 0o640, []string{one, two}, ""},
		{"none", "# nothing\n# here\n", 0o600, nil, "want one key, or two while they change, each on a line of its own: there are 0"},
		{"three", one + "\n" + two + "\n" + one + "\n", 0o600, nil, "there are 3"},
		{"short", one + "\nsecret\n", 0o600, nil, "keys: line 2: a key needs at least 16 bytes: 'openssl rand -hex 32' makes one"},
		{"for others", one + "\n", 0o644, nil, "has mode 0644, so that others know the keys: 'chmod 600'"},
		{"long", strings.Repeat("x", 5000), 0o600, nil, "has more than 4096 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := os.WriteFile(keys, []byte(test.text), 0o600)
			if err = errors.Join(err, os.Chmod(keys, test.mode)); err != nil {
				t.Fatal(err)
			}
			c, err := config.Load(file)
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), file+":2:15: claim_keys: "+keys) || !strings.Contains(err.Error(), test.err) ||
					strings.Contains(err.Error(), one) || strings.Contains(err.Error(), "secret") {
					t.Fatal(err)
				}
				return
			}
			var got []string
			for _, k := range c.Health.ClaimKeys.All() {
				got = append(got, string(k))
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// TestClaimKeysElsewhere: CH-44: keys in a file behind a symbolic link are read. Anything that
// is not a regular file is refused, without waiting for the writer of a pipe.
func TestClaimKeysElsewhere(t *testing.T) {
	spec.Covers(t, "CH-44")
	dir := t.TempDir()
	file := filepath.Join(dir, "lnetd.yaml")
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(at("keys"), []byte("0123456789abcdef\n"), 0o600), os.Symlink("keys", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("directory"), 0o700), os.Symlink("open", at("open link")),
		os.WriteFile(at("open"), []byte("0123456789abcdef\n"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]string{
		"link": "", "pipe": "is no regular file", "directory": "is no regular file", "open link": "has mode 0644",
	} {
		if err := os.WriteFile(file, []byte("health:\n  claim_keys: "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(file)
		if refused == "" && (err != nil || c.Health.ClaimKeys.Len() != 1) || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
