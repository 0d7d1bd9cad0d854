package shell

import (
	"errors"
	"strings"
)

// Words splits a line as a shell does. Blanks divide words, quotes of either kind keep blanks,
// and a backslash keeps the character after it, except within single quotes. A # where a word
// could begin starts a comment.
func Words(line string) ([]string, error) {
	var w splitter
	for _, r := range line {
		if w.comment = w.comment || w.begins() && r == '#'; w.comment {
			break
		}
		w.take(r)
	}
	if w.quote != 0 {
		return nil, errors.New("a quotation mark is missing at the end of a text in quotation marks")
	}
	w.end()
	return w.words, nil
}

// splitter is the state of Words between two characters.
type splitter struct {
	words   []string
	word    strings.Builder
	inWord  bool // a word has begun, perhaps an empty one in quotation marks
	quote   rune // the quotation mark that ends the quoted part; 0: not inside quotes
	escaped bool // the last character was a backslash
	comment bool // the rest of the line is a comment
}

// begins reports whether the next character can be the first one of a word.
func (w *splitter) begins() bool { return !w.inWord && w.quote == 0 && !w.escaped }

func (w *splitter) take(r rune) {
	switch {
	case w.escaped:
		w.escaped = false
		w.word.WriteRune(r)
	case r == '\\' && w.quote != '\'':
		w.escaped, w.inWord = true, true
	case w.quote != 0 && r == w.quote:
		w.quote = 0
	case w.quote != 0:
		w.word.WriteRune(r)
	case r == '\'' || r == '"':
		w.quote, w.inWord = r, true
	case strings.ContainsRune(" \t\r\n", r):
		w.end()
	default:
		w.inWord = true
		w.word.WriteRune(r)
	}
}

func (w *splitter) end() {
	if w.inWord {
		w.words = append(w.words, w.word.String())
	}
	w.word.Reset()
	w.inWord = false
}
