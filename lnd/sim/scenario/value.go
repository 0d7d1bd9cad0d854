package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// Kind is what the text of an option or argument must be.
type Kind uint8

// The kinds of values.
const (
	Count       Kind = iota // a whole number, not negative
	Number                  // any number
	Duration                // a time such as 1.5s
	Probability             // a probability such as 1% or 0.01
	Rate                    // a bandwidth such as 10Gbit
	Switch                  // the word on or off
	Choice                  // one of the words in Choices
	Node                    // a node number such as 17
	NodeSet                 // a set of nodes such as 1-500,600 or all
	Word                    // any text without blanks
)

// form describes which texts are valid for an option or an argument.
type form struct {
	kind        Kind
	choices     []string
	least, most int
}

func (o *Option) form() form { return form{o.Kind, o.Choices, o.Least, o.Most} }

func (a *Arg) form() form { return form{a.Kind, a.Choices, a.Least, a.Most} }

// describe returns a description of the texts that the form allows, for error messages.
func (f form) describe() string {
	switch {
	case f.kind == Choice:
		return strings.Join(f.choices, ", ")
	case f.most > 0:
		return fmt.Sprintf("%s, %d to %d", f.kind.describe(), f.least, f.most)
	}
	return f.kind.describe()
}

// describe returns the text of what the kind allows.
func (k Kind) describe() string {
	switch k {
	case Count:
		return "a whole number"
	case Number:
		return "a number"
	case Duration:
		return "a time such as 1.5s, 10ms or 2m"
	case Probability:
		return "a probability such as 1% or 0.01"
	case Rate:
		return "a bandwidth such as 10Gbit, or unlimited"
	case Switch:
		return "on or off"
	case Node:
		return "a node's number"
	case NodeSet:
		return "all, or nodes such as 1-500,600"
	}
	return "a word"
}

// normal checks that text is a value of form f, and returns the value in its usual spelling.
func (f form) normal(text string) (string, error) {
	switch f.kind {
	case Count:
		n, err := strconv.Atoi(text)
		return strconv.Itoa(n), f.unless(err == nil && n >= f.least && (f.most == 0 || n <= f.most) && n >= 0, text)
	case Number:
		v, err := strconv.ParseFloat(text, 64)
		bounded := f.most == 0 || v >= float64(f.least) && v <= float64(f.most)
		return formatNumber(v), f.unless(err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && bounded, text)
	case Duration:
		d, err := parseTime(text)
		return formatTime(d), f.unless(err == nil, text)
	case Probability:
		p, err := link.ParseProbability(text)
		return link.FormatProbability(p), err
	case Rate:
		r, err := link.ParseRate(text)
		return link.FormatRate(r), err
	case Switch:
		return text, f.unless(text == "on" || text == "off", text)
	case Choice:
		return text, f.unless(slices.Contains(f.choices, text), text)
	case Node:
		n, err := strconv.ParseUint(text, 10, 31)
		return strconv.FormatUint(n, 10), f.unless(err == nil && n >= 1 && n <= MaxNodes, text)
	case NodeSet:
		s, err := sim.ParseNodes(text, MaxNodes)
		return s.String(), err
	}
	return text, nil
}

func (f form) unless(ok bool, text string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%q: want %s", text, f.describe())
}

// maxTime is the longest time that a file may have.
const maxTime = 10000 * time.Hour

// parseTime parses a virtual time: not negative, and bounded.
func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxTime {
		return 0, form{kind: Duration}.unless(false, text)
	}
	return d, nil
}

// formatTime returns d in the usual form of a file: 2m, not 2m0s.
func formatTime(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Values are the options of a protocol by name. Every option is there and its value has been
// checked, so that the methods need no error.
type Values map[string]string

// Int is the value of an option of kind Count or Node.
func (v Values) Int(name string) int { return Args{v[name]}.Int(0) }

// Float is the value of an option of kind Number or Probability.
func (v Values) Float(name string) float64 { return Args{v[name]}.Float(0) }

// Duration is the value of an option of kind Duration.
func (v Values) Duration(name string) time.Duration { return Args{v[name]}.Duration(0) }

// On is the value of an option of kind Switch.
func (v Values) On(name string) bool { return v[name] == "on" }

// Args are the arguments of a condition or verb. Their kinds have been checked, so that the methods
// need no error. For an argument that was left out they return zero.
type Args []string

// ParseCommand divides the text of a command to a node: the verb, and its arguments.
func ParseCommand(text string) (verb string, args Args) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// Word returns argument i as text.
func (a Args) Word(i int) string {
	if i >= len(a) {
		return ""
	}
	return a[i]
}

// Int is an argument of kind Count or Node.
func (a Args) Int(i int) int {
	n, _ := strconv.Atoi(a.Word(i))
	return n
}

// Float is an argument of kind Number or Probability.
func (a Args) Float(i int) float64 {
	if p, err := link.ParseProbability(a.Word(i)); err == nil {
		return p
	}
	f, _ := strconv.ParseFloat(a.Word(i), 64)
	return f
}

// Duration returns argument i, of kind Duration.
func (a Args) Duration(i int) time.Duration {
	d, _ := parseTime(a.Word(i))
	return d
}

// Node returns argument i, of kind Node.
func (a Args) Node(i int) sim.NodeID { return sim.NodeID(a.Int(i) - 1) }

// Among returns argument i, of kind NodeSet; it returns all nodes if the argument was left out.
func (a Args) Among(i int) sim.NodeSet {
	if i >= len(a) {
		return sim.AllNodes
	}
	return a.Nodes(i)
}

// Nodes returns argument i, of kind NodeSet.
func (a Args) Nodes(i int) sim.NodeSet {
	s, _ := sim.ParseNodes(a.Word(i), MaxNodes)
	return s
}
