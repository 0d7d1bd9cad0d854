package scoll

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/wire"
)

// signer signs what this node sends and verifies what arrives, if there are keys. A
// code is bound to sender and receiver, that of a reply also to its match bits. Bulk
// data and lists are not signed: their digests are in signed requests.
type signer struct {
	on  bool                      // there are keys, from the start to the end
	now atomic.Pointer[keysInUse] // nil if not on
}

// keysInUse are the keys between two changes.
type keysInUse struct {
	keys     int
	ring     *keyring.Ring // for sending, which goes on in one goroutine at a time
	rings    sync.Pool     // of *keyring.Ring, for what arrives
	verified [2]atomic.Uint64
}

const keyLabel = "scoll"

func (s *signer) init(keys keyring.Keys) {
	if s.on = keys.Len() > 0; s.on {
		s.set(keys)
	}
}

func (s *signer) set(keys keyring.Keys) {
	k := &keysInUse{keys: keys.Len(), ring: keys.Ring(keyLabel)}
	k.rings.New = func() any { return k.ring.Clone() }
	s.now.Store(k)
}

// verify reports whether a code verifies for a message in parts.
func (s *signer) verify(code []byte, to keyring.Binding, parts ...[]byte) bool {
	if !s.on {
		return false
	}
	k := s.now.Load()
	ring := k.rings.Get().(*keyring.Ring)
	defer k.rings.Put(ring)
	before := ring.Verified
	ok := ring.VerifyCode(code, to, parts...)
	for i := range k.verified {
		if ring.Verified[i] != before[i] {
			k.verified[i].Add(1)
		}
	}
	return ok
}

// ring returns what signs now, nil without keys.
func (s *signer) ring() *keyring.Ring {
	if !s.on {
		return nil
	}
	return s.now.Load().ring
}

// SetKeys changes the keys from now on, as when the nodes are given new ones in steps.
// The error is [keyring.ErrOnOff] if there are none now, or none in keys.
func (a *Agent) SetKeys(keys keyring.Keys) error {
	if a.signer.on != (keys.Len() > 0) {
		return keyring.ErrOnOff
	}
	if a.signer.on {
		a.signer.set(keys)
	}
	return nil
}

// KeyStats counts what became of codes.
type KeyStats struct {
	Keys     int       // 0: messages are not signed
	Verified [2]uint64 // messages that each key has verified since it was set
	// NotSigned are dropped messages: without a code where there are keys, with one
	// where there are none, or with a wrong one.
	NotSigned uint64
}

// KeyStats returns counters of signed messages.
func (a *Agent) KeyStats() KeyStats {
	s := KeyStats{NotSigned: a.Stats().Unsigned}
	if k := a.signer.now.Load(); k != nil {
		s.Keys = k.keys
		for i := range k.verified {
			s.Verified[i] = k.verified[i].Load()
		}
	}
	return s
}

// codeSize is how long a code is.
func (a *Agent) codeSize() int {
	if a.signer.on {
		return keyring.CodeSize
	}
	return 0
}

// isSigned reports whether a message to the portal of requests ends with a code for it.
func (a *Agent) isSigned(b []byte, from nid.NID) bool {
	n := len(b) - keyring.CodeSize
	return n >= 0 && a.signer.verify(b[n:], keyring.Between(from, a.self), b[:n])
}

// sign appends the code of a message to the portal of requests.
func (a *Agent) sign(b []byte, to nid.NID) []byte {
	return a.signer.ring().Append(b, 0, keyring.Between(a.self, to))
}

// signReply appends to b the code of a reply in parts.
func (a *Agent) signReply(b []byte, to nid.NID, bits uint64, parts ...[]byte) []byte {
	return a.signer.ring().AppendCode(b, keyring.Between(a.self, to).Number(bits), parts...)
}

// isSigned reports whether a reply of a length, with its code, ends with a code for it.
func (p *post) isSigned(from nid.NID, bits uint64, length int) bool {
	s := &p.r.agent.signer
	n := length - keyring.CodeSize
	if !s.on || n < 0 {
		return false
	}
	var code [keyring.CodeSize]byte
	at := 0
	for _, part := range cut(p.segments, n, keyring.CodeSize) {
		at += copy(code[at:], part)
	}
	return s.verify(code[:], keyring.Between(from, p.r.agent.self).Number(bits), cut(p.segments, 0, n)...)
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
