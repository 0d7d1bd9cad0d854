package scoll

import (
	"crypto/sha256"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/wire"
)

// keyLabel is what keys of collectives are derived for. A code is bound to sender and
// receiver, that of a reply also to its match bits. Bulk data and lists are not signed:
// their digests are in signed requests.
const keyLabel = "scoll"

// SetKeys changes the keys from now on, as when the nodes are given new ones in steps.
// The error is [keyring.ErrOnOff] if there are none now, or none in keys.
func (a *Agent) SetKeys(keys keyring.Keys) error { return a.signer.Set(keys) }

// KeyStats returns counters of signed messages.
func (a *Agent) KeyStats() keyring.Stats {
	s := a.signer.Stats()
	s.NotSigned = a.Stats().Unsigned
	return s
}

// isSigned reports whether a message to the portal of requests ends with a code for it.
func (a *Agent) isSigned(b []byte, from nid.NID) bool {
	n := len(b) - keyring.CodeSize
	return n >= 0 && a.signer.Verify(b[n:], keyring.Between(from, a.self), b[:n])
}

// isSigned reports whether a reply of a length, with its code, ends with a code for it.
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

// sumOfBulk is the digest of bulk data that a signed request has.
func sumOfBulk(segments []portals.Segment) wire.Digest {
	h := sha256.New()
	for _, s := range segments {
		h.Write(s)
	}
	return wire.Digest(h.Sum(nil))
}

// check compares bulk data that is there with the digest in the request.
func (f *fetch) check() Status {
	if sumOfBulk(f.segments) == f.sum {
		return OK
	}
	return EKEY
}
