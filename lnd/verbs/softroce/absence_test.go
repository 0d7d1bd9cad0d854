package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet/machine"
)

// TestAbsence: long absences add up. The present one counts from its beginning, as soon as it is long, and for a minute.
func TestAbsence(t *testing.T) {
	const ms = time.Millisecond
	var a absence
	want := func(now, total time.Duration, present bool) {
		t.Helper()
		if got := a.at(now); got.total != total || (got.present != 0) != present {
			t.Errorf("at %v absent for %+v, want %v, %v", now, got, total, present)
		}
	}
	want(0, 0, false)
	a.begin(0)
	want(longAbsence-1, 0, false)
	want(longAbsence, longAbsence, true)
	want(200*ms, 200*ms, true)
	a.end(200 * ms)
	a.back()
	want(300*ms, 200*ms, false)
	a.back()
	want(400*ms, 200*ms, false)
	a.begin(1000 * ms) // two short upcalls, which are long together
	a.end(1070 * ms)
	a.begin(1070 * ms)
	want(1127*ms, 200*ms, false)
	a.end(1140 * ms)
	want(1140*ms, 340*ms, true)
	a.back()
	want(2000*ms, 340*ms, false)
	a.begin(3000 * ms)
	a.end(3000*ms + longAbsence - 1)
	a.back()
	want(time.Hour, 340*ms, false)
	a.begin(2 * time.Hour)
	want(3*time.Hour, 340*ms+time.Minute, true)
	a.end(4 * time.Hour)
	a.back()
	want(5*time.Hour, 340*ms+time.Minute, false)
}

// hooked is a connection that calls a function when something is posted to it.
type hooked struct {
	verbs.Conn
	posting func()
}

func (c hooked) PostSend(wrs []verbs.SendWR) error {
	c.posting()
	return c.Conn.PostSend(wrs)
}

// TestUnread: the upcall for a message takes two seconds. Meanwhile answers of the peer lie unread on two other
// connections: an ACK, for which there is one retry, and the REP for a request that may take one second. Both
// connections stay.
func TestUnread(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	var cfg verbs.ConnConfig
	ends, _ := v.pair(nil, func(c *verbs.ConnConfig) {
		if c.RetryCount = 7; cfg.QP.PD == nil {
			cfg = *c
		}
	})
	cfg.RetryCount, cfg.Timeout = 1, time.Second
	dev, back := ends[0].conn.(*conn).dev, ends[1].conn
	peer := addrPort(back.(*conn).dev)
	var events [2][]verbs.Event
	connect := func(i int) *conn {
		c, err := dev.Connect(peer, cfg, func(_ verbs.Conn, e verbs.Event) { events[i] = append(events[i], e) })
		if err != nil {
			t.Fatal(err)
		}
		return c.(*conn)
	}
	c := connect(0)
	v.clock.Run(v.clock.Now() + time.Second)
	upcalls := 0
	ends[0].conn = hooked{ends[0].conn, func() {
		if upcalls++; upcalls > 1 {
			return
		}
		if err := c.PostSend([]verbs.SendWR{send(1, []byte("message"))}); err != nil {
			t.Error(err)
		}
		connect(1)
		v.clock.Run(v.clock.Now() + 2*time.Second)
	}}
	if err := back.PostSend([]verbs.SendWR{send(1, []byte("message"))}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the upcall lasts until after the first of these seconds
		v.clock.Run(v.clock.Now() + time.Second)
	}
	for i, list := range events {
		if len(list) != 1 || list[0].Kind != verbs.Established {
			t.Errorf("connection %d: %d events, %+v", i, len(list), list)
		}
	}
	if left := c.rc.sends.len(); upcalls != 1 || left > 0 || c.rc.counters.Timeouts > 0 {
		t.Errorf("%d upcalls, %d messages have no ACK, %+v", upcalls, left, c.rc.counters)
	}
	if d := dev.Absence(); d != 2*time.Second {
		t.Errorf("absent for %v", d)
	}
}

// skewed is a clock that can be set forward without calling timers.
type skewed struct {
	machine.Clock
	ahead time.Duration
}

func (c *skewed) Now() time.Duration { return c.Clock.Now() + c.ahead }

// TestAbsentLate: a connection ends in the step that follows an upcall. The upcalls for that count as absence as well, also when
// they have returned.
func TestAbsentLate(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	ends, _ := v.pair(nil, func(c *verbs.ConnConfig) { c.RetryCount = 0 })
	c, back := ends[0].conn.(*conn), ends[1].conn
	clock := &skewed{Clock: c.hub.clock}
	c.hub.clock = clock
	const long = 5 * time.Second
	upcalls := 0
	ends[0].conn = hooked{c, func() {
		upcalls++
		c.rc.req.silentSince -= time.Minute // the ACK for the message of this end is late
		clock.ahead += 100 * time.Millisecond
	}}
	events := c.events.upcall
	c.events.upcall = func(vc verbs.Conn, e verbs.Event) {
		clock.ahead += long
		events(vc, e)
	}
	for _, vc := range []verbs.Conn{back, c} {
		if err := vc.PostSend([]verbs.SendWR{send(1, []byte("message"))}); err != nil {
			t.Fatal(err)
		}
	}
	v.clock.Run(v.clock.Now() + time.Millisecond)
	if d := c.dev.Absence(); upcalls != 1 || clock.ahead < long || d != clock.ahead {
		t.Errorf("%d upcalls, absent for %v, want %v", upcalls, d, clock.ahead)
	}
}

// TestAbsentReporting: the time that a report of unknown packets takes counts as absence.
func TestAbsentReporting(t *testing.T) {
	clock := &skewed{Clock: emulator.NewClock()}
	h := &hub{clock: clock}
	if h.reporting(nil) != nil {
		t.Error("reports to no function")
	}
	h.reporting(func(netip.Addr) { clock.ahead += time.Second })(netip.Addr{})
	if d := h.absence.at(clock.Now()).total; d != time.Second {
		t.Errorf("absent for %v", d)
	}
}

// TestAbsentDatagram: the time that the upcall for a unicast datagram takes counts as absence.
func TestAbsentDatagram(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	from, to := openListener(t, v.open, v.clock, "10.0.0.1", nil), openListener(t, v.open, v.clock, "10.0.0.2", nil)
	clock := &skewed{Clock: v.clock}
	to.qp.hub.clock = clock
	done := to.qp.recvs.done
	to.qp.recvs.done = func(list []verbs.Completion) {
		clock.ahead += time.Second
		done(list)
	}
	d := numbered(0)
	d.To, d.QPN = to.qp.hub.addr, uint32(to.qp.qpn)
	if err := from.qp.PostSend([]verbs.Datagram{d}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(v.clock.Now() + time.Millisecond)
	if d := to.device.(*device).Absence(); len(to.got) != 1 || d != time.Second {
		t.Errorf("%d datagrams arrived, absent for %v", len(to.got), d)
	}
}
