package health

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// stuckStore is a store on a disk that does not answer until the channel disk is closed.
type stuckStore struct {
	disk    chan struct{}
	reached chan struct{} // closed when the disk is first used
	closed  atomic.Bool
}

func newStuckStore() *stuckStore {
	return &stuckStore{disk: make(chan struct{}), reached: make(chan struct{})}
}

func (s *stuckStore) use() {
	select {
	case <-s.reached:
	default:
		close(s.reached)
	}
	<-s.disk
}

func (s *stuckStore) Load() ([]health.Record, []health.Tombstone, error) {
	s.use()
	return nil, nil, nil
}

func (s *stuckStore) Save(health.Record, func(error))      {}
func (s *stuckStore) Remove(health.Tombstone, func(error)) {}
func (s *stuckStore) Stats() boltstore.Stats               { return boltstore.Stats{} }

func (s *stuckStore) Close() error {
	s.use()
	s.closed.Store(true)
	return nil
}

// closeSoon closes a module whose disk does not answer, and checks that this takes no longer than its
// context, and that the error names the records.
func closeSoon(t *testing.T, m *Module, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- m.Close(ctx) }()
	select {
	case err := <-closed:
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("closed with %v, which does not name %s", err, path)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for a disk that does not answer")
	}
}

// TestCloseStuckDisk: OP-93: Close does not wait for a disk that does not answer, neither in a commit nor
// while the file is being opened. A store that is opened later is closed, and events are dropped.
func TestCloseStuckDisk(t *testing.T) {
	spec.Covers(t, "OP-93")
	for _, test := range []struct {
		name string
		open bool // true: the store is open, and a commit hangs; false: opening the store hangs
	}{{"commit", true}, {"open", false}} {
		t.Run(test.name, func(t *testing.T) {
			dir, store := t.TempDir(), newStuckStore()
			h := &roles{quit: make(chan struct{}), path: filepath.Join(dir, StoreName), store: new(lateStore), log: slog.New(slog.DiscardHandler)}
			m := &Module{Host: node.Host{Config: &config.Config{StateDir: dir}}, roles: h}
			h.m, h.events = m, startEvents(h.log, func(*Event) {})
			h.open = func(string, *slog.Logger) (recordStore, error) { store.use(); return store, nil }
			if test.open {
				h.store.set(store, nil)
			} else {
				h.workers.Go(func() { _ = h.tryStore() })
				<-store.reached
			}
			closeSoon(t, m, h.path)
			h.events.ofServer(health.Event{})
			close(store.disk)
			h.workers.Wait()
			await(t, "end of the store", store.closed.Load)
		})
	}
}

// TestStuckLoad: OP-93: while the records of a server are read from a disk that does not answer, the state
// can be read and the module closed. After that, no role starts.
func TestStuckLoad(t *testing.T) {
	spec.Covers(t, "OP-93")
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 89})
	port, err := loopback.FreePort(addr)
	if err != nil {
		t.Fatal(err)
	}
	servers := []nid.NID{nid.MustParse("127.0.0.89@tcp"), nid.MustParse("127.0.0.90@tcp")}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.StateDir = "tcp(127.0.0.89)", int(port), t.TempDir()
	cfg.Scoll.Enable, cfg.Gossip.NIDs, cfg.Gossip.ColdStart, cfg.Gossip.Start = true, servers, true, false
	cfg.Health.Server, cfg.Health.Servers = true, servers
	store := newStuckStore()
	n, err := startWith(cfg, func(m *Module) {
		m.roles.open = func(string, *slog.Logger) (recordStore, error) { return store, nil }
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.gossip.Start(); err != nil {
		t.Fatal(err)
	}
	<-store.reached
	answered := make(chan error, 1)
	go func() {
		s, err := n.Status()
		if err == nil && s.Server.State != Waiting {
			err = errors.New(string(s.Server.State))
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the state cannot be read while the disk does not answer")
	}
	closeSoon(t, n.Module, cfg.StateDir)
	close(store.disk)
	n.roles.workers.Wait()
	if server, _ := n.roles.roles(); server != nil {
		t.Error("a server has started after Close")
	}
	n.Module.roles = nil // so that Shutdown does not close the roles a second time
	if err := n.node.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
