package networks

import (
	"fmt"
	"iter"
	"strings"
)

// maxEntries is the length of the longest text of entries in bytes (LNet's
// LNET_MAX_TEXTBUF_NOB).
const maxEntries = 64 << 10

// Word is a word of an entry with its position.
type Word struct {
	Text   string // the word, which has no blanks
	Offset int    // offset of the word in the whole text, in bytes
}

// Entries returns the entries of the tunables routes and ip2nets as words: entries are
// separated by semicolons or newlines, words by blanks, and # begins a comment that ends
// with the entry (LNet config.c lnet_str2tbs_sep). Entries without words are left out.
func Entries(text string) iter.Seq[[]Word] {
	return func(yield func([]Word) bool) {
		for at := 0; at <= len(text); {
			entry, _, _ := strings.Cut(text[at:], ";")
			entry, _, _ = strings.Cut(entry, "\n")
			end := at + len(entry) + 1
			entry, _, _ = strings.Cut(entry, "#")
			if words := split(entry, at); len(words) > 0 && !yield(words) {
				return
			}
			at = end
		}
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// split returns the words of an entry that begins at an offset.
func split(entry string, offset int) (words []Word) {
	for at := 0; at < len(entry); {
		if isBlank(entry[at]) {
			at++
			continue
		}
		start := at
		for at < len(entry) && !isBlank(entry[at]) {
			at++
		}
		words = append(words, Word{entry[start:at], offset + start})
	}
	return words
}

// EntryError is a mistake in the tunable routes or ip2nets, with its position.
type EntryError struct {
	Tunable string // name of the tunable: routes or ip2nets
	Text    string // the whole text as given
	Offset  int    // offset of the mistake in Text, in bytes
	Reason  string // what is wrong at Offset, and what would be right
}

func (e *EntryError) Error() string {
	before := e.Text[:min(e.Offset, len(e.Text))]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Sprintf("%s at line %d, character %d: %s", e.Tunable, line, column, e.Reason)
}

// CheckLength refuses a text that is longer than LNet's buffer for the tunables of entries.
func CheckLength(tunable, text string) error {
	if len(text) > maxEntries {
		return &EntryError{tunable, text, maxEntries, fmt.Sprintf("longer than %d bytes", maxEntries)}
	}
	return nil
}
