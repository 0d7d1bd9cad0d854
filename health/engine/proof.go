package engine

import (
	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Clients with keys (package keyring) end a connect with an authentication code, and servers
// with keys require it. So only a process that has the key of the cluster can be a client, or
// take over a client's id. The code covers the whole message, incarnation and epoch included,
// and is bound to the sending process and to the server. So another process cannot use a copy,
// and no copy is valid at another server. An attacker who sends a copy under the original
// sender's address achieves little. If the incarnation is still connected, the server only
// confirms that; if it is superseded or evicted, the server refuses. After the incarnation's
// tombstone has expired, the server connects a client that sends no messages, and evicts it
// after T_evict.
//
// The other messages of clients have no authentication code: servers accept them only from the
// process that connected.

// keyLabel is the label with which the key of this protocol is derived from the shared key.
const keyLabel = "health"

// noProof reserves room for an authentication code, which is filled in later.
var noProof [keyring.CodeSize]byte

// proofOf returns the sender and receiver to which the authentication code of a connect is
// bound.
func proofOf(from nid.ProcessID, to nid.NID) keyring.Binding {
	return keyring.Between(from.NID, to).Number(uint64(from.PID))
}

// sign fills in the authentication code at the end of b. The message begins at the offset begin.
func sign(ring *keyring.Ring, b []byte, begin int, from nid.ProcessID, to nid.NID) []byte {
	return ring.Append(b[:len(b)-keyring.CodeSize], begin, proofOf(from, to))
}

// proven reports whether a message is allowed to connect: either its authentication code is
// valid, or this server has no keys.
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

// unproven refuses a connect without a valid authentication code. Clients of versions that send
// no times do not know the code OtherKey, and get BadClaim.
func (s *Server) unproven(q *asked) {
	s.stats.Rejected[wire.OtherKey]++
	code := wire.OtherKey
	if q.m.Retry == 0 {
		code = wire.BadClaim
	}
	s.refusal(q, wire.Message{Code: code, Retry: s.cfg.Evict})
}

// SetKeys replaces the keys from now on. The error is [keyring.ErrOnOff] if the change would
// switch the check on or off: from no keys to some, or from some keys to none.
func (s *Server) SetKeys(keys keyring.Keys) error { return setKeys(&s.cfg.Keys, &s.ring, keys) }

// SetKeys replaces the keys from now on. The error is [keyring.ErrOnOff] if the change would
// switch signing on or off: from no keys to some, or from some keys to none.
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
