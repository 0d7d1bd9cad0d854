//go:build linux

package main

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/smalldisk"
)

// TestCaptureRotationOnFullDisk: on a disk that has room for the name of a new file but not for its first
// bytes, the capture continues in the old file, under that file's old name. When there is room again, the
// rotation succeeds, and the old file has all packets.
func TestCaptureRotationOnFullDisk(t *testing.T) {
	disk := smalldisk.New(t)
	path := filepath.Join(disk.Dir, "lnet.pcapng")
	var tap *tap
	if err := disk.Do(func() (err error) {
		tap, err = begunTap(config.Config{Capture: path, CaptureTime: time.Second, CaptureFiles: 1})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	tend := func(after time.Duration) error {
		return disk.Do(func() error { return tap.tend(tap.began.Add(after)) })
	}
	for n := range 2 { // fails twice: the second rotation finds what the first one has left
		after := time.Second + time.Duration(n)*rotateRetry
		if err := tend(after); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("failure %d: error %v, want ENOSPC", n, err)
		}
		tap.writer.Flow(netip.MustParseAddrPort("10.0.0.1:1023"), netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), uint16(988+n)), true)
		if err := tend(after + flushInterval); err != nil {
			t.Errorf("after failure %d: %v", n, err)
		}
		if n := packetsOf(t, disk, path); n == 0 {
			t.Error("the file has no packets")
		}
	}
	disk.Free()
	if err := tend(time.Second + 2*rotateRetry); err != nil {
		t.Errorf("with room: %v", err)
	}
	if err := disk.Do(tap.close); err != nil {
		t.Error(err)
	}
	if old, present := packetsOf(t, disk, path+".1"), packetsOf(t, disk, path); old != 6 || present != 6 {
		t.Errorf("%d and %d packets, want the handshakes of two connections in both files", old, present)
	}
}

// packetsOf returns how many packets a capture on a disk has.
func packetsOf(t *testing.T, disk *smalldisk.Disk, path string) (n int) {
	t.Helper()
	err := disk.Do(func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in, err := capture.NewReader(f)
		for err == nil {
			if _, err = in.Next(); err == nil {
				n++
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return n
}
