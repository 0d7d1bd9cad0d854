package rmcast

import (
	"log/slog"
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

// sign makes b, a whole message, a signed one if there are keys.
func (a *Agent) sign(portal int, b []byte, bind keyring.Binding) []byte {
	if !a.signer.On() {
		return b
	}
	at, bit := wire.SignedFlag(portal)
	b[at] |= bit
	return a.signer.Append(b, bind, b)
}

// verify returns a message without its code. It reports false for one that is not
// signed although there are keys, is signed although there are none, or is wrong.
func (a *Agent) verify(portal int, b []byte, bind keyring.Binding) ([]byte, bool) {
	at, bit := wire.SignedFlag(portal)
	signed := len(b) > at && b[at]&bit != 0
	if !a.signer.On() || !signed {
		return b, !a.signer.On() && !signed
	}
	n := len(b) - keyring.CodeSize
	if n <= at || !a.signer.Verify(b[n:], bind, b[:n]) {
		return nil, false
	}
	b[at] &^= bit
	return b[:n], true
}

// toGroup binds the code of a datagram by multicast.
func toGroup(from nid.NID, group portals.Group) keyring.Binding {
	return keyring.Binding{}.NID(from).Number(uint64(group))
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
	case !a.signer.On():
	case e.Group != 0:
		bind = toGroup(e.Source.NID, e.Group)
	default:
		bind = keyring.Between(e.Source.NID, a.cfg.Self)
	}
	message, ok := a.verify(portal, b, bind)
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
func (a *Agent) KeyStats() keyring.Stats {
	s := a.signer.Stats()
	s.NotSigned = a.doubtful.notSigned.Load()
	return s
}

// SetKeys changes the keys from now on, as when the nodes are given new ones in steps.
// The error is [keyring.ErrOnOff] if there are none now, or none in keys.
func (a *Agent) SetKeys(keys keyring.Keys) error { return a.signer.Set(keys) }
