package o2iblnd

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// narrow is a network on which large datagrams of one node do not leave, as when its
// interface has a smaller MTU than the path that it agreed to.
type narrow struct{ wire.Network }

func (n narrow) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return narrowConn{c}, err
}

type narrowConn struct{ wire.Conn }

func (c narrowConn) Send(list []wire.Burst) (int, error) {
	for i := range list {
		if list[i].Size > 1500 {
			continue
		}
		if _, err := c.Conn.Send(list[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// TestMTUsDiffer: if small messages arrive and bulk data does not, the errors advise to compare the
// MTUs, both at the side that waits for data and at the side whose data is not acknowledged.
func TestMTUsDiffer(t *testing.T) {
	for _, first := range []string{"who waits", "who writes"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			at := loopbackAddrs(2)
			shared := emulator.New(emulator.Config{Clock: machine.RealClock(), Seed: 1})
			waits, writes := Config{MTU: 4096, Timeout: 20 * time.Second}, Config{MTU: 4096, Timeout: 20 * time.Second, RetryCount: 1}
			if first == "who waits" {
				waits.Timeout, writes.RetryCount = 3*time.Second, 7
			}
			a, b := new(sink), new(answering)
			x := start(t, at[0], softroce.NewOpener(softroce.Options{Network: shared}), waits, a)
			b.ni = start(t, at[1], softroce.NewOpener(softroce.Options{Network: narrow{shared}}), writes, b)
			defer shut(x)
			defer shut(b.ni)
			x.Send(newMessage(x, b.ni.nid, 100))
			a.await(t, "small message", func() bool { return a.finished == 1 && len(a.errs) == 0 })
			x.Send(newGet(x, b.ni.nid, make([]byte, 100_000)))
			a.await(t, "end of the GET", func() bool { return a.finished == 2 })
			b.await(t, "end of the REPLY", func() bool { return b.finished == 1 })
			errs := a.errs
			if first == "who writes" {
				errs = b.errs
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "compare the MTUs") {
				t.Errorf("ended with %v", errs)
			}
		})
	}
}
