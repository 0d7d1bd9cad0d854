package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// word is one word of a line, with its place.
type word struct {
	text   string
	column int
}

// split divides a line into its words and its comment. The mark | is a word of its own, also
// without blanks around it.
func split(line string) (words []word, comment string) {
	column, start, at := 0, -1, 0
	end := func(i int) {
		if start >= 0 {
			words = append(words, word{line[start:i], at})
		}
		start = -1
	}
	for i, r := range line {
		column++
		switch {
		case r == '#' && start < 0:
			return words, strings.TrimRightFunc(line[i:], unicode.IsSpace)
		case unicode.IsSpace(r):
			end(i)
		case r == '|':
			end(i)
			words = append(words, word{"|", column})
		case start < 0:
			start, at = i, column
		}
	}
	end(len(line))
	return words, ""
}

// cursor reads the words of one line. Each method parses the next words. Once a word was wrong, err
// has this first mistake and all methods return zero values.
type cursor struct {
	file  string
	line  int
	words []word
	i     int
	err   *Error
}

// fail records an error at the word w, unless there is one already.
func (c *cursor) fail(w word, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{c.file, c.line, w.column, fmt.Sprintf(format, args...)}
	}
}

// here is the next word, or at the end of the line an empty word that stands for that place.
func (c *cursor) here() word {
	if c.i < len(c.words) {
		return c.words[c.i]
	}
	last := c.words[len(c.words)-1]
	return word{"", last.column + utf8.RuneCountInString(last.text)}
}

func (c *cursor) more() bool { return c.err == nil && c.i < len(c.words) }

// take returns the next word. If the line has no more words, the error says that want is missing.
func (c *cursor) take(want string) word {
	w := c.here()
	if c.i == len(c.words) {
		c.fail(w, "the line ends: want %s", want)
		return w
	}
	c.i++
	return w
}

// accept takes the next word if it is text, and reports whether it did.
func (c *cursor) accept(text string) bool {
	if !c.more() || c.words[c.i].text != text {
		return false
	}
	c.i++
	return true
}

// want takes the next word, which must be text.
func (c *cursor) want(text string) {
	if w := c.take(strconv.Quote(text)); w.text != text {
		c.fail(w, "%q: want %q", w.text, text)
	}
}

// end fails if the line has more words.
func (c *cursor) end() {
	if c.more() {
		w := c.here()
		c.fail(w, "%q: want the end of the line", w.text)
	}
}

// choice parses a word that must be one of a list.
func (c *cursor) choice(what string, of []string) string {
	list := strings.Join(of, ", ")
	w := c.take(list)
	if !slices.Contains(of, w.text) {
		c.fail(w, "unknown %s %q: want %s", what, w.text, list)
	}
	return w.text
}

// value takes a word that f allows, and returns it in its usual spelling.
func (c *cursor) value(f form) string {
	w := c.take(f.describe())
	text, err := f.normal(w.text)
	if err != nil {
		c.fail(w, "%v", err)
	}
	return text
}

// number parses the next word as a whole number.
func (c *cursor) number(what string, lowest, highest int) int {
	w := c.take(what)
	n, err := strconv.Atoi(w.text)
	if err != nil || n < lowest || n > highest {
		c.fail(w, "%q: want %s, %d to %d", w.text, what, lowest, highest)
		return 0
	}
	return n
}

// time parses the next word as a time.
func (c *cursor) time() time.Duration {
	w := c.take(Duration.describe())
	d, err := parseTime(w.text)
	if err != nil {
		c.fail(w, "%v", err)
	}
	return d
}

// period parses the next word as a time above 0.
func (c *cursor) period() time.Duration {
	w := c.here()
	d := c.time()
	if d == 0 {
		c.fail(w, "want a time that is not 0")
	}
	return d
}

// rate parses the next word as a bandwidth.
func (c *cursor) rate() int64 {
	w := c.take(Rate.describe())
	r, err := link.ParseRate(w.text)
	if err != nil {
		c.fail(w, "%v", err)
	}
	return r
}

// nodes parses the next word as a set of nodes.
func (c *cursor) nodes() sim.NodeSet {
	w := c.take(NodeSet.describe())
	s, err := sim.ParseNodes(w.text, MaxNodes)
	if err != nil {
		c.fail(w, "%v", err)
	}
	return s
}

// set parses a set of nodes, or "any N of" a set of nodes.
func (c *cursor) set() set {
	column := c.here().column
	s := set{column: column}
	if c.accept("any") {
		s.Any = c.number("a number of nodes", 1, maxAny)
		c.want("of")
	}
	s.Of = c.nodes()
	return s
}

// change takes a change of a link, up to the end of the line. It refuses a
// rate: only racks and access links have bandwidths.
func (c *cursor) change() link.Change {
	if c.err != nil {
		return link.Change{}
	}
	rest := make([]string, 0, len(c.words)-c.i)
	for _, w := range c.words[c.i:] {
		rest = append(rest, w.text)
	}
	if i := slices.Index(rest, "rate"); i >= 0 {
		c.i += i
		c.fail(c.here(), "a link between nodes has no rate of its own: want access rate R, or racks of N uplink R")
		return link.Change{}
	}
	change, err := link.ParseChange(rest)
	if e, ok := err.(*link.ParseError); ok {
		c.i += min(e.Word, len(rest))
		// the error lists "rate" among the allowed words, but a file must not have it here: leave it
		// out
		c.fail(c.here(), "%s", strings.Replace(e.Why, "rate, ", "", 1))
	}
	c.i = len(c.words)
	return change
}
