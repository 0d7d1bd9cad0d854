// Package keyring authenticates messages with keys that the nodes of a cluster share: a code
// at the end of a message proves that its sender has a key. The protocols above portals
// (gossip, zones, collectives, multicast, client health) use it with keys from the
// configuration.
//
// A code is the first 12 bytes of HMAC-SHA-256 (RFC 2104) over a binding and the message.
// Three things keep a code from being used for another purpose:
//
//   - The label of a protocol: each protocol signs with a key that is derived from the
//     shared one and the label (HKDF with SHA-256, RFC 5869, without a salt, info
//     "ulnet " and the label). Label "" is the key itself, for zones, which signed before
//     there were labels; no other protocol may use it.
//   - The binding, for instance to the receiver, or to sender and receiver.
//   - The message, as a whole.
//
// A code does not encrypt the message, and contains no time, so a replayed message verifies
// again. Protocols limit the effect of replays by the contents of messages: incarnations,
// clocks, versions.
//
// To send:
//
//	ring := keys.Ring("gossip") // nil without keys
//	begin := len(buf)
//	buf = appendMessage(buf)    // says in its flags whether ring.On()
//	buf = ring.Append(buf, begin, keyring.Between(self, to))
//
// To receive:
//
//	body, ok := ring.Verify(data, keyring.Between(from, self))
//
// A [Signer] does the same for several goroutines, with keys that change.
package keyring

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
)

// CodeSize is the size of a code in bytes.
const CodeSize = 12

// Ring makes and verifies codes for one protocol. A nil Ring has no keys: it appends nothing
// and verifies nothing. A Ring is for one goroutine at a time. Its methods do not allocate.
type Ring struct {
	keys  [2][]byte
	macs  [2]hash.Hash // MACs of the first key and of the second; nil: no second key
	bound Binding
	sum   [sha256.Size]byte

	// Verified counts the codes that each key has verified: a key whose count no longer grows
	// can be removed.
	Verified [2]uint64
}

// Ring returns a ring for the protocol with a label, nil if there are no keys.
func (k Keys) Ring(label string) *Ring {
	if k.Len() == 0 {
		return nil
	}
	r := &Ring{}
	for i, key := range k.All() {
		r.keys[i] = derive(key, label)
		r.macs[i] = hmac.New(sha256.New, r.keys[i])
	}
	return r
}

func derive(key []byte, label string) []byte {
	if label == "" {
		return key
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "ulnet "+label, sha256.Size)
	if err != nil {
		panic(fmt.Sprintf("keyring: HKDF refused a key of %d bytes: %v", len(key), err))
	}
	return derived
}

// clone returns a ring with the same keys for another goroutine. Its counters start at 0.
func (r *Ring) clone() *Ring {
	c := &Ring{keys: r.keys}
	for i, key := range c.keys {
		if key != nil {
			c.macs[i] = hmac.New(sha256.New, key)
		}
	}
	return c
}

// On reports whether the ring has keys.
func (r *Ring) On() bool { return r != nil }

// Append appends the code of the message that begins at an offset of b.
func (r *Ring) Append(b []byte, begin int, to Binding) []byte {
	if r == nil {
		return b
	}
	return append(b, r.code(0, to, b[begin:])...)
}

// Verify checks the code at the end of b, and returns the message before it, which is a part of
// b. It reports false for a message that is too short, that was changed, or that was signed
// with another key, label or binding. It reports false for a nil Ring, too.
func (r *Ring) Verify(b []byte, to Binding) (message []byte, ok bool) {
	n := len(b) - CodeSize
	if r == nil || n < 0 {
		return nil, false
	}
	key := r.verifies(b[n:], to, b[:n])
	if key < 0 {
		return nil, false
	}
	r.Verified[key]++
	return b[:n], true
}

// verifies returns the index of the key that made the code of a message in parts, or -1. The
// code does not depend on the boundaries between parts.
func (r *Ring) verifies(code []byte, to Binding, parts ...[]byte) int {
	for i := range r.macs {
		if r.macs[i] != nil && hmac.Equal(code, r.code(i, to, parts...)) {
			return i
		}
	}
	return -1
}

// code returns the code made with one of the keys, valid until the next call.
func (r *Ring) code(key int, to Binding, parts ...[]byte) []byte {
	mac := r.macs[key]
	mac.Reset()
	r.bound = to // a copy in the ring, since arguments of interface methods escape
	mac.Write(r.bound.b[:r.bound.n])
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(r.sum[:0])[:CodeSize]
}
