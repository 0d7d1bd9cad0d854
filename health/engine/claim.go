package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// claims are the keys that sign and verify a claim: the statement of a server that it has agreed
// to be the client's master (CH-44, CH-A15). The signature of a claim, its token, is an
// HMAC-SHA-256 over client, incarnation, master and epoch, with a key that all servers share.
// For a key rotation all servers first get the new key as the second one, and then as the first.
// A server without keys signs no claim and accepts every claim.
type claims [][]byte

// append appends the token of a claim, or nothing without keys.
func (c claims) append(b []byte, client wire.ClientID, incarnation uint64, master nid.NID, epoch uint32) []byte {
	if len(c) == 0 {
		return b
	}
	return claim(b, c[0], client, incarnation, master, epoch)
}

// verify reports whether a token proves the claim, or there are no keys.
func (c claims) verify(token []byte, client wire.ClientID, incarnation uint64, master nid.NID, epoch uint32) bool {
	for _, k := range c {
		if hmac.Equal(token, claim(nil, k, client, incarnation, master, epoch)) {
			return true
		}
	}
	return len(c) == 0
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
