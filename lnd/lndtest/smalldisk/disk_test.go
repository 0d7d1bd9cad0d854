//go:build linux

package smalldisk_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/smalldisk"
)

// TestDisk: a disk is full, free, read-only and writable as the test demands, and no other
// process sees it.
func TestDisk(t *testing.T) {
	disk := smalldisk.New(t)
	for _, step := range []struct {
		name string
		do   func()
		want error
	}{
		{"empty", func() {}, nil},
		{"full", disk.Fill, syscall.ENOSPC},
		{"free", disk.Free, nil},
		{"read-only", func() { disk.ReadOnly(true) }, syscall.EROFS},
		{"writable", func() { disk.ReadOnly(false) }, nil},
	} {
		step.do()
		err := disk.Do(func() error { return os.WriteFile(filepath.Join(disk.Dir, step.name), []byte("data"), 0o600) })
		if !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
	}
	if _, err := os.Stat(filepath.Join(disk.Dir, "empty")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("outside: %v", err)
	}
}
