package engine

import (
	"fmt"

	"ulnet/lnet/nid"
)

// Error says what is wrong with a configuration, a list, or a change of the list.
type Error struct {
	Why  string    // the text of the error, without the list of participants
	NIDs []nid.NID // the participants that Why is about, such as those that have not staged the list; nil for most errors
}

// Error returns Why, followed by the first few of the NIDs.
func (e *Error) Error() string {
	text := "gossip: " + e.Why
	for i, id := range e.NIDs {
		switch {
		case i == 0:
			text += ": " + id.String()
		case i == 4 && len(e.NIDs) > 5:
			return fmt.Sprintf("%s, %d more", text, len(e.NIDs)-i)
		default:
			text += ", " + id.String()
		}
	}
	return text
}

func invalid(format string, args ...any) error {
	return &Error{Why: fmt.Sprintf(format, args...)}
}
