package keyring

import (
	"sync"
	"sync/atomic"
)

// Signer signs and verifies the messages of one protocol, while its keys change. Whether
// there are keys at all is fixed by [Keys.Signer]. Methods are safe for concurrent use.
type Signer struct {
	label string
	now   atomic.Pointer[keysInUse] // the keys in use; nil without keys
}

// keysInUse is the state between two changes of keys.
type keysInUse struct {
	keys     int
	rings    sync.Pool // rings (*Ring), one for each goroutine that signs or verifies
	verified [2]atomic.Uint64
}

// Stats counts signed messages by result.
type Stats struct {
	Keys     int       // number of keys; 0 if messages are not signed
	Verified [2]uint64 // messages that each key has verified since it was set
	// NotSigned counts messages that were dropped because they had no code although there are
	// keys, a code although there are none, or a wrong code. The protocol counts them.
	NotSigned uint64
}

// Signer returns a signer for the messages of one protocol, with keys derived from k and the
// protocol's label.
func (k Keys) Signer(label string) *Signer {
	s := &Signer{label: label}
	if k.Len() > 0 {
		s.set(k)
	}
	return s
}

func (s *Signer) set(keys Keys) {
	k, ring := &keysInUse{keys: keys.Len()}, keys.Ring(s.label)
	k.rings.New = func() any { return ring.clone() }
	s.now.Store(k)
}

// Set replaces the keys. It cannot turn signing on or off: the error is [ErrOnOff] if there are
// keys now and no new ones, or new ones and none now.
func (s *Signer) Set(keys Keys) error {
	if s.On() != (keys.Len() > 0) {
		return ErrOnOff
	}
	if s.On() {
		s.set(keys)
	}
	return nil
}

// On reports whether the signer has keys.
func (s *Signer) On() bool { return s.now.Load() != nil }

// CodeSize is how many bytes a code adds to a message: 0 without keys.
func (s *Signer) CodeSize() int {
	if s.On() {
		return CodeSize
	}
	return 0
}

// Append appends the code of a message in parts to b. The code does not depend on the
// boundaries between parts.
func (s *Signer) Append(b []byte, to Binding, parts ...[]byte) []byte {
	k := s.now.Load()
	if k == nil {
		return b
	}
	ring := k.rings.Get().(*Ring)
	defer k.rings.Put(ring)
	return append(b, ring.code(0, to, parts...)...)
}

// Verify reports whether code is the authentication code of the message that consists of parts. Without keys
// it returns false.
func (s *Signer) Verify(code []byte, to Binding, parts ...[]byte) bool {
	k := s.now.Load()
	if k == nil {
		return false
	}
	ring := k.rings.Get().(*Ring)
	defer k.rings.Put(ring)
	key := ring.verifies(code, to, parts...)
	if key < 0 {
		return false
	}
	k.verified[key].Add(1)
	return true
}

// Stats returns how many keys there are, and what each has verified.
func (s *Signer) Stats() (st Stats) {
	if k := s.now.Load(); k != nil {
		st.Keys = k.keys
		for i := range k.verified {
			st.Verified[i] = k.verified[i].Load()
		}
	}
	return st
}
