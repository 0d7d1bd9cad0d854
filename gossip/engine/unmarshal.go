package engine

import (
	"fmt"
	"slices"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Health) UnmarshalText(text []byte) error { return unmarshal(h, healths[:], text) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *EventKind) UnmarshalText(text []byte) error { return unmarshal(k, eventNames[:], text) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *RollState) UnmarshalText(text []byte) error { return unmarshal(s, rollStates[:], text) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Refusal) UnmarshalText(text []byte) error { return unmarshal(r, refusals[:], text) }

// unmarshal sets a value to the number that a word stands for.
func unmarshal[T ~uint8](to *T, words []string, text []byte) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("gossip: no such word as %q", text)
	}
	*to = T(i)
	return nil
}
