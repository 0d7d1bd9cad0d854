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
		*to = nil
		seen := map[string]bool{} // kinds of statements that have occurred and may occur only once
		return entries(value, "a statement", func(text string) error {
			*to = append(*to, text)
			s, err := fault.ParseStatement(text)
			if err != nil {
				return err
			}
			word := s.Once()
			if word != "" && seen[word] {
				return fmt.Errorf("a second %s, which would take the place of the first", word)
			}
			seen[word] = true
			return nil
		})
	}}
}
