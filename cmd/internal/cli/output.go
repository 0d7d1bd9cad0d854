package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes v to w as indented JSON, or as block YAML with the same keys in
// the same order.
func Print(w io.Writer, asJSON bool, v any) error {
	if asJSON {
		return JSON(w, v)
	}
	return YAML(w, v)
}

// Show writes v to w as indented JSON, or calls a function that prints it for people.
func Show[T any](w io.Writer, asJSON bool, v T, print func(io.Writer, T) error) error {
	if asJSON {
		return JSON(w, v)
	}
	return print(w, v)
}

// JSON writes v to w as indented JSON. For one object per line, use JSONLines.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// JSONLines writes each of a list to w as JSON on a line of its own.
func JSONLines[T any](w io.Writer, list []T) error {
	e := json.NewEncoder(w)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// Count returns a number with a noun, in the singular or plural.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Table collects rows and prints them in aligned columns.
type Table struct{ rows []string }

// Row adds a row to the table.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, strings.Join(texts, "\t"))
}

// Print writes the rows to w.
func (t *Table) Print(w io.Writer) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(tw, row)
	}
	tw.Flush() // cannot fail, because writing to a strings.Builder cannot
	_, err := io.WriteString(w, b.String())
	return err
}
