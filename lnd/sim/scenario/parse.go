package scenario

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parse parses a scenario of one of the protocols. name names the file in errors. The
// error is of type [Errors]: all mistakes, up to a bound.
func Parse(name string, text []byte, protocols []*Protocol) (*File, error) {
	p := &parser{file: &File{Name: name}, protocols: protocols}
	if len(text) > maxText {
		return nil, Errors{{name, 1, 1, fmt.Sprintf("the file has %d bytes: want %d at most", len(text), maxText)}}
	}
	number := 0
	for text := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		number++
		if p.line(number, strings.TrimSuffix(text, "\r")); len(p.errors) >= maxErrors {
			return nil, p.errors
		}
	}
	p.finish(number)
	if len(p.errors) > 0 {
		return nil, p.errors
	}
	if _, errs := p.file.expand(p.file.Nodes, p.file.Seed); len(errs) > 0 {
		return nil, errs
	}
	return p.file, nil
}

// parser has the state of parsing one file.
type parser struct {
	file      *File
	protocols []*Protocol
	errors    Errors
	seen      map[string]int // line of each setting that may stand only once
	events    int            // lines with a fault or a check so far
}

// line parses the line with the given number.
func (p *parser) line(number int, text string) {
	c := &cursor{file: p.file.Name, line: number}
	l := line{number: number}
	switch {
	case len(text) > maxLine:
		c.fail(word{column: 1}, "the line has %d bytes: want %d at most", len(text), maxLine)
	case !utf8.ValidString(text):
		c.fail(word{column: 1}, "the line is not UTF-8")
	default:
		c.words, l.comment = split(text)
		if len(c.words) > 0 {
			p.statement(c, &l)
			c.end()
		}
	}
	if c.err != nil {
		p.errors = append(p.errors, c.err)
	}
	p.file.lines = append(p.file.lines, l)
}

// statement parses the words of one line.
func (p *parser) statement(c *cursor, l *line) {
	first := c.words[0]
	if p.file.Protocol == nil {
		p.protocol(c, l)
		return
	}
	c.i++
	switch first.text {
	case "at":
		l.fault = &fault{when: whenAt, at: c.time()}
		l.fault.do = c.action(p.file.Protocol)
	case "every":
		l.fault = c.every(p.file.Protocol)
	case "random":
		l.fault = c.random()
	case "expect", "always", "never":
		l.check = c.check(first.text, p.file.Protocol)
		l.check.after = p.lastFault()
	default:
		p.setting(c, l, first)
	}
	if l.fault != nil || l.check != nil {
		p.events++
	}
}

// lastFault is the fault before the present line, nil if there is none.
func (p *parser) lastFault() *fault {
	for _, l := range slices.Backward(p.file.lines) {
		if l.fault != nil {
			return l.fault
		}
	}
	return nil
}

// protocol parses the first statement, which names the protocol.
func (p *parser) protocol(c *cursor, l *line) {
	names := texts(p.protocols, func(pr *Protocol) string { return pr.Name })
	first := c.take("protocol NAME")
	if first.text != "protocol" {
		c.fail(first, "the first line is %q: want protocol NAME, one of %s", first.text, strings.Join(names, ", "))
	}
	name := c.choice("protocol", names)
	l.setting = join("protocol", name)
	i := max(0, slices.Index(names, name))
	if len(p.protocols) == 0 {
		p.file.Protocol = &Protocol{}
		return
	}
	// If the protocol is unknown, the rest of the file is parsed as if the file named the first
	// protocol.
	p.file.Protocol = p.protocols[i]
	p.file.Options = defaults(p.file.Protocol)
}

func defaults(p *Protocol) Values {
	v := make(Values, len(p.Options))
	for _, o := range p.Options {
		v[o.Name] = o.Default
	}
	return v
}

// finish reports the mistakes that only the whole file shows.
func (p *parser) finish(last int) {
	f := p.file
	missing := func(why string) {
		p.errors = append(p.errors, &Error{f.Name, last, 1, why})
	}
	if f.Protocol == nil {
		missing("the file is empty: want protocol NAME in its first line")
		return
	}
	if len(p.errors) > 0 {
		return
	}
	if p.seen["nodes"] == 0 {
		missing("the file has no line nodes N")
	}
	if p.seen["run"] == 0 {
		missing("the file has no line run TIME, which says how long the run is")
	}
	if len(p.errors) > 0 {
		return
	}
	p.errors = append(p.errors, f.schedule()...)
	p.errors.sort()
}
