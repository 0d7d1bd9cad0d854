//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/smalldisk"
	"ulnet/lnd/lndtest/spec"
)

// TestBadDisk: CH-4: a server whose state directory is on a full or read-only disk starts, both
// the first time and later, answers, and reports what it cannot save. When the disk works
// again, the server saves records without a restart.
func TestBadDisk(t *testing.T) {
	spec.Covers(t, "CH-4")
	if testing.Short() {
		t.Skip("waits until files are tried again; skipped by -short")
	}
	addr := netip.MustParseAddr("127.0.0.97")
	port, err := loopback.FreePort(addr)
	if err != nil {
		t.Fatal(err)
	}
	commands := lnetdtest.Build(t)
	for _, trouble := range smalldisk.Troubles {
		t.Run(trouble.Name, func(t *testing.T) {
			disk := smalldisk.New(t)
			start := func() *lnetdtest.Daemon {
				return commands.Start(t, lnetdtest.Config{
					Networks: fmt.Sprintf("tcp(%v)", addr), Port: port, StateDir: filepath.Join(disk.Dir, "state"), Within: disk.Do,
					Settings: []string{"scoll:", "  enable: 1", "gossip:", "  nids: ['127.0.0.[97-98]@tcp']", "  cold_start: 1", "health:", "  server: 1"},
				})
			}
			wantRecords := func(d *lnetdtest.Daemon, kept bool) {
				t.Helper()
				d.Until(heldWithin, fmt.Sprintf("records kept: %v", kept), func() bool {
					s, err := health.OpStatus.Call(t.Context(), d.Control(), control.None{})
					return err == nil && s.Server != nil && s.Server.Store != nil && (s.Server.Store.Error == "") == kept
				})
			}
			for n := range 2 { // the first start, and one that finds the files of the first
				trouble.Spoil(disk)
				d := start()
				wantRecords(d, n == 1 && trouble.Name == "full") // the server keeps records only at the second start on a full disk: opening files that exist needs no room
				if !strings.Contains(d.Log(), "the incarnation of this node is not kept") {
					t.Errorf("start %d: it does not say what it cannot keep:\n%s", n, d.Log())
				}
				trouble.Amend(disk)
				if n == 0 || trouble.Name == "full" { // not at the second start on a read-only disk: a server opens its old file for writing only for the first client
					wantRecords(d, true)
					second := commands.Start(t, lnetdtest.Config{Networks: "lo", Port: port, StateDir: filepath.Join(disk.Dir, "state"), Within: disk.Do, Early: true})
					d.Until(heldWithin, "answer of the lock to another lnetd", func() bool {
						return strings.Contains(second.Log(), "another lnetd") || strings.Contains(second.Log(), "msg=ready")
					})
					if !strings.Contains(second.Log(), "another lnetd uses the state directory") {
						t.Errorf("start %d: another lnetd may use the directory that this one has made:\n%s", n, second.Log())
					}
					second.Kill()
				}
				if err := d.Stop(); err != nil {
					t.Errorf("start %d: %v", n, err)
				}
				d = start()
				wantRecords(d, true)
				if strings.Contains(d.Log(), "level=ERROR") {
					t.Errorf("start %d, with room:\n%s", n, d.Log())
				}
				if err := d.Stop(); err != nil {
					t.Errorf("start %d, with room: %v", n, err)
				}
			}
			for range 2 { // damaged files are set aside at each start, even if an earlier start has set files aside, too
				if err := disk.Do(func() error { return damage(filepath.Join(disk.Dir, "state")) }); err != nil {
					t.Fatal(err)
				}
				d := start()
				wantRecords(d, true)
				for _, text := range []string{"the number of this node's last incarnation is lost", "records of connections were damaged"} {
					if !strings.Contains(d.Log(), text) {
						t.Errorf("damage: it does not say %q:\n%s", text, d.Log())
					}
				}
				if err := d.Stop(); err != nil {
					t.Errorf("damage: %v", err)
				}
			}
		})
	}
}

// damage truncates every file of a directory to a few bytes.
func damage(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if err := os.Truncate(filepath.Join(dir, e.Name()), 6); err != nil {
			return err
		}
	}
	return err
}
