//go:build linux

package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"ulnet/lnd/lndtest/netlab/netem"
)

// tunDevice is the character device that makes TAP devices; its number follows.
const (
	tunDevice = "/dev/net/tun"
	tunMajor  = 10
	tunMinor  = 200
)

// Wire is a cable that can be spoiled: two TAP devices, between which this
// process moves the frames.
type Wire struct {
	*Cable
	emulator *netem.Wire
}

// Wire joins two hosts as Cable does. All random decisions of Spoil come from seed. Without
// TAP devices Wire skips the test and says why.
func (l *Lab) Wire(a *Host, addrA string, b *Host, addrB string, seed uint64) *Wire {
	l.t.Helper()
	if err := makeTunDevice(); err != nil {
		l.t.Skipf("no TAP devices here: %v", err)
	}
	w := &Wire{Cable: &Cable{ends: [2]end{a.nextEnd(), b.nextEnd()}}}
	for i := range w.ends {
		e := &w.ends[i]
		e.host.must(e.name, func() (err error) {
			if e.tap, err = openTAP(e.name); err == nil {
				// The kernel reports that a link is up only when its carrier appears, so take
				// it away first.
				err = setCarrier(e.tap, false)
			}
			return err
		})
		l.t.Cleanup(func() { e.tap.Close() }) // fails if already closed, which is no error
	}
	w.emulator = netem.New(w.ends[0].tap, w.ends[1].tap, seed)
	l.t.Cleanup(func() { _ = w.emulator.Close() })
	w.connect(addrA, addrB)
	return w
}

// Spoil applies p to the frames that h sends from now on. The zero Plan changes nothing.
func (w *Wire) Spoil(h *Host, p netem.Plan) {
	h.t.Helper()
	if err := w.emulator.Set(w.from(h), p); err != nil {
		h.t.Fatalf("plan for what host %s sends: %v", h.name, err)
	}
}

// Counters returns what has happened to the frames that h sent.
func (w *Wire) Counters(h *Host) netem.Counters { return w.emulator.Counters(w.from(h)) }

func (w *Wire) from(h *Host) netem.End {
	h.t.Helper()
	if w.at(h) == &w.ends[0] {
		return netem.A
	}
	return netem.B
}

// makeTunDevice makes the device file where a container lacks it.
func makeTunDevice() error {
	_, err := os.Stat(tunDevice)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll("/dev/net", 0o755); err == nil {
			err = unix.Mknod(tunDevice, unix.S_IFCHR|0o666, int(unix.Mkdev(tunMajor, tunMinor)))
		}
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// openTAP makes a TAP device in the namespace of the thread. It goes away with
// its file.
func openTAP(name string) (*os.File, error) {
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tunDevice, err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("TUNSETIFF: %w", err)
	}
	// The descriptor can be polled only after TUNSETIFF.
	return os.NewFile(uintptr(fd), name), nil
}

// setCarrier plugs the cable of a TAP device in or pulls it out.
func setCarrier(tap *os.File, on bool) error {
	value := 0
	if on {
		value = 1
	}
	conn, err := tap.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), unix.TUNSETCARRIER, value)
	}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("TUNSETCARRIER: %w", failed)
	}
	return nil
}
