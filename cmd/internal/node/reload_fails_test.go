package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statefiles"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
	"ulnet/portals/keyring"
)

// failure is a reload of which one change fails, because of what a command has done since the start.
type failure struct {
	from, to string // configurations, to which the test adds port and networks; an empty from stands for the constant full
	command  func(*node.Node) error
	want     string // part of the expected error
}

// failures has changes that fail although the configuration is valid, one of each kind that can fail, except
// these: TestReloadFails has changes of networks and faults, and the tests below have those that need a
// socket or a module. No test has routes that fail: adding one fails only if there are more than 16384, which
// take a minute to add. Changes of router buffers and selftest_allow, and the end of faults, cannot fail.
var failures = map[string]failure{
	"settings of health": {
		from: "lnet_retry_count: 1\nlnet_transaction_timeout: 9\nlnet_numa_range: 3\n", to: "lnet_retry_count: 1\nlnet_transaction_timeout: 3\nlnet_numa_range: 4\n",
		command: func(n *node.Node) error { return n.Set(node.Setting{Name: "retry_count", Value: 4}) },
		want:    "lnetd.yaml:4: transaction_timeout: 9 -> 3: ",
	},
	"peers": {
		to: other,
		command: func(n *node.Node) error {
			return n.AddPeer(node.AddPeerRequest{Primary: nid.MustParse("127.0.0.4@tcp"), NIDs: []nid.NID{nid.MustParse("127.0.0.7@tcp2")}})
		},
		want: "lnetd.yaml:4: change peer 127.0.0.7@tcp: ",
	},
	"selection rules": {
		to: strings.Replace(other, "udsp:\n", "udsp:\n  - src: tcp77\n    priority: 4\n", 1),
		command: func(n *node.Node) error {
			for i := range 1022 {
				src, err := udsp.ParsePattern(fmt.Sprintf("tcp%d", 100+i))
				if err == nil {
					err = n.AddUDSP(node.AddUDSP{Rule: udsp.Rule{Src: src, Priority: 3}})
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		want: "lnetd.yaml:10: selection rules: ",
	},
}

// TestReloadFailsAt: whichever kind of change fails in a reload, all others are taken back.
func TestReloadFailsAt(t *testing.T) {
	spec.Covers(t, "OP-7")
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			if f.from == "" {
				f.from = full
			}
			from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"+f.from), loaded(t, port+"networks: tcp(127.0.0.81)\n"+f.to)
			n := startLoaded(t, from)
			if err := f.command(n); err != nil {
				t.Fatal(err)
			}
			failsAndKeeps(t, n, from, to, f.want)
		})
	}
}

// failsAndKeeps checks that a reload fails, and that the node is as before.
func failsAndKeeps(t *testing.T, n *node.Node, from, to *config.Loaded, want string) {
	t.Helper()
	before := state(t, n)
	done, err := n.Reload(t.Context(), from, to)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "not taken back") || len(done) != 0 {
		t.Errorf("done %q, error %v, want %q", done, err, want)
	}
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(state(t, n), "\n")); diff != "" {
		t.Errorf("after the failure (+), before (-)\n%s", diff)
	}
}

// TestReloadFailsAtRestart: if an NI does not start with its new settings, the reload starts it again
// with the old ones.
func TestReloadFailsAtRestart(t *testing.T) {
	spec.Covers(t, "OP-7")
	port := freePort(t)
	from, to := loaded(t, rails(port, "8")+"lnet_numa_range: 3\n"), loaded(t, rails(port, "16")+"lnet_numa_range: 4\n")
	taken := 0
	n := startHooked(t, from, func() error {
		if taken--; taken == 0 {
			return syscall.EADDRINUSE
		}
		return nil
	}, slog.DiscardHandler)
	taken = 1
	failsAndKeeps(t, n, from, to, "start network tcp1(127.0.0.82) with other settings: ")
}

// keyed is a module that has keys, and refuses certain new ones.
type keyed struct {
	section string // the section of the configuration that has the keys
	refuses string // the module refuses new keys that contain this text
	file    string // path of the section's key_file
	now     keyring.Keys
	told    []string // selftest_allow of each configuration with which Reload was called
}

// Reload implements node.Reloader.
func (m *keyed) Reload(to *config.Config) { m.told = append(m.told, to.SelftestAllow) }

// Open implements node.Module.
func (m *keyed) Open() error { return nil }

// Close implements node.Module.
func (m *keyed) Close(context.Context) error { return nil }

// Routes implements node.Module.
func (m *keyed) Routes() []control.Route { return nil }

// Files implements node.Module.
func (m *keyed) Files() *statefiles.Config { return nil }

// Keys implements node.Module.
func (m *keyed) Keys() *node.Keys {
	return &node.Keys{Section: m.section, File: m.file, Count: func(s *node.KeysStatus) { s.Keys = m.now.Len() }, Set: func(k keyring.Keys) error {
		if refused, err := keyring.Parse([]byte(m.refuses)); err == nil && refused.Equal(k) {
			return errors.New("the keys are refused")
		}
		m.now = k
		return nil
	}}
}

// startKeyed starts a node with a configuration and modules.
func startKeyed(t *testing.T, l *config.Loaded, list ...node.Module) *node.Node {
	t.Helper()
	n, err := node.New(node.Config{Config: l.Config, Modules: func(node.Host) []node.Module { return list }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestReloadFailsAtKeys: if a module refuses new keys, it keeps the old ones, and all other changes are
// taken back. Changes of handlers and of selftest_allow are made only after all others, because they end
// programs and sessions of selftest, which could not be restored. So they have not begun when the keys are
// refused.
func TestReloadFailsAtKeys(t *testing.T) {
	spec.Covers(t, "OP-7")
	port, file := freePort(t), filepath.Join(t.TempDir(), "keys")
	with := func(keys, text string) *config.Loaded {
		if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		return loaded(t, port+"networks: tcp(127.0.0.81)\ngossip: {nids: ['127.0.0.[81-82]@tcp'], key_file: "+file+"}\n"+text)
	}
	const first, second = "the first key of gossip\n", "the second key of gossip\n"
	handler := func(allow, on string) string {
		return "selftest_allow: " + allow + "\nhandlers: {changes: {on: [" + on + "], run: [/bin/true]}}\n"
	}
	from, to := with(first, full+handler("127.0.0.7@tcp", "gossip")), with(second, other+handler("127.0.0.8@tcp", "gossip.died"))
	m := &keyed{section: "gossip", refuses: second, now: from.Gossip.Keys}
	n := startKeyed(t, from, m)
	if _, err := n.TestHandler(t.Context(), node.HandlerName{Name: "changes"}); err != nil {
		t.Fatal(err)
	}
	if failsAndKeeps(t, n, from, to, "keys of the section gossip: the keys are refused"); !m.now.Equal(from.Gossip.Keys) {
		t.Error("the module has other keys")
	}
	if h := n.Handlers()[0]; h.Runs != 1 || len(h.On) != 1 || h.On[0] != "gossip" || len(m.told) > 0 {
		t.Errorf("handler %+v; the module was told of selftest_allow %q", h, m.told)
	}
	m.refuses = ""
	if done, err := n.Reload(t.Context(), from, to); err != nil || !slices.Contains(done, `selftest_allow: "127.0.0.8@tcp"`) || !slices.Equal(m.told, []string{"127.0.0.8@tcp"}) {
		t.Errorf("without the failure: %q, %v; the module was told of selftest_allow %q", done, err, m.told)
	}
}
