package control

import (
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

// queryField is a field of a request that is sent in the query of the URL. If the path has the
// field's name in braces, the field is sent there instead:
//
//	State string `query:"state"`       // omitted when it is zero
//	From  uint64 `query:"from,always"` // required, unless it has a default
//
// Fields are strings, lists of strings, numbers, booleans, durations, and types that
// implement encoding.TextMarshaler.
type queryField struct {
	name   string
	always bool
	value  reflect.Value
}

// queryFields lists the fields of a request, to which v points.
func queryFields(v any) (list []queryField) {
	s := reflect.ValueOf(v).Elem()
	for _, f := range reflect.VisibleFields(s.Type()) {
		if tag, ok := f.Tag.Lookup("query"); ok {
			name, option, _ := strings.Cut(tag, ",")
			list = append(list, queryField{name, option == "always", s.FieldByIndex(f.Index)})
		}
	}
	return list
}

// encodeQuery returns the path of a request with its query.
func encodeQuery[Req any](path string, req Req) string {
	q := url.Values{}
	for _, f := range queryFields(&req) {
		texts := f.texts()
		if inPath := "{" + f.name + "}"; strings.Contains(path, inPath) {
			path = strings.Replace(path, inPath, url.PathEscape(texts[0]), 1)
		} else if !f.value.IsZero() || f.always {
			q[f.name] = texts
		}
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

func (f *queryField) texts() []string {
	switch v := f.value.Interface().(type) {
	case []string:
		return v
	case encoding.TextMarshaler:
		text, _ := v.MarshalText() // cannot fail for a value that was parsed; after an error the text would be empty, which the daemon refuses
		return []string{string(text)}
	default:
		return []string{fmt.Sprint(v)}
	}
}

// queryOf reads the query of a request into req. If req has a method Defaults, queryOf calls it
// first. If req has a method Check, queryOf calls it at the end, and Check may refuse the request.
func queryOf(r *http.Request, req any) error {
	if d, ok := req.(interface{ Defaults() }); ok {
		d.Defaults()
	}
	q := r.URL.Query()
	var known []string
	for _, f := range queryFields(req) {
		known = append(known, f.name)
		texts := q[f.name]
		if text := r.PathValue(f.name); text != "" {
			texts = []string{text}
		}
		if err := f.set(texts); err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %s: %w", f.name, err)}
		}
	}
	for name := range q { // any order: one error is enough to report
		if !slices.Contains(known, name) {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: unknown parameter %q", name)}
		}
	}
	if c, ok := req.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return &refusal{http.StatusBadRequest, fmt.Errorf("request: %w", err)}
		}
	}
	return nil
}

// set parses the texts of a field. An empty text is the zero value.
func (f *queryField) set(texts []string) (err error) {
	if list, ok := f.value.Addr().Interface().(*[]string); ok {
		*list = texts
		return nil
	}
	if len(texts) == 0 || texts[0] == "" {
		if f.always && f.value.IsZero() {
			return errors.New("it is missing")
		}
		return nil
	}
	text := texts[0]
	switch v := f.value.Addr().Interface().(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *uint64:
		*v, err = strconv.ParseUint(text, 10, 64)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *time.Duration:
		*v, err = time.ParseDuration(text)
	case *nid.NID:
		*v, err = nid.Parse(text)
		return cli.Hint(err, "a NID looks like 10.0.0.1@tcp")
	case encoding.TextUnmarshaler:
		return v.UnmarshalText([]byte(text))
	default:
		panic("control: no query has a " + f.value.Type().String())
	}
	if err != nil {
		err = fmt.Errorf("%q is no %v", text, f.value.Type())
	}
	return err
}
