package o2iblnd

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
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
			waits, writes := Config{MTU: 4096, Timeout: 20 * time.Second}, Config{MTU: 4096, Timeout: 20 * time.Second, RetryCount: 1}
			if first == "who waits" {
				waits.Timeout, writes.RetryCount = time.Second, 7
			}
			a, b := new(sink), new(answering)
			v := &virtual{t: t, clock: emulator.NewClock(), ups: [2]*sink{a, &b.sink}}
			v.net = emulator.New(emulator.Config{Clock: v.clock, Seed: 1})
			inTime := func(c *lnd.Config) { c.Clock = v.clock }
			x := start(t, netip.MustParseAddr("10.0.0.1"), softroce.NewOpener(softroce.Options{Network: v.net}), waits, a, inTime)
			b.ni = start(t, netip.MustParseAddr("10.0.0.2"), softroce.NewOpener(softroce.Options{Network: narrow{v.net}}), writes, b, inTime)
			v.nis = [2]*NI{x, b.ni}
			x.Send(newMessage(x, b.ni.nid, 100))
			v.until("small message", time.Minute, func(s *sink) bool { return s.finished == 1 && len(s.errs) == 0 }, a)
			x.Send(newGet(x, b.ni.nid, make([]byte, 100_000)))
			v.until("end of the GET", time.Minute, func(s *sink) bool { return s.finished == 2 }, a)
			v.until("end of the REPLY", time.Minute, func(s *sink) bool { return s.finished == 1 }, &b.sink)
			errs := a.errs
			if first == "who writes" {
				errs = b.errs
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "compare the MTUs") {
				t.Errorf("ended with %v", errs)
			}
			for i := range v.nis {
				v.shut(i)
			}
		})
	}
}
