package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/lnd/fault"
)

// entryError is what is wrong with one entry of a list.
type entryError struct {
	at  *token.Token
	err error
}

func (e *entryError) Error() string { return e.err.Error() }
func (e *entryError) Unwrap() error { return e.err }

// faults takes a list of statements of package fault.
func faults(to *[]string) setting {
	return setting{func(value ast.Node) error {
		list, ok := value.(*ast.SequenceNode)
		if !ok {
			return fmt.Errorf("want a list with a statement behind each dash, not %q", value)
		}
		var statements []string
		for _, entry := range list.Values {
			var line string
			err := text(&line, checkFault).put(entry)
			if err != nil {
				return &entryError{entry.GetToken(), err}
			}
			statements = append(statements, line)
		}
		*to = statements
		return nil
	}}
}

func checkFault(s string) error {
	_, err := fault.ParseStatement(s)
	return err
}
