package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML writes v to w as block YAML in the layout of Lustre's tools (liblnetconfig
// cYAML_print_tree). Mappings and the outermost list are indented by four columns, inner lists
// by two. The json tags of v give the keys and their order. Booleans are written as True and
// False.
func YAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	ordered, err := decodeOrdered(d)
	if err != nil {
		return fmt.Errorf("print YAML: %w", err)
	}
	var p yamlPrinter
	p.value(ordered, -4, "")
	_, err = io.WriteString(w, strings.TrimPrefix(p.String(), "\n"))
	return err
}

// decodeOrdered returns the next value of d, objects with their keys in order.
func decodeOrdered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	switch token {
	case json.Delim('{'):
		object := yaml.MapSlice{}
		for err == nil && d.More() {
			var item yaml.MapItem
			if item.Key, err = d.Token(); err == nil {
				item.Value, err = decodeOrdered(d)
			}
			object = append(object, item)
		}
		return object, endOf(d, err)
	case json.Delim('['):
		list := []any{}
		for err == nil && d.More() {
			var v any
			v, err = decodeOrdered(d)
			list = append(list, v)
		}
		return list, endOf(d, err)
	}
	return token, err
}

// endOf reads the closing bracket of a list or object.
func endOf(d *json.Decoder, err error) error {
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// yamlPrinter prints what encoding/json knows: mappings, lists and scalars.
type yamlPrinter struct{ strings.Builder }

// value prints v after a key or dash at column indent: a scalar on the same line, a mapping
// or list on lines of its own. A mapping after a dash begins on the line of the dash.
func (p *yamlPrinter) value(v any, indent int, behind string) {
	switch v := v.(type) {
	case yaml.MapSlice:
		p.mapping(v, indent, behind)
	case []any:
		p.list(v, indent)
	case nil:
		p.WriteString("\n")
	default:
		p.WriteString(" " + scalar(v) + "\n")
	}
}

func (p *yamlPrinter) mapping(m yaml.MapSlice, indent int, behind string) {
	if len(m) == 0 {
		p.WriteString(" {}\n")
		return
	}
	column := indent + 4
	if behind == "-" {
		column = indent + 2
		p.WriteString(" ")
	} else {
		p.WriteString("\n" + strings.Repeat(" ", column))
	}
	for i, item := range m {
		if i > 0 {
			p.WriteString(strings.Repeat(" ", column))
		}
		p.WriteString(fmt.Sprint(item.Key) + ":")
		p.value(item.Value, column, ":")
	}
}

func (p *yamlPrinter) list(list []any, indent int) {
	if len(list) == 0 {
		p.WriteString(" []\n")
		return
	}
	column := indent + 2
	if indent == 0 {
		column = 4
	}
	p.WriteString("\n")
	for _, v := range list {
		p.WriteString(strings.Repeat(" ", column) + "-")
		p.value(v, column, "-")
	}
}

// scalar returns the text of a string, a number, a boolean or nil.
func scalar(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		return v.String()
	case string:
		if strings.ContainsAny(v, "\n\r") {
			return strconv.Quote(v)
		}
	}
	text, err := yaml.Marshal(v)
	if err != nil { // if quoting fails, the JSON text is used: a scalar of JSON is also one of YAML
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(string(text), "\n")
}
