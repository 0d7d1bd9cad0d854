package zone

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/incarnation"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/statelock"
	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// zoneNode starts a node that is in a zone and has a state directory. The function stop stops
// it.
func zoneNode(t *testing.T, dir string, log *slog.Logger) (m *Module, stop func()) {
	t.Helper()
	addr := netip.MustParseAddr("127.0.0.91")
	port, err := loopback.FreePort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.StateDir = "tcp("+addr.String()+")", int(port), dir
	cfg.Zone.Name, cfg.Zone.Node, cfg.Zone.Monitor = "z", "n", true
	cfg.Zone.Bootstrap = []zone.ID{zone.MustParseID("m=127.0.0.92@tcp")}
	n, err := node.New(node.Config{Config: cfg, Log: log, Modules: func(h node.Host) []node.Module {
		m = New(h)
		return []node.Module{m}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}
}

func zoneVersion(t *testing.T, m *Module) uint64 {
	t.Helper()
	s, err := m.Status()
	own, wrong := m.Attributes("")
	if err = errors.Join(err, wrong); err != nil || s.State != "joined" || len(own.Attributes) != 1 || own.Attributes[0].Key != zone.MonitorKey {
		t.Fatalf("%+v, %+v, %v", s, own, err)
	}
	return s.Version.Inc
}

// TestZoneIncarnations: MS-A2, MS-6, MS-A33: a node raises its incarnation number by itself.
// The next start of the node begins above that number, even if the number was that of a second
// incarnation in one process. A node that leaves and joins again shows its new incarnation.
func TestZoneIncarnations(t *testing.T) {
	spec.Covers(t, "MS-6", "MS-A2", "MS-A33")
	const name = "zone z n=127.0.0.91@tcp"
	dir := t.TempDir()
	n, stop := zoneNode(t, dir, nil)
	first := zoneVersion(t, n)
	stop()
	if kept, err := incarnation.Kept(dir, name); kept != 0 || err != nil {
		t.Errorf("an incarnation with the node's number keeps %d, %v", kept, err)
	}
	ahead := first + 1<<40
	if err := incarnation.Keep(dir, name, ahead); err != nil { // stores a higher number, as an agent does when it refutes a suspicion
		t.Fatal(err)
	}
	n, stop = zoneNode(t, dir, nil)
	if v := zoneVersion(t, n); v != ahead+1 {
		t.Errorf("MS-A2: life %d after %d was kept", v, ahead)
	}
	if err := n.Join(); !errors.Is(err, syscall.EALREADY) {
		t.Errorf("a second join: %v", err)
	}
	if err := n.Leave(LeaveRequest{Code: 3}); err != nil {
		t.Error(err)
	}
	_, err := n.Members(MemberFilter{})
	for _, err := range []error{err, n.Leave(LeaveRequest{}), n.Write(WriteRequest{Key: "k"})} {
		if !errors.Is(err, syscall.ESRCH) || !strings.Contains(cli.HintOf(err), "zone join") {
			t.Errorf("who left: %v, hint %q", err, cli.HintOf(err))
		}
	}
	if err := n.Join(); err != nil || zoneVersion(t, n) != ahead+2 {
		t.Errorf("MS-A33: joined again: %v", err)
	}
	stop()
	n, stop = zoneNode(t, dir, nil)
	if v := zoneVersion(t, n); v != ahead+3 {
		t.Errorf("MS-6: life %d after %d", v, ahead+2)
	}
	stop()
}

// TestZoneAlone: a node that finds no other member of its zone logs a warning, with hints.
func TestZoneAlone(t *testing.T) {
	var log bytes.Buffer
	n, stop := zoneNode(t, t.TempDir(), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	n.zone.warnAlone()
	stop()
	if !strings.Contains(log.String(), "alone in its zone: no node in bootstrap (1 without this one) answers") {
		t.Errorf("it says %q", log.String())
	}
	for _, test := range []struct {
		name string
		s    zone.Status
		want string
	}{
		{"others", zone.Status{Status: engine.Status{State: "joined", Members: 2}, Bootstrap: 1}, ""},
		{"the first", zone.Status{Status: engine.Status{State: "joined", Members: 1}}, ""},
		{"left", zone.Status{Status: engine.Status{State: "left", Members: 1}, Bootstrap: 1}, ""},
		{"key", zone.Status{Status: engine.Status{State: "joined", Members: 1, Stats: engine.Stats{NotSigned: 1}}, Bootstrap: 1}, "key_file"},
		{"zone", zone.Status{Status: engine.Status{State: "joined", Members: 1, Stats: engine.Stats{OtherZone: 1}}, Bootstrap: 1}, "another zone"},
	} {
		if got := Alone(&test.s); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// TestKeepBesideAnother: a node starts while its state directory does not exist. Another daemon then makes and locks
// the directory. Until that daemon ends, the node stores no incarnation there, and it logs that once.
func TestKeepBesideAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	own, err := statelock.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Release()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := statelock.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	z := &zoner{cfg: &config.Zone{Name: "z"}, log: slog.New(slog.NewTextHandler(&log, nil))}
	keep := z.keeper(dir, own)
	for n := range uint64(20) {
		keep(n)
	}
	if n, err := incarnation.Kept(dir, z.kept()); n != 0 || err != nil || strings.Count(log.String(), "another lnetd") != 1 {
		t.Errorf("kept %d, %v; log %q", n, err, &log)
	}
	other.Release()
	keep(7)
	if n, err := incarnation.Kept(dir, z.kept()); n != 7 || err != nil {
		t.Errorf("after the other daemon has ended: kept %d, %v; log %q", n, err, &log)
	}
}

// TestStopAmidJoin: a node stops while 'gossipctl zone join' waits for a disk that does not answer. Close ends with its
// context.
func TestStopAmidJoin(t *testing.T) {
	n, stop := zoneNode(t, t.TempDir(), nil)
	if err := n.Leave(LeaveRequest{}); err != nil {
		t.Error(err)
	}
	n.zone.changing <- struct{}{} // as the join does
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
	<-n.zone.changing
	stop()
}
