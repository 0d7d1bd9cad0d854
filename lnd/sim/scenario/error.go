package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is something wrong at one place of a file.
type Error struct {
	File   string // name of the file, as given to Parse
	Line   int    // line number, from 1
	Column int    // column, from 1, in characters
	Why    string // what is wrong, and what is wanted
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Why)
}

// Errors is everything that is wrong with a file, in order, at least one.
type Errors []*Error

func (e Errors) Error() string { return strings.Join(texts(e, (*Error).Error), "\n") }

// Unwrap returns the errors of the list.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// maxErrors is how many errors of a file are reported.
const maxErrors = 20

// sort brings errors into the order of the file.
func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
}
