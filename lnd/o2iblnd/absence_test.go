package o2iblnd

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// handling is an lnet with a handler of messages that arrive and of peers that go down.
type handling struct {
	lnd.Upcalls
	handler func()
}

func (u handling) Delivered(d *lnd.Delivery, err error) {
	u.handler()
	u.Upcalls.Delivered(d, err)
}

func (u handling) PeerDown(id nid.ProcessID, err error) {
	u.handler()
	u.Upcalls.PeerDown(id, err)
}

// slow is a node whose handler takes long, the peer whose message it handles, and a bystander: another peer of the node,
// which answers at once.
type slow struct {
	*virtual
	ni        *NI   // NI of the node
	up        *sink // lnet of the node
	bystander *answering
	handled   time.Duration // when the handler returned; 0: it has not yet
}

func newSlow(t *testing.T, cfg Config) *slow {
	s := &slow{virtual: newVirtual(t, cfg), bystander: new(answering)}
	s.ni, s.up = s.nis[0], s.ups[0]
	open := softroce.NewOpener(softroce.Options{Network: s.net})
	s.bystander.ni = start(t, netip.MustParseAddr("10.0.0.3"), open, Config{}, s.bystander, func(c *lnd.Config) { c.Clock = s.clock })
	s.send()
	s.until("message of the peer", time.Second, func(a *sink) bool { return a.arrived == 1 }, s.up)
	return s
}

// meet makes the connection of the node and the bystander.
func (s *slow) meet() {
	s.t.Helper()
	s.put()
	s.until("message to the bystander", time.Second, func(a *sink) bool { return a.finished == 1 }, s.up)
}

func (s *slow) put() { s.ni.Send(newMessage(s.ni, s.bystander.ni.nid, 100)) }

// send makes the peer send a message to the node, and leave makes it end its connection.
func (s *slow) send()  { s.nis[1].Send(newMessage(s.nis[1], s.ni.nid, 100)) }
func (s *slow) leave() { s.nis[1].ClosePeer(s.ni.nid, 0, errors.New("a test")) }

// handle makes the peer do act, and the handler of the node for that calls begin and then runs for the duration takes. No
// node reads meanwhile (see emulator), and timers run.
func (s *slow) handle(act func(*slow), takes time.Duration, begin func()) {
	s.t.Helper()
	s.ni.up = handling{s.up, func() {
		s.ni.up = s.up
		begin()
		s.clock.Run(s.clock.Now() + takes)
		s.handled = s.clock.Now()
	}}
	act(s)
	for end := s.clock.Now() + takes + time.Second; s.handled == 0; {
		if !s.clock.Step(end) {
			s.t.Fatal("the handler was not called")
		}
	}
}

// shutAll ends the NIs.
func (s *slow) shutAll() {
	s.shut(0)
	s.shut(1)
	s.nis[1] = s.bystander.ni
	s.shut(1)
}

// TestSlowHandler (OB-5): a handler takes long in the goroutine that reads, and meanwhile what a bystander sends lies unread. The
// messages to the bystander end without an error, and each arrives there once. The bystander does not lose its connection.
func TestSlowHandler(t *testing.T) {
	spec.Covers(t, "OB-5")
	get := func(s *slow) { s.ni.Send(newGet(s.ni, s.bystander.ni.nid, make([]byte, 64<<10))) }
	long := func(s *slow) { s.ni.Send(newMessage(s.ni, s.bystander.ni.nid, 64<<10)) }
	for name, c := range map[string]struct {
		timeout, takes time.Duration
		strangers      bool // the node and the bystander have no connection yet
		plain          bool // the device does not know for how long it was kept from reading
		before, during func(*slow)
		act            func(*slow)
	}{
		"acknowledgement":          {takes: 5 * time.Second, act: (*slow).send, during: (*slow).put},
		"answer to a GET":          {timeout: time.Second, takes: 2500 * time.Millisecond, before: get, act: (*slow).send},
		"answer to a PUT":          {timeout: time.Second, takes: 2500 * time.Millisecond, act: (*slow).send, during: long},
		"answer, of plain devices": {timeout: time.Second, takes: 2500 * time.Millisecond, plain: true, before: get, act: (*slow).send},
		"answer, in an event":      {timeout: time.Second, takes: 2500 * time.Millisecond, act: (*slow).leave, during: long},
		"in an event, plain":       {timeout: time.Second, takes: 2500 * time.Millisecond, plain: true, act: (*slow).leave, during: long},
		"connection":               {timeout: 20 * time.Second, takes: 30 * time.Second, strangers: true, act: (*slow).send, during: (*slow).put},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlow(t, Config{Timeout: c.timeout})
			defer s.shutAll()
			if !c.strangers {
				s.meet()
			}
			if c.plain {
				s.ni.absences.meter = nil
			}
			arrived, finished := s.bystander.arrived, s.up.finished
			if c.before != nil {
				c.before(s)
			}
			s.handle(c.act, c.takes, func() {
				if c.during != nil {
					c.during(s)
				}
			})
			s.clock.Run(s.clock.Now() + 10*time.Second)
			if s.up.finished != finished+1 || s.bystander.arrived != arrived+1 || len(s.up.errs)+len(s.bystander.errs) > 0 {
				t.Errorf("%d messages have ended, %d arrived; errors %v, %v", s.up.finished-finished, s.bystander.arrived-arrived, s.up.errs, s.bystander.errs)
			}
			if s.downOf(s.bystander.ni.nid) || len(s.bystander.downs) > 0 {
				t.Errorf("the bystander is down: %v; and sees the node down: %v", s.up.downs, s.bystander.downs)
			}
			for _, why := range []Reason{TransportFailed, SendTimeout, CreditTimeout, QueueTimeout, Unreachable} {
				if n := s.ni.counts[why].Load(); n > 0 {
					t.Errorf("%v: %d times", why, n)
				}
			}
		})
	}
}

