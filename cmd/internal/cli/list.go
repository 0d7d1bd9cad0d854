package cli

import (
	"bytes"
	"io"
)

// A ListPrinter prints an object whose only value is a list, in the format of Print but
// part by part, so that a long list need not be in memory.
type ListPrinter[T any] struct {
	w      io.Writer
	asJSON bool
	key    string
	some   bool // at least one item was printed
	part   bytes.Buffer
}

// NewListPrinter returns a printer of the object {key: list}. Close ends it.
func NewListPrinter[T any](w io.Writer, asJSON bool, key string) *ListPrinter[T] {
	return &ListPrinter[T]{w: w, asJSON: asJSON, key: key}
}

// head and tail are the text before and after the items of a list.
func (p *ListPrinter[T]) head() string {
	if p.asJSON {
		return "{\n  \"" + p.key + "\": [\n"
	}
	return p.key + ":\n"
}

func (p *ListPrinter[T]) tail() string {
	if p.asJSON {
		return "\n  ]\n}\n"
	}
	return ""
}

// Add prints the next items.
func (p *ListPrinter[T]) Add(items []T) error {
	if len(items) == 0 {
		return nil
	}
	p.part.Reset()
	if err := Print(&p.part, p.asJSON, map[string][]T{p.key: items}); err != nil {
		return err
	}
	text := p.part.Bytes()
	if p.some {
		text = bytes.TrimPrefix(text, []byte(p.head()))
		if p.asJSON {
			text = append([]byte(",\n"), text...)
		}
	}
	p.some = true
	_, err := p.w.Write(bytes.TrimSuffix(text, []byte(p.tail())))
	return err
}

// Close prints the end of the list.
func (p *ListPrinter[T]) Close() error {
	if !p.some {
		return Print(p.w, p.asJSON, map[string][]T{p.key: {}})
	}
	_, err := io.WriteString(p.w, p.tail())
	return err
}
