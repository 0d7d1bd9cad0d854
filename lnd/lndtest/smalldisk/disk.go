//go:build linux

// Package smalldisk gives a test a disk of its own that it can fill, make read-only
// and free again:
//
//	disk := smalldisk.New(t)
//	disk.Fill()
//	err := disk.Do(func() error { return os.WriteFile(filepath.Join(disk.Dir, "f"), data, 0o600) })
//
// It is a tmpfs in a mount namespace. Only functions called by Do, and processes that they
// start, can see it, and it ends with the last of these. So a test that is killed leaves
// nothing mounted. Making one needs privilege; without it New skips the test and says why.
// Linux only.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// size is the number of bytes that a disk holds.
const size = 4 << 20

// Disk is a small file system that a test can fill.
type Disk struct {
	// Dir is where it is mounted, for functions called by Do.
	Dir string

	t  testing.TB
	ns *os.File
}

// Troubles are the faults of a disk, each with the function that ends it.
var Troubles = []struct {
	Name         string
	Spoil, Amend func(*Disk)
}{
	{"full", (*Disk).Fill, (*Disk).Free},
	{"read-only", func(d *Disk) { d.ReadOnly(true) }, func(d *Disk) { d.ReadOnly(false) }},
}

// New mounts an empty disk for a test.
func New(t testing.TB) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), t: t}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("private mounts: %w", err)
		}
		if err := unix.Mount("tmpfs", d.Dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		var err error
		d.ns, err = os.Open("/proc/thread-self/ns/mnt")
		return err
	})
	if err != nil {
		t.Skipf("no file system of its own for the test here: %v", err)
	}
	t.Cleanup(func() { d.ns.Close() })
	return d
}

// Do runs f on a thread that sees the disk, as do processes that f starts. What f
// does in other goroutines happens outside.
func (d *Disk) Do(f func() error) error {
	return onThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Setns(int(d.ns.Fd()), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		return f()
	})
}

// Fill writes a file until the disk has no room for one more byte.
func (d *Disk) Fill() {
	d.t.Helper()
	d.must(func() error {
		f, err := os.Create(d.filler())
		if err != nil {
			return err
		}
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		if errors.Is(err, syscall.ENOSPC) {
			err = nil
		}
		return errors.Join(err, f.Close())
	})
}

// Free removes what Fill wrote.
func (d *Disk) Free() {
	d.t.Helper()
	d.must(func() error { return os.Remove(d.filler()) })
}

// ReadOnly makes the disk read-only, or writable again.
func (d *Disk) ReadOnly(on bool) {
	d.t.Helper()
	flags := uintptr(unix.MS_REMOUNT)
	if on {
		flags |= unix.MS_RDONLY
	}
	d.must(func() error { return unix.Mount("", d.Dir, "", flags, "") })
}

func (d *Disk) filler() string { return filepath.Join(d.Dir, "filler") }

func (d *Disk) must(f func() error) {
	d.t.Helper()
	if err := d.Do(f); err != nil {
		d.t.Fatal(err)
	}
}

// onThread runs f on a thread that no other goroutine uses afterwards, because that thread sees
// the disk.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		result <- f()
	}()
	return <-result
}
