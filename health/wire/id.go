package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// ClientIDOf derives a client id from a name. Equal names give equal ids.
func ClientIDOf(name string) (id ClientID) {
	sum := sha256.Sum256([]byte("ulnet client\x00" + name))
	return ClientID(sum[:len(id)])
}

// ClientID identifies a client over all its incarnations. The zero value identifies none.
type ClientID [16]byte

// ErrClientID means that a text is not a client id.
var ErrClientID = errors.New("health: not a client id: 32 hexadecimal digits, not all 0")

// ParseClientID parses the text of a client id. The error wraps [ErrClientID].
func ParseClientID(s string) (id ClientID, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) || ClientID(b) == (ClientID{}) {
		return ClientID{}, fmt.Errorf("%w: %q", ErrClientID, s)
	}
	return ClientID(b), nil
}

// IsValid reports whether the id names a client.
func (id ClientID) IsValid() bool { return id != ClientID{} }

// String returns 32 hexadecimal digits.
func (id ClientID) String() string { return hex.EncodeToString(id[:]) }

// Compare orders ids by their bytes.
func (id ClientID) Compare(other ClientID) int { return bytes.Compare(id[:], other[:]) }

// MarshalText implements encoding.TextMarshaler.
func (id ClientID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ClientID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseClientID(string(text))
	return err
}
