package health

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statelock"
	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestHealthStore: CH-4, CH-66: a server that is started again knows its clients. Damaged
// records are set aside; then the server does not know its clients. A server that cannot keep
// records refuses new clients and says why.
func TestHealthStore(t *testing.T) {
	spec.Covers(t, "CH-4", "CH-66")
	t.Parallel()
	h := newHealthNodes(t, 3, 1, nil)
	await(t, "connections", func() bool { return h.settled(3, 3) })
	var s Status
	var err error
	for range 5 { // on a busy machine the client may connect again before the test reads the status; then the test restarts the server again
		h.stop(0)
		h.start(0)
		if s, err = h.nodes[0].Status(); err == nil && s.Server.Stats["connects"] == 0 {
			break
		}
	}
	if err != nil || s.Server.Clients != 1 || s.Server.Store.Records != 1 || s.Server.Stats["connects"] != 0 && s.Server.Recovering == 0 {
		t.Errorf("%+v, %v", s.Server, err)
	}
	await(t, "confirmation", func() bool { return h.settled(3, 3) })

	h.stop(0)
	path := filepath.Join(h.dirs[0], StoreName)
	if err := os.WriteFile(path, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(0)
	s, _ = h.nodes[0].Status()
	if s.Server.Store.SetAside == "" || s.Server.Store.Damage == "" || s.Server.Store.Path != path {
		t.Errorf("%+v", s.Server.Store)
	}
	await(t, "connections", func() bool { return h.settled(3, 3) })

	h.stop(0)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	h.start(0)
	await(t, "refusal", func() bool {
		s, _ := h.nodes[0].Status()
		return s.Server.Stats["rejected_store_failed"] > 0 && s.Server.Store.Error != ""
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await(t, "records", func() bool { // the server opens the records by itself and stores them again, without a restart
		s, _ := h.nodes[0].Status()
		return s.Server.Store.Error == "" && h.settled(3, 3)
	})
}

// TestNewerStore: records of a newer version keep the node from starting, and stay as they are.
func TestNewerStore(t *testing.T) {
	spec.Covers(t, "OP-9")
	dir := t.TempDir()
	path := filepath.Join(dir, StoreName)
	store, err := boltstore.Open(boltstore.Config{Path: path})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file = bytes.ReplaceAll(file, []byte("ulnet connections\x01"), []byte("ulnet connections\x02"))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	h := roles{m: &Module{Host: node.Host{Config: &config.Config{StateDir: dir}}}, cfg: config.Health{Records: true}, open: openBolt, log: slog.New(slog.DiscardHandler)}
	err = h.openStore()
	if !errors.Is(err, boltstore.ErrVersion) || cli.ExitCode(err) != cli.Config || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, exit code %d", err, cli.ExitCode(err))
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, file) {
		t.Errorf("the file has changed: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("files %v, %v", list, err)
	}
}

// TestStoreOfAnother: a server whose state directory did not exist when it started keeps no records there if another
// daemon has locked the directory since. It keeps records, and the lock, once that daemon has ended.
func TestStoreOfAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	own, err := statelock.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Release()
	h := roles{m: &Module{Host: node.Host{State: own}}, path: filepath.Join(dir, StoreName), store: new(lateStore), open: openBolt, log: slog.New(slog.DiscardHandler)}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := statelock.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.tryStore(); err == nil || !strings.Contains(err.Error(), "another lnetd") || !strings.Contains(h.storeStatus().Error, "another lnetd") {
		t.Errorf("beside another daemon: %v, status %+v", err, h.storeStatus())
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
	other.Release()
	if err := h.tryStore(); err != nil {
		t.Fatal("after the other daemon has ended:", err)
	}
	if other, err = statelock.Take(dir); err == nil {
		t.Error("another daemon may use the directory")
	}
	other.Release()
	if err := h.store.end().Close(); err != nil {
		t.Error(err)
	}
}

// TestLoadFails: a server whose records cannot be read at the start begins without them, as if
// the file could not be opened. The function lost is told why, and Save fails at once.
func TestLoadFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), StoreName)
	store, err := boltstore.Open(boltstore.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var lost error
	late := &lateStore{lost: func(err error) { lost = err }}
	late.set(store, nil)
	if err := os.Truncate(path, 0); err != nil { // an empty file: reading any page of it is an error like that of a bad disk
		t.Fatal(err)
	}
	late.fetch()
	records, tombstones, err := late.Load()
	if len(records) != 0 || len(tombstones) != 0 || err != nil || !errors.Is(lost, boltstore.ErrFault) {
		t.Errorf("%v, %v, %v; lost: %v", records, tombstones, err, lost)
	}
	var saved error
	late.Save(health.Record{}, func(err error) { saved = err })
	if !errors.Is(saved, boltstore.ErrFault) {
		t.Errorf("saved: %v", saved)
	}
	if late.end() != nil {
		t.Error("the store is open still")
	}
}

// TestHealthNID: the module finds the NID under which a node takes part. If none is suitable,
// the error says what to do.
func TestHealthNID(t *testing.T) {
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 89})
	port, err := loopback.FreePort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*config.Config)
		want   string // part of the expected error
	}{
		{"a server that waits", func(c *config.Config) { c.Health.Server, c.Scoll.Enable, c.Gossip.Start = true, true, false }, ""},
		{"no server", func(c *config.Config) {
			c.Health.Server, c.Scoll.Enable, c.Gossip.NIDs = true, true, []nid.NID{nid.MustParse("127.0.0.89@tcp"), nid.MustParse("127.0.0.90@tcp")}
		}, "no NID of this node is among the servers of client health"},
		{"foreign", func(c *config.Config) { c.Health.Client = true; c.Health.NID = nid.MustParse("127.0.0.1@tcp") }, "127.0.0.1@tcp is no NID of this node"},
		{"two", func(c *config.Config) { c.Health.Client = true; c.Networks += ",tcp1(127.0.0.89)" }, "client health needs one NID of this node"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Networks, cfg.AcceptPort = "tcp(127.0.0.89)", int(port)
			cfg.Health.Servers = []nid.NID{nid.MustParse("127.0.0.90@tcp")}
			test.change(&cfg)
			n, err := start(cfg)
			if err == nil {
				defer n.node.Shutdown(t.Context())
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	cfg := config.Default()
	cfg.Networks = "lo"
	n, err := start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer n.node.Shutdown(t.Context())
	if _, err := n.Status(); !errors.Is(err, syscall.ESRCH) || n.files() != nil {
		t.Error(err)
	}
	if err := n.Drain(DrainRequest{}); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}
