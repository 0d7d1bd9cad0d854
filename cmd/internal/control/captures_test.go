package control_test

import (
	"errors"
	"io"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/lnd/capture"
)

// captures is a daemon that serves captures to clients, and the writer through which it serves them.
type captures struct {
	*daemon
	tap    *capture.Writer
	access atomic.Int64 // access that the server grants to the next client
}

func serveCaptures(t *testing.T) *captures {
	t.Helper()
	tap, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tap.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &captures{tap: tap}
	c.daemon = serveAs(t, Config{Capture: tap}, func() Access { return Access(c.access.Load()) })
	return c
}

// open opens captures as a client with this access, until it has opened n or the daemon refuses one. It returns
// the last capture that it opened, and how many it opened. The other captures stay open, and nothing reads them.
func (c *captures) open(t *testing.T, access Access, n int) (last io.Reader, opened int, err error) {
	t.Helper()
	c.access.Store(int64(access))
	for opened < n {
		in, _, err := NewClient(c.path).Capture(t.Context())
		if err != nil {
			return last, opened, err
		}
		t.Cleanup(func() { in.Close() })
		last, opened = in, opened+1
	}
	return last, opened, nil
}

// TestGroupCannotTakeAllCaptures: however many captures the group of the socket opens and does not read,
// root gets one, which has the messages.
func TestGroupCannotTakeAllCaptures(t *testing.T) {
	c := serveCaptures(t)
	if _, opened, err := c.open(t, AccessRead, 100); opened < 2 || opened > 8 || err == nil || cli.HintOf(err) == "" {
		t.Errorf("the group has %d captures, then %v, hint %q", opened, err, cli.HintOf(err))
	}
	stream, _, err := c.open(t, AccessWrite, 1)
	if err != nil {
		t.Fatalf("root: %v", err)
	}
	c.tap.Flow(netip.MustParseAddrPort("10.0.0.1:1023"), netip.MustParseAddrPort("10.0.0.2:988"), true)
	in, err := capture.NewReader(stream)
	if err == nil {
		_, err = in.Next()
	}
	if err != nil {
		t.Errorf("the capture of root: %v", err)
	}
}

// TestTooManyCaptures: when the daemon serves as many captures as it can, a further client gets an
// error that says what to do, not an empty answer.
func TestTooManyCaptures(t *testing.T) {
	c := serveCaptures(t)
	_, opened, err := c.open(t, AccessWrite, 100)
	if failure, ok := errors.AsType[*Error](err); !ok || opened < 8 || failure.Message != capture.ErrViewers.Error() || failure.Hint == "" {
		t.Errorf("root has %d captures, then %#v", opened, err)
	}
}
