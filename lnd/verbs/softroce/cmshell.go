package softroce

import (
	"bytes"
	"cmp"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/machine"
)

// cmShell runs the machine of a device's connection manager: it sends and receives at QP 1, and
// keeps time.
type cmShell struct {
	hub   *hub
	timer timed

	mu      sync.Mutex // guards all fields below
	cm      *cm
	out     cmOutput
	conns   map[ibta.CommID]*conn
	ports   map[uint16]*listener
	timerAt time.Duration
	psn     ibta.PSN // PSN of the next datagram
	box     outbox
	badQKey uint64 // datagrams that QP 1 dropped because of their Q_Key
}

var _ endpoint = (*cmShell)(nil)

func newCMShell(h *hub, cfg cmConfig) *cmShell {
	s := &cmShell{
		hub: h, cm: newCM(cfg), conns: make(map[ibta.CommID]*conn), ports: make(map[uint16]*listener),
		timerAt: machine.Never,
	}
	s.timer.expired = s.expired
	return s
}

// arrived implements endpoint: it takes the datagrams that came to QP 1.
func (s *cmShell) arrived(from netip.AddrPort, list []ibta.Packet) {
	for i := range list {
		p := &list[i]
		if p.OpCode != ibta.UDSendOnly || p.DETH.QKey != ibta.GSIQKey || len(p.Payload) == 0 {
			s.mu.Lock()
			s.badQKey++
			s.mu.Unlock()
			continue
		}
		s.hub.upcall(func() { _, _ = s.do(cmInput{From: from.Addr(), Datagram: p.Payload}, nil) })
	}
}

// expired steps the cm when its timer is due.
func (s *cmShell) expired(time.Duration) {
	s.mu.Lock()
	s.timerAt = machine.Never
	s.mu.Unlock()
	_, _ = s.do(cmInput{}, nil)
}

// heard tells the connection manager that the peer of a connection uses it, and so knows that it
// was granted. The goroutine that reads the port calls it.
func (s *cmShell) heard(c *conn) { s.hub.upcall(func() { s.about(c, callHeard) }) }

// closing sends those DREQs again that are not answered yet, because the device closes.
func (s *cmShell) closing() { _, _ = s.do(cmInput{Call: cmCall{Kind: callClosing}}, nil) }

// disconnect ends the connection c.
func (s *cmShell) disconnect(c *conn) { s.about(c, callDisconnect) }

func (s *cmShell) about(c *conn, kind callKind) {
	s.mu.Lock()
	id := c.id
	var box *outbox
	if id == 0 && kind == callDisconnect { // c was made by Adopt, or the device is closed while c is being made
		box = c.end(verbs.Event{Kind: verbs.Disconnected})
	}
	s.mu.Unlock()
	s.hub.give(box)
	if id != 0 {
		_, _ = s.do(cmInput{Call: cmCall{Kind: kind, ID: id}}, nil) // an error means that the cm has forgotten the id
	}
}

// do steps the connection manager and makes the upcalls. The caller holds no lock. If in.Call
// succeeds, do binds c to its connection, so that c gets the events of the connection. If c has
// ended already, do returns ErrClosed.
func (s *cmShell) do(in cmInput, c *conn) (ibta.CommID, error) {
	s.mu.Lock()
	if c != nil && c.isEnded() {
		s.mu.Unlock()
		return 0, verbs.ErrClosed
	}
	s.out.Reset()
	now := s.hub.clock.Now()
	in.Away = s.hub.absence.at(now)
	wake := s.cm.Step(now, in, &s.out)
	id, err := s.out.ID, s.out.Err
	if c != nil && err == nil {
		id = cmp.Or(id, in.Call.ID)
		c.id, s.conns[id] = id, c
		c.events.speak()
	}
	var calls []func()
	for i := range s.out.Events {
		if f := s.event(&s.out.Events[i]); f != nil {
			calls = append(calls, f)
		}
	}
	s.send()
	if wake < s.timerAt {
		s.timerAt = wake
		s.hub.timers.set(&s.timer, wake)
	}
	s.mu.Unlock()
	for _, f := range calls {
		f()
	}
	return id, err
}

// listen routes the requests to its port to a listener.
func (s *cmShell) listen(l *listener) error {
	s.mu.Lock()
	taken := s.ports[l.port] != nil
	if !taken {
		s.ports[l.port] = l // entered before the first request can come
	}
	s.mu.Unlock()
	if taken {
		return errPortTaken
	}
	_, err := s.do(cmInput{Call: cmCall{Kind: callListen, Port: l.port}}, nil)
	return err
}

// unlisten ends the listener l.
func (s *cmShell) unlisten(l *listener) {
	_, _ = s.do(cmInput{Call: cmCall{Kind: callUnlisten, Port: l.port}}, nil) // callUnlisten never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ports, l.port)
}

// send sends the messages of a step. s.mu is held.
func (s *cmShell) send() {
	for i := range s.out.Sends {
		m := &s.out.Sends[i]
		p := ibta.Packet{
			BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, Migrated: true, PKey: ibta.DefaultPKey, DestQP: ibta.GSI, PSN: s.psn},
			DETH: ibta.DETH{QKey: ibta.GSIQKey, SrcQP: ibta.GSI},
		}
		s.psn = s.psn.Add(1)
		s.box.frame.add(s.hub.route(m.To, m.TrafficClass, m.Doubt), &p, [][]byte{s.out.Message(m)})
	}
	s.hub.transmit(&s.box)
}

// event applies an event of the connection manager, and returns the upcall to make. s.mu is
// held; the upcall is made without it.
func (s *cmShell) event(e *cmEvent) func() {
	if e.Kind == cmRequested {
		return s.requested(e)
	}
	c := s.conns[e.ID]
	if c == nil {
		return nil
	}
	private := bytes.Clone(s.out.Private(e))
	last := verbs.Event{Private: private, Reason: uint16(e.Reason)}
	switch e.Kind {
	case cmEstablished:
		if c.asking {
			c.open(c.peer, e.Peer, c.retry, e.Peer.RNRRetryCount, ibta.AckTimeout(ackTimeout))
		}
		c.events.push(verbs.Event{Kind: verbs.Established, Private: private}, false)
		return func() { c.events.run(c) }
	case cmRejected:
		last.Kind = verbs.Rejected
	case cmUnreachable:
		last.Kind = verbs.Unreachable
	default:
		last.Kind = verbs.Disconnected
	}
	delete(s.conns, e.ID)
	box := c.end(last)
	return func() { s.hub.give(box) }
}

// requested makes the upcall for a cmRequested event.
func (s *cmShell) requested(e *cmEvent) func() {
	l := s.ports[e.Port]
	r := &request{hub: s.hub, id: e.ID, peer: e.From, end: e.Peer, private: bytes.Clone(s.out.Private(e))}
	if l == nil {
		return func() { _ = r.Reject(nil) }
	}
	r.dev = l.dev
	return func() { l.requested(r) }
}
