package o2iblnd

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
)

// forgetful is a device whose accepted connections do not carry out WRITEs, as kernels omit
// those of a short reply (o2iblnd-wire §8.3).
type (
	forgetful        struct{ verbs.Device }
	forgetfulRequest struct{ verbs.Request }
	forgetfulConn    struct{ verbs.Conn }
)

func openForgetful(cfg verbs.OpenConfig) (verbs.Device, error) {
	d, err := softroce.Open(cfg)
	return forgetful{d}, err
}

func (d forgetful) Listen(port uint16, request func(verbs.Request)) (verbs.Listener, error) {
	return d.Device.Listen(port, func(r verbs.Request) { request(forgetfulRequest{r}) })
}

func (r forgetfulRequest) Accept(cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	c, err := r.Request.Accept(cfg, func(c verbs.Conn, e verbs.Event) { events(forgetfulConn{c}, e) })
	if err != nil {
		return nil, err
	}
	return forgetfulConn{c}, nil
}

func (c forgetfulConn) PostSend(wrs []verbs.SendWR) error {
	for i := range wrs {
		if wrs[i].Op == verbs.Write {
			wrs[i].Pieces, wrs[i].Remote.Length = nil, 0
		}
	}
	return c.Conn.PostSend(wrs)
}

// TestForgetfulPeer: a GET ends with an error if the peer says that it has written the answer and has not
// (o2iblnd-wire §8.3). The connection goes on.
func TestForgetfulPeer(t *testing.T) {
	at := loopbackAddrs(2)
	a, b := new(sink), new(answering)
	x := start(t, at[0], softroce.Open, Config{}, a)
	b.ni = start(t, at[1], openForgetful, Config{}, b)
	t.Cleanup(func() { shut(x); shut(b.ni) })
	x.Send(newGet(x, b.ni.nid, make([]byte, 5000)))
	a.await(t, "end of the GET", func() bool { return a.finished == 1 })
	x.Send(newGet(x, b.ni.nid, make([]byte, 100)))
	a.await(t, "an answer without WRITEs", func() bool { return a.arrived == 1 })
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.errs) != 1 || !errors.Is(a.errs[0], syscall.EIO) {
		t.Errorf("errors %v", a.errs)
	}
	if s := x.Snapshot(); s.Counters[NotWritten] != 1 || len(s.Peers) != 1 {
		t.Errorf("%+v", s.Counters)
	}
}
