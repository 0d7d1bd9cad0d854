package replay

import (
	"errors"
	"net/netip"
	"sync"
	"testing/synctest"
	"time"

	"ulnet/lnd/verbs/softroce/wire"
)

// Stage is the network between a device under test and a player (wire.Network). It is
// used within a bubble of package synctest, whose time passes only when nothing
// else happens.
type Stage struct {
	Player *Player
	// If Single is set, the packets of the player arrive at the node one by one, and not as one batch.
	Single bool

	attr wire.Attr

	mu      sync.Mutex // guards all fields below
	receive func([]wire.Datagrams)
	queue   []wire.Datagrams
}

// NewStage returns a stage on which the Player speaks for the recorded host. To the node it is an
// interface on an Ethernet.
func NewStage(s *Script, host netip.Addr) *Stage {
	const mtu, buffer = 1500, 1 << 22
	st := &Stage{attr: wire.Attr{MTU: mtu, Cut: true, ReceiveBuffer: buffer}}
	start := time.Now()
	st.Player = &Player{
		Script: s, Host: host, Send: st.toNode, Begin: func(int) {}, Elapsed: func() time.Duration { return time.Since(start) },
	}
	return st
}

var errOneNode = errors.New("a stage has one node, and no groups")

// Open opens the port of the node (wire.Network).
func (s *Stage) Open(cfg wire.Config) (wire.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receive != nil || cfg.Group.IsValid() {
		return nil, errOneNode
	}
	s.receive = cfg.Receive
	s.attr.Local = cfg.Local
	return s, nil
}

// Attr describes the port (wire.Conn).
func (s *Stage) Attr() wire.Attr { return s.attr }

// Send hands packets of the node to the player (wire.Conn).
func (s *Stage) Send(list []wire.Burst) (int, error) {
	for i := range list {
		b := &list[i]
		for id, rest := uint16(0), b.Bytes; len(rest) > 0; id++ {
			n := min(b.Size, len(rest))
			s.Player.Arrived(Datagram{From: s.attr.Local, To: b.To, Class: b.Class, ID: id, Bytes: rest[:n]})
			rest = rest[n:]
		}
	}
	return len(list), nil
}

// Close closes the port (wire.Conn).
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive = nil
	return nil
}

// toNode queues a packet that the player sends to the node; deliver hands it to the node.
func (s *Stage) toNode(d Datagram) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, wire.Datagrams{From: d.From, Class: d.Class, Size: len(d.Bytes), Bytes: d.Bytes})
}

// deliver makes the node receive the packets that toNode has queued, until no more are queued. It
// reports whether there were any.
func (s *Stage) deliver() (busy bool) {
	for {
		s.mu.Lock()
		list, receive := s.queue, s.receive
		s.queue = nil
		s.mu.Unlock()
		if len(list) == 0 || receive == nil {
			return busy
		}
		busy = true
		if !s.Single {
			receive(list)
			continue
		}
		for i := range list {
			receive(list[i : i+1])
			synctest.Wait()
		}
	}
}

// patience is how much virtual time the node may need for one packet.
const patience = 20 * time.Second

// Run plays until the end, or until the player has waited too long. It returns the first
// difference from the recording, or an error that says which packets are missing.
func (s *Stage) Run() error {
	const tick = time.Millisecond
	for idle := time.Duration(0); idle < patience; {
		synctest.Wait()
		delivered := s.deliver()
		if synctest.Wait(); s.Player.Step() || delivered {
			idle = 0
			continue
		}
		if s.Player.Err() != nil || s.Player.Done() {
			break
		}
		if pause := s.Player.Pause(); pause > 0 && s.Player.resting() {
			<-time.After(pause)
			continue
		}
		idle += tick
		<-time.After(tick)
	}
	return s.Player.Rest()
}

// Quiet plays on for a while, in which the node must send nothing more.
func (s *Stage) Quiet(d time.Duration) error {
	const tick = 10 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(tick) {
		synctest.Wait()
		s.deliver()
		synctest.Wait()
		s.Player.Step()
	}
	return s.Player.Rest()
}

// Clear ends the play. It discards the packets that still wait for the node, and all that the player sends to the node
// from now on.
func (s *Stage) Clear() {
	s.Player.Send = func(Datagram) {}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = nil
}
