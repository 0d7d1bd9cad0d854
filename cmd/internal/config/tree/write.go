package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A layout is how a part of Lustre's lnetctl indents what it prints. Columns are relative to the
// column of the key.
type layout struct {
	mapping  int       // indentation of the keys of a mapping
	list     int       // indentation of the dashes of a list that is not at the top level
	topList  int       // indentation of the dashes of a top-level list
	behind   int       // indentation of the keys of a mapping after a dash
	booleans [2]string // texts of false and of true
}

// The three layouts of Lustre's tool: that of its older library, that of answers of the kernel,
// and that of libyaml.
var (
	older = layout{mapping: 4, list: 2, topList: 4, behind: 2, booleans: [2]string{"False", "True"}}
	wide  = layout{mapping: 6, list: 0, topList: 0, behind: 6, booleans: [2]string{"false", "true"}}
	plain = layout{mapping: 2, list: 0, topList: 0, behind: 2, booleans: [2]string{"false", "true"}}
)

// layouts has the layouts of top level keys. A key that is not here has the layout older.
var layouts = map[string]*layout{
	"net": &wide, "route": &wide, "peer": &wide, "peer list": &wide,
	"ping": &plain, "discover": &plain, "manage": &plain, "cpt-of-nid": &plain,
}

// writer prints JSON as YAML in a layout.
type writer struct {
	bytes.Buffer
	*layout
}

// writeJSON prints the members of a JSON object as a document.
func writeJSON(to io.Writer, text []byte) error {
	var w writer
	err := members(text, func(key string, value json.RawMessage) error {
		w.layout = &older
		if l, ok := layouts[key]; ok {
			w.layout = l
		}
		w.WriteString(key + ":")
		return w.value(value, 0, w.topList)
	})
	if err != nil {
		return fmt.Errorf("print YAML: %w", err)
	}
	_, err = to.Write(w.Bytes())
	return err
}

// value prints the value after a key or dash. The argument key is the column of that key. The
// argument dashes is the column at which the items of a list begin.
func (w *writer) value(value json.RawMessage, key, dashes int) error {
	switch value[0] {
	case 'n': // Lustre's lnetctl leaves out null
		w.WriteString("\n")
		return nil
	case '{':
		if string(value) == "{}" {
			w.WriteString(" {}\n")
			return nil
		}
		w.WriteString("\n")
		return w.mapping(value, key+w.layout.mapping, false)
	case '[':
		return w.sequence(value, key+dashes)
	}
	w.WriteString(" " + w.scalar(value) + "\n")
	return nil
}

// mapping prints the keys of a mapping at a column. If started is set, the first key stands on a line that has
// been begun, behind a dash.
func (w *writer) mapping(value json.RawMessage, column int, started bool) error {
	return members(value, func(key string, value json.RawMessage) error {
		if !started {
			w.WriteString(strings.Repeat(" ", column))
		}
		started = false
		w.WriteString(key + ":")
		return w.value(value, column, w.list)
	})
}

// sequence prints the items of a list with dashes at a column.
func (w *writer) sequence(value json.RawMessage, column int) error {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		w.WriteString(" []\n")
		return nil
	}
	w.WriteString("\n")
	for _, item := range list {
		w.WriteString(strings.Repeat(" ", column) + "-")
		if item[0] != '{' || string(item) == "{}" {
			if err := w.value(item, column, w.list); err != nil {
				return err
			}
			continue
		}
		w.WriteString(strings.Repeat(" ", w.behind-1))
		if err := w.mapping(item, column+w.behind, true); err != nil {
			return err
		}
	}
	return nil
}

// scalar returns the text of a JSON scalar.
func (w *writer) scalar(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return w.quote(text2string(value))
	case 'f':
		return w.booleans[0]
	case 't':
		return w.booleans[1]
	}
	return string(value)
}

// quote quotes a text that is not a plain word of YAML, in the layout of libyaml with the tag that
// libyaml writes.
func (w *writer) quote(s string) string {
	switch {
	case isPlain(s):
		return s
	case w.layout == &plain && isPrintable(s):
		return "! '" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}

// isPlain reports whether a text without quotes would be read back as the same text.
func isPlain(s string) bool {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], "!&*-?:{}[],#|>@`\"'%=~") {
		return false
	}
	if !isPrintable(s) || strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.Contains(s, " #") {
		return false
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return false
	}
	return true
}

// isPrintable reports whether a text needs no escapes.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > 0x7E && !strconv.IsPrint(r) })
}
