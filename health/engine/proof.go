package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// With keys (package keyring) a connect ends with a code, so that only a process that has
// the key of the cluster can be a client, or take over the id of one. The code covers the
// whole message, incarnation and epoch included, and is bound to the process that sends
// it and to the server: another process, or another server, has no use for a copy. A copy
// that arrives again in its sender's own name finds that incarnation connected, which it
// only confirms, or superseded, or evicted, which tombstones refuse; when these have
// expired it brings back a client that says nothing, and is evicted after T_evict.
//
// Other messages of clients have no code: they count only from the process that connected.

// keyLabel derives the key of this protocol from the shared one.
const keyLabel = "health"

// noProof takes the slot of a code that is not made yet.
var noProof [keyring.CodeSize]byte

// proofOf is what the code of a connect is bound to.
func proofOf(from nid.ProcessID, to nid.NID) keyring.Binding {
	return keyring.Between(from.NID, to).Number(uint64(from.PID))
}

// sign replaces the last bytes of the message that begins at an offset of b by its code.
func sign(ring *keyring.Ring, b []byte, begin int, from nid.ProcessID, to nid.NID) []byte {
	return ring.Append(b[:len(b)-keyring.CodeSize], begin, proofOf(from, to))
}

// proven reports whether a message may be a connect: its code is valid, or there are no keys.
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

// unproven refuses a connect without a valid code. Versions that tell no times do not know
// OtherKey.
func (s *Server) unproven(q *asked) {
	s.stats.Rejected[wire.OtherKey]++
	code := wire.OtherKey
	if q.m.Retry == 0 {
		code = wire.BadClaim
	}
	s.refusal(q, wire.Message{Code: code, Retry: s.cfg.Evict})
}

// SetKeys changes the keys from now on. The error is [keyring.ErrOnOff] if there are none
// now, or none in keys.
func (s *Server) SetKeys(keys keyring.Keys) error { return setKeys(&s.cfg.Keys, &s.ring, keys) }

// SetKeys changes the keys from now on. The error is [keyring.ErrOnOff] if there are none
// now, or none in keys.
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
