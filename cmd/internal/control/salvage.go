package control

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// WarnTo makes the client write a line to w for each entry of an answer that it could not
// decode and left out. It returns the client.
func (c *Client) WarnTo(w io.Writer) *Client {
	c.warn = w
	return c
}

// decodeAnswer decodes an answer. If the answer as a whole cannot be decoded, for instance
// because the daemon has another version, decodeAnswer leaves out those entries of lists that
// cannot be decoded, with a warning, so that one entry does not hide the others.
func (c *Client) decodeAnswer(raw []byte, answer any) error {
	whole := json.Unmarshal(raw, answer)
	if whole == nil || !json.Valid(raw) {
		return whole
	}
	var s salvage
	if s.decode(raw, reflect.ValueOf(answer).Elem(), "") != nil || len(s.skipped) == 0 {
		return whole
	}
	for _, err := range s.skipped {
		_, _ = fmt.Fprintf(c.warn, "warning: left out %v; do the command and lnetd come from the same version?\n", err)
	}
	return nil
}

// salvage decodes the valid parts of an answer that encoding/json cannot decode as a whole.
type salvage struct {
	skipped []error // one error for each entry that was left out
}

// decode decodes raw into v. The path is the position of raw in the answer, for errors. After an
// error v must not be used.
func (s *salvage) decode(raw []byte, v reflect.Value, path string) error {
	v.SetZero()
	err := json.Unmarshal(raw, v.Addr().Interface())
	if err == nil || decodesItself(v) {
		return err
	}
	v.SetZero()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return s.decode(raw, v.Elem(), path)
	case reflect.Slice:
		return s.list(raw, v, path)
	case reflect.Struct:
		return s.object(raw, v, path)
	}
	return err
}

// decodesItself reports whether the type of v has its own method for text or JSON.
func decodesItself(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// list decodes those entries of a list that can be decoded.
func (s *salvage) list(raw []byte, v reflect.Value, path string) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for i, part := range parts {
		e := reflect.New(v.Type().Elem()).Elem()
		at := fmt.Sprintf("%s[%d]", path, i)
		if err := s.decode(part, e, at); err != nil {
			s.skipped = append(s.skipped, fmt.Errorf("%s: %w", strings.TrimPrefix(at, "."), err))
			continue
		}
		v.Set(reflect.Append(v, e))
	}
	return nil
}

// object decodes the fields of an object. If one fails the whole object fails.
func (s *salvage) object(raw []byte, v reflect.Value, path string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f, ok := fieldOf(v, name)
		if !ok {
			continue // ignore unknown fields, as encoding/json does
		}
		if err := s.decode(fields[name], f, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf returns the field of a struct that has this name in JSON.
func fieldOf(v reflect.Value, name string) (reflect.Value, bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous && tag == "" || tag != name && (tag != "" || f.Name != name) {
			continue
		}
		field, err := v.FieldByIndexErr(f.Index)
		return field, err == nil
	}
	return reflect.Value{}, false
}
