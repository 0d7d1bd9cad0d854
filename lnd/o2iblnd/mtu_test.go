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

// narrowing is a network in which a test can give an interface a smaller MTU. Longer datagrams then do not leave
// it.
type narrowing struct {
	wire.Network
	mtu *int
}

func (n narrowing) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return narrowingConn{c, n.mtu}, err
}

type narrowingConn struct {
	wire.Conn
	mtu *int
}

func (c narrowingConn) MTU() int { return *c.mtu }

func (c narrowingConn) Attr() wire.Attr {
	a := c.Conn.Attr()
	a.MTU = *c.mtu
	return a
}

func (c narrowingConn) Send(list []wire.Burst) (int, error) {
	if 0 < *c.mtu && *c.mtu <= 1500 {
		return narrowConn{c.Conn}.Send(list)
	}
	return c.Conn.Send(list)
}

// narrowingPair returns two NIs on narrowing networks, and the MTUs of these, which are large at first.
func narrowingPair(t *testing.T) (*virtual, *[2]int) {
	v := &virtual{t: t, clock: emulator.NewClock(), ups: [2]*sink{new(sink), new(sink)}}
	v.net = emulator.New(emulator.Config{Clock: v.clock, Seed: 1})
	mtus := &[2]int{9000, 9000}
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		open := softroce.NewOpener(softroce.Options{Network: narrowing{v.net, &mtus[i]}})
		v.nis[i] = start(t, netip.MustParseAddr(a), open, Config{}, v.ups[i], func(c *lnd.Config) { c.Clock = v.clock })
	}
	return v, mtus
}

// TestMTUNarrows: when the interface of a node gets a smaller MTU, its connections are made again with packets
// that fit, whichever node requests them. When it gets its old MTU back, new connections have the old packet size
// again.
func TestMTUNarrows(t *testing.T) {
	v, mtus := narrowingPair(t)
	sent := 0
	exchange := func(mtu, want int) {
		t.Helper()
		mtus[0] = mtu
		v.nis[0].LinkUp()
		v.clock.Run(v.clock.Now() + time.Second)
		sent++
		for _, from := range []int{1, 0} {
			v.nis[from].Send(newMessage(v.nis[from], v.nis[1-from].nid, 100_000))
			v.until("bulk data", time.Second, func(s *sink) bool { return s.finished == sent && len(s.errs) == 0 }, v.ups[from])
			v.until("bulk data", time.Second, func(s *sink) bool { return s.arrived == sent && len(s.errs) == 0 }, v.ups[1-from])
		}
		if got := v.nis[0].Snapshot().Device.MTU; got != want {
			t.Errorf("with an interface's MTU of %d the path MTU is %d, want %d", mtu, got, want)
		}
	}
	exchange(9000, 4096)
	exchange(1500, 1024)
	kept := v.nis[0].Snapshot().Peers[0].Conns
	exchange(1500, 1024)
	exchange(9000, 4096)
	exchange(0, 4096) // the MTU cannot be found out
	if now := v.nis[0].Snapshot().Peers[0].Conns; len(kept) != 1 || len(now) != 1 || now[0].QPN != kept[0].QPN {
		t.Errorf("connections whose packets fit have become others: %+v, then %+v", kept, now)
	}
	if s := v.nis[1].Snapshot(); s.Counters.Of(RejectedMTU) == 0 {
		t.Error("no request for larger packets was refused")
	}
	for i := range v.nis {
		v.shut(i)
	}
}

// TestMTUNarrowsDuringConnect: an interface gets a smaller MTU while a request is under way, which the peer grants. The
// messages that wait for the connection, small and large, arrive over one whose packets fit, and lnet does not hear that
// the peer is down. When the former MTU is back, new connections to this peer have the former packet size.
func TestMTUNarrowsDuringConnect(t *testing.T) {
	v, mtus := narrowingPair(t)
	follow := func(mtu int) {
		mtus[0] = mtu
		v.nis[0].LinkUp()
	}
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 100))
	v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, 100_000))
	follow(1500)
	v.until("the messages", time.Second, func(s *sink) bool { return s.finished == 2 }, v.ups[0])
	if s := v.ups[0]; len(s.errs) > 0 || len(s.downs) > 0 || v.ups[1].arrived != 2 {
		t.Errorf("%d messages have arrived, errors %v, down %v", v.ups[1].arrived, s.errs, s.downs)
	}
	if c := v.nis[0].Snapshot().Counters; c.Of(RejectedMTU) != 1 {
		t.Errorf("%d requests were repeated because of the MTU", c.Of(RejectedMTU))
	}
	follow(9000)
	if got := v.nis[0].peers.Get(v.nis[1].nid).set.ask().mtu; got != 0 {
		t.Errorf("later connections get packets of %d bytes", got)
	}
	for i := range v.nis {
		v.shut(i)
	}
}

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

// fixedDevice is a device that opens connections only with its own MTU.
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
// connection that the peer requests carries the messages of both nodes.
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
