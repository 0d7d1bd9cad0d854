//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/smalldisk"
	"ulnet/scoll/tree"
)

// TestUnfinishedPicture: a picture that a full disk has no room for is removed.
func TestUnfinishedPicture(t *testing.T) {
	disk := smalldisk.New(t)
	disk.Fill()
	err := disk.Do(func() error {
		o := drawing{svg: filepath.Join(disk.Dir, "tree.svg")}
		if err := o.file(grow(tree.Tree{Topology: tree.KNomial(2), N: 100}, speed{1, 1})); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v, want ENOSPC", err)
		}
		_, err := os.Stat(o.svg)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: error %v", err)
	}
}

// TestUnfinishedLink: anything but a regular file stays when a picture cannot be written to it. Root could otherwise
// remove a device, and a symbolic link is not what was written to.
func TestUnfinishedLink(t *testing.T) {
	o := drawing{svg: filepath.Join(t.TempDir(), "link.svg")}
	if err := os.Symlink("/dev/full", o.svg); err != nil {
		t.Fatal(err)
	}
	if err := o.file(grow(tree.Tree{Topology: tree.KNomial(2), N: 3}, speed{1, 1})); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want ENOSPC", err)
	}
	if _, err := os.Lstat(o.svg); err != nil {
		t.Error(err)
	}
}
