package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// keyFile is a file of keys that a configuration names.
type keyFile struct {
	t    *testing.T
	path string
	text string // text of the configuration file, which names the key file in two sections
}

func newKeyFile(t *testing.T) *keyFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	return &keyFile{t, path, freePort(t) + "networks: tcp(127.0.0.81)\ngossip: {nids: ['127.0.0.[81-82]@tcp'], key_file: " + path + "}\nscoll: {key_file: " + path + "}\n"}
}

// load writes keys to the file, and returns the configuration with them.
func (f *keyFile) load(keys string) *config.Loaded {
	f.t.Helper()
	f.write(keys)
	return loaded(f.t, f.text)
}

// write writes keys to the file.
func (f *keyFile) write(keys string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(keys), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

const key1, key2 = "the first key of gossip\n", "the second key of gossip\n"

// startWithBoth starts a node with the first key and a module that has keys in the section gossip. Then
// 'lnetctl keys reload' adds the second key.
func startWithBoth(t *testing.T, f *keyFile, more ...*keyed) (*node.Node, *config.Loaded, *keyed) {
	t.Helper()
	from := f.load(key1)
	m := &keyed{section: "gossip", file: f.path, now: from.Gossip.Keys}
	list := []node.Module{m}
	for _, o := range more {
		o.file, o.now = f.path, from.Gossip.Keys
		list = append(list, o)
	}
	n := startKeyed(t, from, list...)
	f.write(key1 + key2)
	if err := n.KeysReload(); err != nil || m.now.Len() != 2 {
		t.Fatalf("keys reload: %v, %d keys", err, m.now.Len())
	}
	return n, from, m
}

// TestKeysReloadHalfWritten: a program is writing the key file while 'lnetctl keys reload' reads it. The part
// that it has read would be a valid file of keys, but nothing changes, and the error says why.
func TestKeysReloadHalfWritten(t *testing.T) {
	spec.Covers(t, "OP-6")
	f := newKeyFile(t)
	n, _, m := startWithBoth(t, f)
	both := m.now
	for _, half := range []string{"", key1[:len(key1)-1], key1 + key2[:20]} {
		f.write(half)
		if err := n.KeysReload(); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), f.path) || !m.now.Equal(both) {
			t.Errorf("%q: %v, and %d keys are in force", half, err, m.now.Len())
		}
	}
	f.write(key1)
	if err := n.KeysReload(); err != nil || m.now.Len() != 1 {
		t.Errorf("keys reload of a whole file: %v, %d keys", err, m.now.Len())
	}
}

// TestReloadWithdrawsKey: after a reload, a key that is no longer in the file is not in force, even if the
// node got that key from 'lnetctl keys reload', and never from a configuration.
func TestReloadWithdrawsKey(t *testing.T) {
	spec.Covers(t, "OP-6")
	f := newKeyFile(t)
	n, from, _ := startWithBoth(t, f)
	to := f.load(key1)
	done, err := n.Reload(t.Context(), from, to)
	if err != nil || len(done) != 1 || n.Keys()[0].Keys != 1 {
		t.Errorf("reload: %q, %v; %d keys are in force, want the one of the file", done, err, n.Keys()[0].Keys)
	}
	if done, err := n.Reload(t.Context(), to, to); err != nil || len(done) != 0 {
		t.Errorf("reload without changes: %q, %v", done, err)
	}
}

// TestReloadBackToKeysInForce: when a reload fails after it has changed keys, the keys that
// 'lnetctl keys reload' had read are in force again.
func TestReloadBackToKeysInForce(t *testing.T) {
	spec.Covers(t, "OP-7")
	f := newKeyFile(t)
	n, from, m := startWithBoth(t, f, &keyed{section: "scoll", refuses: key2})
	both := m.now
	if _, err := n.Reload(t.Context(), from, f.load(key2)); err == nil {
		t.Error("the reload did not fail")
	}
	if !m.now.Equal(both) {
		t.Errorf("%d keys after the failed reload, not those of before", m.now.Len())
	}
	if done, err := n.Reload(t.Context(), from, f.load(key1+key2)); err != nil || len(done) != 0 {
		t.Errorf("reload of the keys in force: %q, %v", done, err)
	}
}
