package keyring

import (
	"bytes"
	"errors"
	"fmt"
)

// MinKey is the least length of a key in bytes.
const MinKey = 16

// Reasons why keys are refused. No error shows a key.
var (
	ErrShort = fmt.Errorf("a key needs at least %d bytes: 'openssl rand -hex 32' makes one", MinKey)
	ErrCount = errors.New("want one key, or two while they change, each on a line of its own")
	ErrSame  = errors.New("both keys are the same: remove one")
	// ErrOnOff says that keys cannot be introduced or removed while the protocol runs.
	ErrOnOff = errors.New("keys can be changed while the protocol runs, not introduced or removed: start it again")
)

// Keys holds zero, one or two keys: the first signs, all verify. The zero value has none. Keys are comparable
// with ==, and print without their content.
type Keys struct{ first, second string }

// NewKeys returns one or two keys. The error is [ErrCount], [ErrShort] or [ErrSame].
func NewKeys(keys ...[]byte) (Keys, error) {
	if len(keys) == 0 || len(keys) > 2 {
		return Keys{}, ErrCount
	}
	var k Keys
	for i, to := range []*string{&k.first, &k.second}[:len(keys)] {
		if len(keys[i]) < MinKey {
			return Keys{}, ErrShort
		}
		*to = string(keys[i])
	}
	if k.first == k.second {
		return Keys{}, ErrSame
	}
	return k, nil
}

// Parse parses a key file. Each line is a key, without leading and trailing white space. Parse
// skips empty lines, and comment lines, which begin with #. A file of one line is one key, even
// if the line begins with #.
func Parse(text []byte) (Keys, error) {
	var keys, comments [][]byte
	n := 0
	for line := range bytes.Lines(text) {
		n++
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case line[0] == '#':
			comments = append(comments, line)
		case len(line) < MinKey:
			return Keys{}, fmt.Errorf("line %d: %w", n, ErrShort)
		default:
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 && len(comments) == 1 {
		keys = comments
	}
	if len(keys) == 0 || len(keys) > 2 {
		return Keys{}, fmt.Errorf("%w: there are %d", ErrCount, len(keys))
	}
	return NewKeys(keys...)
}

// Len returns the number of keys.
func (k Keys) Len() int { return len(k.All()) }

// All returns copies of the keys. The first one is the key that signs.
func (k Keys) All() (keys [][]byte) {
	for _, key := range []string{k.first, k.second} {
		if key != "" {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}

// Equal reports whether both are the same keys in the same order.
func (k Keys) Equal(other Keys) bool { return k == other }

// String returns the number of keys, such as "2 keys".
func (k Keys) String() string { return fmt.Sprintf("%d keys", k.Len()) }

// GoString is String, so that %#v shows no key either.
func (k Keys) GoString() string { return k.String() }

// MarshalText returns the text of String.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
