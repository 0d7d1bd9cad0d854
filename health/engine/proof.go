package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// With keys (package keyring) a connect ends with a code, so that only a process that has the
// key of the cluster can be a client, or take over a client's id. The code covers the whole
// message, incarnation and epoch included, and is bound to the sending process and to the
// server. So another process cannot use a copy, and no copy is valid at another server. A copy
// that arrives again under its sender's own address has little effect. If its incarnation is
// still connected, that is only confirmed; if it is superseded or evicted, the copy is refused.
// After the incarnation's tombstone has expired, the copy connects a client that sends no
// messages, and that is evicted after T_evict.
//
// Other messages of clients have no code: they are accepted only from the process that
// connected.

// keyLabel is the label for which the key of this protocol is derived from the shared one.
const keyLabel = "health"

// noProof reserves the room for a code that is filled in later.
var noProof [keyring.CodeSize]byte

// proofOf returns what the code of a connect is bound to.
func proofOf(from nid.ProcessID, to nid.NID) keyring.Binding {
	return keyring.Between(from.NID, to).Number(uint64(from.PID))
}

// sign replaces the last bytes of a message, which begins at an offset of b, by its code.
func sign(ring *keyring.Ring, b []byte, begin int, from nid.ProcessID, to nid.NID) []byte {
	return ring.Append(b[:len(b)-keyring.CodeSize], begin, proofOf(from, to))
}

// proven reports whether a message is allowed to connect: its code is valid, or there are no
// keys.
func (s *Server) proven(q *asked, data []byte) bool {
	if !s.ring.On() {
		return true
	}
	if len(q.m.Proof) == 0 {
		return false
	}
	_, ok := s.ring.Verify(data, proofOf(q.from, s.cfg.Self))
	return ok
}

// unproven refuses a connect without a valid code. Clients of versions that send no times do
// not know the code OtherKey.
func (s *Server) unproven(q *asked) {
	s.stats.Rejected[wire.OtherKey]++
	code := wire.OtherKey
	if q.m.Retry == 0 {
		code = wire.BadClaim
	}
	s.refusal(q, wire.Message{Code: code, Retry: s.cfg.Evict})
}

// SetKeys replaces the keys from now on. The error is [keyring.ErrOnOff] if either the server
// has no keys now, or none are in keys, but not both.
func (s *Server) SetKeys(keys keyring.Keys) error { return setKeys(&s.cfg.Keys, &s.ring, keys) }

// SetKeys replaces the keys from now on. The error is [keyring.ErrOnOff] if either the client
// has no keys now, or none are in keys, but not both.
func (c *Client) SetKeys(keys keyring.Keys) error { return setKeys(&c.cfg.Keys, &c.ring, keys) }

func setKeys(now *keyring.Keys, ring **keyring.Ring, keys keyring.Keys) error {
	switch {
	case (*ring).On() != (keys.Len() > 0):
		return keyring.ErrOnOff
	case !now.Equal(keys):
		*now, *ring = keys, keys.Ring(keyLabel)
	}
	return nil
}
