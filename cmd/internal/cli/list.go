package cli

import (
	"bytes"
	"io"
)

// A ListPrinter prints an object whose only value is a list, part by part, so that a
// long list need not be in memory.
type ListPrinter[T any] struct {
	w      io.Writer
	asJSON bool
	key    string
	some   bool                       // at least one item was printed
	yaml   func(io.Writer, any) error // writes a document as YAML
	part   bytes.Buffer
}

// NewListPrinter returns a printer of the object {key: list}. It prints JSON, or calls a
// function that writes YAML, such as the function YAML. Close ends the list.
func NewListPrinter[T any](w io.Writer, asJSON bool, key string, yaml func(io.Writer, any) error) *ListPrinter[T] {
	return &ListPrinter[T]{w: w, asJSON: asJSON, key: key, yaml: yaml}
}

// print prints a list at once.
func (p *ListPrinter[T]) print(w io.Writer, items []T) error {
	doc := map[string][]T{p.key: items}
	if p.asJSON {
		return JSON(w, doc)
	}
	return p.yaml(w, doc)
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
	if err := p.print(&p.part, items); err != nil {
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
		return p.print(p.w, []T{})
	}
	_, err := io.WriteString(p.w, p.tail())
	return err
}
