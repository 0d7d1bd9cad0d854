package o2iblnd

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
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

// fixedDevice is a device whose connections have packets of its own MTU alone.
type fixedDevice struct{ verbs.Device }

func (d fixedDevice) Attr() verbs.DeviceAttr {
	a := d.Device.Attr()
	a.FixedMTU = true
	return a
}

func (d fixedDevice) Connect(to netip.AddrPort, cfg verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	if cfg.MTU != 0 && cfg.MTU != d.Attr().MTU {
		return nil, errors.New("packets of another length")
	}
	return d.Device.Connect(to, cfg, events)
}

// TestFixedMTU: if the peer's interface has a smaller MTU and the device of this side cannot send shorter packets,
// messages fail with the advice to make the MTUs equal, and the failure blames the peer and not the NI of this side. A
// connection that the peer requests serves both.
func TestFixedMTU(t *testing.T) {
	v := &virtual{t: t, clock: emulator.NewClock(), ups: [2]*sink{new(sink), new(sink)}}
	v.net = emulator.New(emulator.Config{Clock: v.clock, Seed: 1})
	inTime := func(c *lnd.Config) { c.Clock = v.clock }
	open := softroce.NewOpener(softroce.Options{Network: v.net})
	fixed := func(c verbs.OpenConfig) (verbs.Device, error) {
		d, err := open(c)
		return fixedDevice{d}, err
	}
	x := start(t, netip.MustParseAddr("10.0.0.1"), fixed, Config{MTU: 4096}, v.ups[0], inTime)
	y := start(t, netip.MustParseAddr("10.0.0.2"), open, Config{MTU: 1024}, v.ups[1], inTime)
	v.nis = [2]*NI{x, y}
	for n := 1; n <= 2; n++ {
		x.Send(newMessage(x, y.nid, 100))
		v.until("the end of the message", time.Minute, func(s *sink) bool { return s.finished == n }, v.ups[0])
	}
	for _, err := range v.ups[0].errs {
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != RejectedMTU || lnd.FailureOf(err) != lnd.RemoteDropped || !strings.Contains(err.Error(), "MTUs of both interfaces") {
			t.Errorf("ended with %v, class %v", err, lnd.FailureOf(err))
		}
	}
	if n := len(v.ups[0].errs); n != 2 {
		t.Errorf("%d messages failed, want 2", n)
	}
	y.Send(newMessage(y, x.nid, 100_000))
	v.until("a message of the peer", time.Minute, func(s *sink) bool { return s.arrived == 1 }, v.ups[0])
	x.Send(newMessage(x, y.nid, 100_000))
	v.until("a message to the peer", time.Minute, func(s *sink) bool { return s.arrived == 1 && len(s.errs) == 0 }, v.ups[1])
	for i := range v.nis {
		v.shut(i)
	}
}
