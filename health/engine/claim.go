package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// MinKey is the shortest key of [Claims] in bytes.
const MinKey = 16

// ErrKeys says that claims have no use for such keys.
var ErrKeys error = &Error{Why: "one or two keys of at least 16 bytes are needed: the first signs, the second is believed as well"}

// Claims signs what a master agreed to, and checks it (CH-44, CH-A15): an
// HMAC-SHA-256 over client, incarnation, master and epoch, with a key that all
// servers share. The zero value signs nothing and believes everything.
type Claims struct{ keys [][]byte }

// NewClaims returns claims with one key, or with two while keys change: first
// all servers are given the new key as the second one, then as the first. The
// error is [ErrKeys].
func NewClaims(keys ...[]byte) (Claims, error) {
	if len(keys) == 0 || len(keys) > 2 {
		return Claims{}, ErrKeys
	}
	for _, k := range keys {
		if len(k) < MinKey {
			return Claims{}, ErrKeys
		}
	}
	return Claims{keys}, nil
}

// On reports whether claims are checked.
func (c Claims) On() bool { return len(c.keys) > 0 }

// Keys is how many keys there are.
func (c Claims) Keys() int { return len(c.keys) }

// append appends a token, or nothing if claims are off.
func (c Claims) append(b []byte, client wire.ClientID, incarnation uint64, master nid.NID, epoch uint32) []byte {
	if !c.On() {
		return b
	}
	return claim(b, c.keys[0], client, incarnation, master, epoch)
}

// verify reports whether a token proves the claim, or claims are off.
func (c Claims) verify(token []byte, client wire.ClientID, incarnation uint64, master nid.NID, epoch uint32) bool {
	for _, k := range c.keys {
		if hmac.Equal(token, claim(nil, k, client, incarnation, master, epoch)) {
			return true
		}
	}
	return !c.On()
}

func claim(b, key []byte, client wire.ClientID, incarnation uint64, master nid.NID, epoch uint32) []byte {
	text := append(make([]byte, 0, 64), "ulnet health 1\x00\x00"...)
	text = append(text, client[:]...)
	text = binary.LittleEndian.AppendUint64(text, incarnation)
	text = binary.LittleEndian.AppendUint32(text, epoch)
	text = master.AppendExtended(text)
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(b)
}
