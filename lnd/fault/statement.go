package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The first words of the statements that are not rules.
const (
	partitionWord = "partition"
	pauseWord     = "pause"
)

// Statement is one line of a configuration: a fault.
type Statement struct {
	rule      *Rule
	partition *Partition
	pause     time.Duration // length of the pause, if rule and partition are nil; 0: without end
}

// ParseStatement parses one of
//
//	RULE               see ParseRule
//	partition SETS     see ParsePartition
//	pause [5s]
func ParseStatement(text string) (Statement, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Statement{}, errors.New("an empty statement: want a rule such as \"loss 5%\", partition or pause")
	}
	word := words[0]
	rest := strings.TrimPrefix(strings.TrimSpace(text), word)
	switch word {
	case partitionWord:
		p, err := ParsePartition(rest)
		return Statement{partition: &p}, err
	case pauseWord:
		d, err := parsePause(strings.TrimSpace(rest))
		return Statement{pause: d}, err
	}
	if !isKey(word) {
		return Statement{}, fmt.Errorf("unknown word %q: want %s or %s, or a rule: from, to, type, portal to choose messages, and cut, %s",
			word, partitionWord, pauseWord, linkWords())
	}
	r, err := ParseRule(text)
	return Statement{rule: &r}, err
}

func parsePause(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time to pause for: want such as 5s or 300ms, or nothing until it is resumed", s)
	}
	return d, nil
}

// String returns the text that [ParseStatement] takes.
func (s Statement) String() string {
	switch {
	case s.rule != nil:
		return s.rule.String()
	case s.partition != nil:
		return partitionWord + " " + s.partition.String()
	case s.pause > 0:
		return pauseWord + " " + s.pause.String()
	}
	return pauseWord
}

// Once returns the first word of a statement that replaces an earlier one with the same word. It
// returns "" for rules, which add up.
func (s Statement) Once() string {
	switch {
	case s.rule != nil:
		return ""
	case s.partition != nil:
		return partitionWord
	}
	return pauseWord
}

// Apply applies a statement. It returns the number of the rule, or 0 if the statement is not a rule; errors
// are those of Add.
func (p *Plan) Apply(s Statement) (id int, err error) {
	switch {
	case s.rule != nil:
		return p.Add(*s.rule)
	case s.partition != nil:
		p.Separate(*s.partition)
	default:
		p.Pause(s.pause)
	}
	return 0, nil
}
