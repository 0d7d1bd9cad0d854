package scoll

import (
	"crypto/sha256"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/wire"
)

// keyLabel is the label for which keys of collectives are derived. The authentication code of a
// message covers sender and receiver, and in a reply also the match bits. Bulk data and lists are
// not signed: their digests are in signed requests.
const keyLabel = "scoll"

// SetKeys replaces the keys from now on; docs/keys.md has the steps for changing the keys of a
// cluster. The error is [keyring.ErrOnOff] if the agent has keys and the new value has none, or the
// agent has none and the new value has some.
func (a *Agent) SetKeys(keys keyring.Keys) error { return a.signer.Set(keys) }

// KeyStats returns counters of signed messages.
func (a *Agent) KeyStats() keyring.Stats {
	s := a.signer.Stats()
	s.NotSigned = a.Stats().Unsigned
	return s
}

// isSigned reports whether a message to the portal of requests ends with a valid authentication
// code.
func (a *Agent) isSigned(b []byte, from nid.NID) bool {
	n := len(b) - keyring.CodeSize
	return n >= 0 && a.signer.Verify(b[n:], keyring.Between(from, a.self), b[:n])
}

// isSigned reports whether a reply ends with a valid authentication code, which is part of the
// given length.
func (p *post) isSigned(from nid.NID, bits uint64, length int) bool {
	a, n := p.r.agent, length-keyring.CodeSize
	if !a.signer.On() || n < 0 {
		return false
	}
	var code [keyring.CodeSize]byte
	at := 0
	for _, part := range cut(p.segments, n, keyring.CodeSize) {
		at += copy(code[at:], part)
	}
	return a.signer.Verify(code[:], keyring.Between(from, a.self).Number(bits), cut(p.segments, 0, n)...)
}

// sumOfBulk returns the digest of bulk data. A signed request contains this digest.
func sumOfBulk(segments []portals.Segment) wire.Digest {
	h := sha256.New()
	for _, s := range segments {
		h.Write(s)
	}
	return wire.Digest(h.Sum(nil))
}

// check compares fetched bulk data with the digest in the request.
func (f *fetch) check() Status {
	if sumOfBulk(f.segments) == f.sum {
		return OK
	}
	return EKEY
}
