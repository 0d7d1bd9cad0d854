package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/lnd/fault"
)

// entryError is an error in one entry of a list.
type entryError struct {
	at  *token.Token
	err error
}

func (e *entryError) Error() string { return e.err.Error() }
func (e *entryError) Unwrap() error { return e.err }

// faults parses a list of statements of package fault.
func faults(to *[]string) setting {
	return setting{func(value ast.Node) error {
		list, ok := value.(*ast.SequenceNode)
		if !ok {
			return fmt.Errorf("want a list with a statement behind each dash, not %q", value)
		}
		c := faultChecker{seen: map[string]bool{}}
		var statements []string
		for _, entry := range list.Values {
			var line string
			err := text(&line, c.check).put(entry)
			if err != nil {
				return &entryError{entry.GetToken(), err}
			}
			statements = append(statements, line)
		}
		*to = statements
		return nil
	}}
}

// faultChecker checks a list of statements.
type faultChecker struct{ seen map[string]bool } // kinds of statements that have occurred and may occur only once

func (c *faultChecker) check(text string) error {
	s, err := fault.ParseStatement(text)
	if err != nil {
		return err
	}
	if word := s.Once(); word != "" {
		if c.seen[word] {
			return fmt.Errorf("a second %s, which would take the place of the first", word)
		}
		c.seen[word] = true
	}
	return nil
}
