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

// With keys, nodes sign all messages: a flag in the header says so, and the message ends with
// an authentication code. The code is bound to sender and receiver or, for multicast datagrams,
// to sender and group. Machines get messages without flag and authentication code.

// keyLabel is the label from which keys of this protocol are derived.
const keyLabel = "rmcast"

// sign sets the flag of b, a whole message, and appends the authentication code, if there are
// keys.
func (a *Agent) sign(portal int, b []byte, bind keyring.Binding) []byte {
	if !a.signer.On() {
		return b
	}
	at, bit := wire.SignedFlag(portal)
	b[at] |= bit
	return a.signer.Append(b, bind, b)
}

// verify returns a message without flag and authentication code. It reports false for three kinds
// of messages: unsigned ones if there are keys, signed ones if there are no keys, and those with
// a wrong authentication code.
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

// toGroup returns what the authentication code of a multicast datagram is bound to: its sender and
// the group.
func toGroup(from nid.NID, group portals.Group) keyring.Binding {
	return keyring.Binding{}.NID(from).Number(uint64(group))
}

// doubtful counts messages that are dropped before a machine gets them, because they are not
// signed as they should be.
type doubtful struct {
	notSigned atomic.Uint64
	told      atomic.Int64 // when the user was last warned, in ns; 0: never
}

// opened returns a message without its authentication code. It reports false if the sender is not
// the process of an agent, or if the message is not signed as this node requires.
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

// SetKeys replaces the keys from now on; docs/keys.md has the steps for changing the keys of a
// cluster. The error is [keyring.ErrOnOff] if the agent has keys and the new value has none, or the
// agent has none and the new value has some.
func (a *Agent) SetKeys(keys keyring.Keys) error { return a.signer.Set(keys) }
