package o2iblnd

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/verbs"
)

// refusing is a connection of a device that takes no work requests.
type refusing struct {
	verbs.Conn
	err error
}

func (c refusing) PostSend([]verbs.SendWR) error { return c.err }

// TestNotPosted (HV-3): the device takes no work request of a connection that is established. The messages on it end, also those that were
// posted before. If this node lacks something, no other node is blamed for that.
func TestNotPosted(t *testing.T) {
	spec.Covers(t, "HV-3")
	for _, tt := range []struct {
		err   error
		want  Reason
		class lnd.Failure
		errno syscall.Errno
	}{
		{fmt.Errorf("register memory: %w", syscall.ENOMEM), NotPosted, lnd.LocalDropped, syscall.ENOMEM},
		{verbs.ErrFull, NotPosted, lnd.LocalDropped, syscall.ENOMEM},
		{verbs.ErrClosed, TransportFailed, lnd.RemoteDropped, syscall.ECONNABORTED},
	} {
		m, ends := newMetered(t, 8, 8)
		e := ends[0]
		c := e.ni.conns.all()[0]
		e.send()
		c.vc = refusing{c.vc, tt.err}
		e.send()
		m.runUntil(t, func() bool { return e.finalized == 2 && e.ni.conns.len() == 0 })
		for _, err := range e.errs {
			if f := new(Error); !errors.As(err, &f) || f.Reason != tt.want || lnd.FailureOf(err) != tt.class || !errors.Is(err, tt.errno) || !errors.Is(err, tt.err) {
				t.Errorf("%v: ended with %v", tt.err, err)
			}
		}
		if n := e.ni.counts[tt.want].Load(); len(e.errs) != 2 || n != 1 {
			t.Errorf("%v: %d errors, %d counted", tt.err, len(e.errs), n)
		}
	}
}
