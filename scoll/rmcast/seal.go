package rmcast

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast/wire"
)

// With keys, nodes sign all that they send: a flag in the header says so, and a code
// ends the message. It is bound to sender and receiver, and that of a datagram by
// multicast to sender and group. Machines know nothing of that.

// keyLabel is what keys are derived for.
const keyLabel = "rmcast"

// seal signs, or verifies, one message at a time.
type seal struct {
	on   bool // there are keys, from the start to the end
	mu   sync.Mutex
	keys int           // how many; guarded by mu, like the ring
	ring *keyring.Ring // nil without keys
}

func (s *seal) set(keys keyring.Keys) {
	ring := keys.Ring(keyLabel)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.ring = keys.Len(), ring
}

// sign makes b, a whole message, a signed one.
func (s *seal) sign(portal int, b []byte, bind keyring.Binding) []byte {
	if !s.on {
		return b
	}
	at, bit := wire.SignedFlag(portal)
	b[at] |= bit
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.Append(b, 0, bind)
}

// verify returns a message without its code. It reports false for one that is not
// signed although there are keys, is signed although there are none, or is wrong.
func (s *seal) verify(portal int, b []byte, bind keyring.Binding) ([]byte, bool) {
	at, bit := wire.SignedFlag(portal)
	signed := len(b) > at && b[at]&bit != 0
	if !s.on || !signed {
		return b, !s.on && !signed
	}
	s.mu.Lock()
	message, ok := s.ring.Verify(b, bind)
	s.mu.Unlock()
	if ok {
		message[at] &^= bit
	}
	return message, ok
}

// stats returns how many keys there are, and how many messages each has verified.
func (s *seal) stats() (k KeyStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.Keys = s.keys; s.on {
		k.Verified = s.ring.Verified
	}
	return k
}

// toGroup binds the code of a datagram by multicast.
func toGroup(from nid.NID, group portals.Group) keyring.Binding {
	return keyring.Binding{}.NID(from).Number(uint64(group))
}

// KeyStats counts what became of codes.
type KeyStats struct {
	Keys     int       // 0: messages are not signed
	Verified [2]uint64 // messages that each key has verified since it was set
	// NotSigned are dropped messages: without a code where there are keys, with one
	// where there are none, or with a wrong one.
	NotSigned uint64
}

// doubtful are messages that are dropped before a machine has seen them.
type doubtful struct {
	notSigned atomic.Uint64
	told      atomic.Int64 // when the log was, in ns; 0: never
}

// opened returns a message that came, without its code. It reports false for one that
// is not to be believed: it was not sent by the process of a node that takes part, or
// is not signed as it should be.
func (a *Agent) opened(portal int, e *portals.Event, b []byte) ([]byte, bool) {
	if e.Source.PID != a.pid {
		a.strays.Add(1)
		return nil, false
	}
	var bind keyring.Binding
	switch {
	case !a.in.on:
	case e.Group != 0:
		bind = toGroup(e.Source.NID, e.Group)
	default:
		bind = keyring.Between(e.Source.NID, a.cfg.Self)
	}
	message, ok := a.in.verify(portal, b, bind)
	if ok {
		return message, true
	}
	a.doubtful.notSigned.Add(1)
	now, last := int64(a.cfg.Clock.Now())+1, a.doubtful.told.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && a.doubtful.told.CompareAndSwap(last, now) {
		a.log.Warn("rmcast: messages are not signed with the key of this node, or it has none: key_file has to name the same keys on all nodes, or on none",
			slog.Any("nid", e.Source.NID))
	}
	return nil, false
}

// KeyStats returns counters of signed messages.
func (a *Agent) KeyStats() KeyStats {
	k := a.in.stats()
	k.NotSigned = a.doubtful.notSigned.Load()
	return k
}

// SetKeys changes the keys from now on, as when the nodes are given new ones in steps.
// The error is [keyring.ErrOnOff] if there are none now, or none in keys.
func (a *Agent) SetKeys(keys keyring.Keys) error {
	if a.in.on != (keys.Len() > 0) {
		return keyring.ErrOnOff
	}
	a.in.set(keys)
	a.out.set(keys)
	return nil
}
