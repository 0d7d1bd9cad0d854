package engine

import (
	"fmt"
	"slices"
	"strconv"
)

// name returns the word for a number, or the number as text if there is no word.
func name(words []string, i uint64) string {
	if i < uint64(len(words)) {
		return words[i]
	}
	return "?" + strconv.FormatUint(i, 10) + "?"
}

// unmarshal sets *to to the number that stands for the word text.
func unmarshal[T ~uint8 | ~uint16](to *T, words []string, text []byte) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("health: no such word as %q", text)
	}
	*to = T(i)
	return nil
}
