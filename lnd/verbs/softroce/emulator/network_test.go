package emulator

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/verbs/softroce/wire"
)

var ends = [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:4791"), netip.MustParseAddrPort("10.0.0.2:4791")}

// TestClock: timers run in order and at their time, and can be stopped and set again.
func TestClock(t *testing.T) {
	c := NewClock()
	var got []time.Duration
	note := func() { got = append(got, c.Now()) }
	c.AfterFunc(3*time.Second, note)
	again := c.AfterFunc(time.Second, note)
	stopped := c.AfterFunc(2*time.Second, note)
	c.AfterFunc(-time.Second, func() { note(); c.AfterFunc(time.Second, note) })
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop says something else")
	}
	c.Run(2500 * time.Millisecond)
	if again.Stop() || again.(interface{ Reset(time.Duration) bool }).Reset(time.Second) {
		t.Error("a timer that ran is set")
	}
	c.Run(time.Minute)
	want := []time.Duration{0, time.Second, time.Second, 3 * time.Second, 3500 * time.Millisecond}
	if !slices.Equal(got, want) || c.Now() != time.Minute || c.Step(time.Hour) {
		t.Errorf("timers at %v, want %v", got, want)
	}
}

// arrived is a datagram that a port received.
type arrived struct {
	at    time.Duration
	from  netip.AddrPort
	class uint8
	text  string
}

// open opens a port and records the datagrams that arrive there.
func open(t *testing.T, e *Network, clock *Clock, cfg wire.Config) (wire.Conn, *[]arrived) {
	t.Helper()
	list := new([]arrived)
	cfg.Receive = func(got []wire.Datagrams) {
		for _, d := range got {
			*list = append(*list, arrived{clock.Now(), d.From, d.Class, string(d.Bytes)})
		}
	}
	c, err := e.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, list
}

// TestEmulator: bursts are cut, delayed and delivered in order, to nodes and to groups,
// between nodes that are not cut off from each other.
func TestEmulator(t *testing.T) {
	clock := NewClock()
	e := New(Config{Clock: clock, MTU: 40, Faults: Faults{Delay: time.Millisecond}})
	a, _ := open(t, e, clock, wire.Config{Local: ends[0]})
	b, got := open(t, e, clock, wire.Config{Local: ends[1]})
	group := netip.MustParseAddr("239.0.0.1")
	g, member := open(t, e, clock, wire.Config{Local: ends[1], Group: group})
	if _, err := e.Open(wire.Config{Local: ends[0]}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Error(err)
	}
	send := func(list ...wire.Burst) {
		t.Helper()
		if n, err := a.Send(list); n != len(list) || err != nil {
			t.Fatal(n, err)
		}
		clock.Run(clock.Now() + 10*time.Millisecond)
	}
	send(wire.Burst{To: ends[1], Class: 3, Size: 4, Segments: 3, Bytes: []byte("onceupona")}, wire.Burst{To: ends[1], Size: 4, Segments: 1, Bytes: []byte("time")})
	at := time.Millisecond
	want := []arrived{{at, ends[0], 3, "once"}, {at, ends[0], 3, "upon"}, {at, ends[0], 3, "a"}, {at, ends[0], 0, "time"}}
	if !slices.Equal(*got, want) {
		t.Errorf("%v", *got)
	}
	send(wire.Burst{To: netip.AddrPortFrom(group, wire.Port), Size: 9, Segments: 1, Bytes: []byte("all")})
	if len(*member) != 1 || (*member)[0].text != "all" {
		t.Errorf("%v", *member)
	}
	e.Cut(ends[1].Addr(), ends[0].Addr(), true)
	send(wire.Burst{To: ends[1], Size: 4, Segments: 1, Bytes: []byte("cut")})
	e.Cut(ends[0].Addr(), ends[1].Addr(), false)
	send(wire.Burst{To: ends[1], Size: 13, Segments: 1, Bytes: []byte("over the MTU.")})
	for _, c := range []wire.Conn{b, g} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	send(wire.Burst{To: ends[1], Size: 4, Segments: 1, Bytes: []byte("gone")}, wire.Burst{To: netip.AddrPortFrom(group, wire.Port), Size: 1, Segments: 1, Bytes: []byte("x")})
	if s, want := e.Stats(), (Stats{Sent: 9, Delivered: 5, Cut: 1, Unknown: 1, TooLong: 1}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	if len(*got) != 4 || len(*member) != 1 {
		t.Error("more came")
	}
}

// TestEmulatorFaults: each fault occurs about as often as configured, and in two runs it hits
// the same datagrams.
func TestEmulatorFaults(t *testing.T) {
	run := func() (Stats, []arrived) {
		clock := NewClock()
		e := New(Config{Clock: clock, Seed: 3, Uncut: true})
		e.SetFaults(Faults{Loss: 0.1, Duplicate: 0.1, Corrupt: 0.1, Reorder: 0.1, Jitter: time.Microsecond, Hold: time.Second})
		a, _ := open(t, e, clock, wire.Config{Local: ends[0]})
		_, got := open(t, e, clock, wire.Config{Local: ends[1]})
		if n, err := a.Send([]wire.Burst{{To: ends[1], Size: 1, Segments: 2, Bytes: []byte("xx")}}); n != 0 || !errors.Is(err, wire.ErrUncut) {
			t.Error(n, err)
		}
		for range 10000 {
			if _, err := a.Send([]wire.Burst{{To: ends[1], Size: 1, Segments: 1, Bytes: []byte("x")}}); err != nil {
				t.Fatal(err)
			}
		}
		clock.Run(time.Minute)
		return e.Stats(), *got
	}
	s, got := run()
	for what, n := range map[string]uint64{"lost": s.Lost, "duplicated": s.Duplicated, "corrupted": s.Corrupted, "reordered": s.Reordered} {
		if n < 800 || n > 1200 {
			t.Errorf("%d of 10000 are %s", n, what)
		}
	}
	late, damaged := uint64(0), uint64(0)
	for _, d := range got {
		if d.at >= time.Second {
			late++
		}
		if d.text != "x" {
			damaged++
		}
	}
	if late != s.Reordered || damaged != s.Corrupted || uint64(len(got)) != 10000-s.Lost+s.Duplicated {
		t.Errorf("%d late, %d damaged of %d: %+v", late, damaged, len(got), s)
	}
	if again, same := run(); again != s || !slices.Equal(got, same) {
		t.Error("two runs of one seed differ")
	}
}
