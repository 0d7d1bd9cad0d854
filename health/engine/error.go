package engine

import (
	"strings"

	"ulnet/lnet/nid"
)

// Error says what cannot be done, and what the user can do instead.
type Error struct {
	Why string // text of the error, for people to read
	// Draining are the other live servers that drain, as far as this server knows. It is set only if
	// the error is that this server must not drain because all of these do.
	Draining []nid.NID
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Draining) == 0 {
		return "health: " + e.Why
	}
	texts := make([]string, len(e.Draining))
	for i, id := range e.Draining {
		texts[i] = id.String()
	}
	return "health: " + e.Why + "; these drain: " + strings.Join(texts, ", ")
}
