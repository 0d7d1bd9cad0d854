package replay_test

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/wire"
)

// stage is the network between a node under test and the player (wire.Network). It
// is used within a bubble of package synctest.
type stage struct {
	player *replay.Player
	attr   wire.Attr
	// single has what the player sends arrive one by one, and not as one batch.
	single bool

	mu      sync.Mutex // guards all below
	receive func([]wire.Datagrams)
	queue   []wire.Datagrams
}

var errOneNode = errors.New("a stage has one node")

// Open opens the port of the node (wire.Network).
func (s *stage) Open(cfg wire.Config) (wire.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receive != nil || cfg.Group.IsValid() {
		return nil, errOneNode
	}
	s.receive = cfg.Receive
	s.attr.Local = cfg.Local
	return s, nil
}

// Attr describes the port (wire.Conn): an Ethernet as in the recordings.
func (s *stage) Attr() wire.Attr { return s.attr }

// Send hands packets of the node to the player (wire.Conn).
func (s *stage) Send(list []wire.Burst) (int, error) {
	for i := range list {
		b := &list[i]
		for id, rest := uint16(0), b.Bytes; len(rest) > 0; id++ {
			n := min(b.Size, len(rest))
			s.player.Arrived(replay.Datagram{From: s.attr.Local, To: b.To, Class: b.Class, ID: id, Bytes: rest[:n]})
			rest = rest[n:]
		}
	}
	return len(list), nil
}

// Close closes the port (wire.Conn).
func (s *stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive = nil
	return nil
}

// toNode takes a packet of the player.
func (s *stage) toNode(d replay.Datagram) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, wire.Datagrams{From: d.From, Class: d.Class, Size: len(d.Bytes), Bytes: d.Bytes})
}

// deliver has the node receive what the player sent.
func (s *stage) deliver() (busy bool) {
	for {
		s.mu.Lock()
		list, receive := s.queue, s.receive
		s.queue = nil
		s.mu.Unlock()
		if len(list) == 0 || receive == nil {
			return busy
		}
		busy = true
		if !s.single {
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

// run plays until the end, or until the player has waited too long.
func (s *stage) run() error {
	const tick = time.Millisecond
	for idle := time.Duration(0); idle < patience; {
		synctest.Wait()
		delivered := s.deliver()
		if synctest.Wait(); s.player.Step() || delivered {
			idle = 0
			continue
		}
		if s.player.Err() != nil || s.player.Done() {
			break
		}
		idle += tick
		<-time.After(tick)
	}
	return s.player.Rest()
}

// quiet plays on for a while: nothing more may come.
func (s *stage) quiet(d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		synctest.Wait()
		s.deliver()
		s.player.Step()
	}
	return s.player.Rest()
}

// recordedNumbers gives a device the numbers of a recorded node (softroce.Numbers).
type recordedNumbers struct {
	replay.Numbers
	before ibta.CommID // requests that are refused before the first connection: each uses one up
	spare  uint64
}

var _ softroce.Numbers = (*recordedNumbers)(nil)

// next takes the first of a list; behind its end there are others.
func next[T ibta.PSN | ibta.RKey | uint64](n *recordedNumbers, list *[]T) T {
	if len(*list) == 0 {
		n.spare++
		return T(0x700000 + n.spare)
	}
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

func (n *recordedNumbers) GUID() ibta.GUID       { return n.Numbers.GUID }
func (n *recordedNumbers) PSN() ibta.PSN         { return next(n, &n.PSNs) }
func (n *recordedNumbers) RKey() ibta.RKey       { return next(n, &n.RKeys) }
func (n *recordedNumbers) Address(uint64) uint64 { return next(n, &n.IOVAs) }
func (n *recordedNumbers) CommID() ibta.CommID   { return append(n.CommIDs, 1)[0] - n.before }
func (n *recordedNumbers) QPN() ibta.QPN         { return append(n.QPNs, 2)[0] }

// newStage returns a stage on which host is played.
func newStage(s *replay.Script, host netip.Addr) *stage {
	const mtu, buffer = 1500, 1 << 22
	st := &stage{attr: wire.Attr{MTU: mtu, Cut: true, ReceiveBuffer: buffer}}
	st.player = &replay.Player{Script: s, Host: host, Send: st.toNode, Begin: func(int) {}}
	return st
}

// roles calls f for both nodes of a recording: name tells which is played.
func roles(t *testing.T, file string, f func(t *testing.T, s *replay.Script, host netip.Addr)) {
	s := load(t, file)
	for _, host := range s.Hosts() {
		t.Run(fmt.Sprintf("%s/we are %v", filepath.Base(file), s.Other(host)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, s, host) })
		})
	}
}

// refusedFirst is how many requests a node refuses before its first connection, by
// o2iblnd: of what the connection manager refuses o2iblnd does not hear.
func refusedFirst(s *replay.Script, node netip.Addr) (n ibta.CommID) {
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.From.Addr() != node || p.CM == nil {
			continue
		}
		if kind := p.CM.MAD.Attribute; kind == ibta.AttrREQ || kind == ibta.AttrREP {
			break
		}
		if p.CM.Reject != nil {
			n++
		}
	}
	return n
}