// downOf reports whether lnet was told that a peer is down.
func (s *slow) downOf(peer nid.NID) bool {
	for _, err := range s.up.downs {
		if e := new(Error); errors.As(err, &e) && e.Peer.NID == peer {
			return true
		}
	}
	return false
}

// TestSlowHandlerEnds (OB-5): once the handler has returned, a bystander that does not answer is noticed after timeout, and one that
// is gone after the retries.
func TestSlowHandlerEnds(t *testing.T) {
	spec.Covers(t, "OB-5")
	for name, c := range map[string]struct {
		gone   bool
		within time.Duration
		want   syscall.Errno
	}{
		"silent": {false, 1500 * time.Millisecond, syscall.ETIMEDOUT},
		"gone":   {true, 4 * time.Second, syscall.ECONNABORTED},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Timeout: time.Second}
			if c.gone {
				cfg.Timeout = time.Minute
			}
			s := newSlow(t, cfg)
			defer s.shutAll()
			s.meet()
			s.bystander.hold = true
			s.handle((*slow).send, 2500*time.Millisecond, func() {
				s.net.Cut(s.at[0], netip.MustParseAddr("10.0.0.3"), c.gone)
				s.ni.Send(newMessage(s.ni, s.bystander.ni.nid, 64<<10))
			})
			s.until("end", time.Minute, func(a *sink) bool { return len(a.errs) == 1 }, s.up)
			if took := s.clock.Now() - s.handled; took > c.within || !errors.Is(s.up.errs[0], c.want) {
				t.Errorf("ended with %v after %v", s.up.errs[0], took)
			}
		})
	}
}

// TestStuckHandler (OB-5): a handler that does not return is logged, once, and keeps messages to bystanders from ending for no longer
// than a minute more.
func TestStuckHandler(t *testing.T) {
	spec.Covers(t, "OB-5")
	for _, plain := range []bool{false, true} {
		var log strings.Builder
		s := newSlow(t, Config{Timeout: 10 * time.Second})
		s.ni.log = slog.New(slog.NewTextHandler(&log, nil))
		if plain {
			s.ni.absences.meter = nil
		}
		var ended time.Duration
		s.handle((*slow).send, 5*time.Minute, func() {
			begun := s.clock.Now()
			s.clock.AfterFunc(time.Second, s.put) // it waits for a connection
			for len(s.up.errs) == 0 && s.clock.Step(begun+5*time.Minute) {
				ended = s.clock.Now() - begun
			}
		})
		if ended < time.Minute || ended > 90*time.Second {
			t.Errorf("plain %v: the message ended after %v: %v", plain, ended, s.up.errs)
		}
		if n := strings.Count(log.String(), "handlers of this node"); n != 1 {
			t.Errorf("plain %v: logged %d times: %s", plain, n, &log)
		}
		s.shutAll()
	}
}

// TestPostpone (OB-5): an absence moves deadlines by its length, but none beyond that of a message that is sent now, so that they stay
// in order, and none by more than a minute.
func TestPostpone(t *testing.T) {
	spec.Covers(t, "OB-5")
	p := newPair(t)
	a := p.ends[0]
	p.ends[1].hold = true
	timeout := a.x.cfg.timeout
	begun := p.now
	for range 3 {
		a.send(wire.Put, 5000, 1, 1, false)
		p.now += time.Second
	}
	a.step(exchangeIn{kind: exchangeAbsent, absent: 2 * time.Second})
	for i, x := 0, a.x.first; x != nil; i, x = i+1, x.after {
		if want := min(begun+time.Duration(i+2)*time.Second, p.now) + timeout; x.deadline != want {
			t.Errorf("message %d: deadline %v, want %v", i, x.deadline, want)
		}
	}
	a.send(wire.Put, 5000, 1, 1, false) // step checks that the deadlines are in order
	p.now += time.Minute
	a.step(exchangeIn{kind: exchangeAbsent, absent: time.Hour})
	a.step(exchangeIn{kind: exchangeTimer})
	if a.x.failed != nil {
		t.Errorf("ended with %v", a.x.failed)
	}
	sent := p.now
	for a.x.failed == nil && p.now < sent+time.Hour { // handlers let this node handle what arrives for one second in ten
		p.now += 10 * time.Second
		a.step(exchangeIn{kind: exchangeAbsent, absent: 9 * time.Second})
		a.step(exchangeIn{kind: exchangeTimer})
	}
	if took := p.now - sent; took > timeout+mostPostponed {
		t.Errorf("ended after %v with %v", took, a.x.failed)
	}
}
