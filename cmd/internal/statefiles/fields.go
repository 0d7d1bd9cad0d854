package statefiles

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ulnet/cmd/internal/cli"
)

// Fields makes a file of fields of what a module says of itself, so that a file has what the
// JSON has. Each name is that of a field in the JSON of one of the structs, with dots on the
// way into others, and a line of the file:
//
//	clients            a number, a text or what has a String; a truth as yes or no
//	n=participants     under another name
//	self?              only if it is not zero
//	"name"             between quotes, with escapes
//
// A nil pointer on the way has no line. Fields panics for a name that nothing has.
func Fields(name, fields string, of ...any) File {
	return Lines(name, func(line func(...any)) {
		for field := range strings.FieldsSeq(fields) {
			path, as, renamed := strings.Cut(field, "=")
			path, optional := strings.CutSuffix(path, "?")
			path, quoted := strings.CutPrefix(path, `"`)
			path = strings.TrimSuffix(path, `"`)
			if !renamed {
				as = path
			}
			v := find(of, strings.Split(path, "."))
			switch {
			case !v.IsValid() || optional && v.IsZero():
			case quoted:
				line(as, strconv.Quote(v.String()))
			case v.Kind() == reflect.Bool:
				line(as, cli.YesNo(v.Bool()))
			default:
				line(as, v.Interface())
			}
		}
	})
}

// find returns the value at a path in one of some structs, the zero Value behind a nil.
func find(of []any, path []string) reflect.Value {
	for _, s := range of {
		v, ok := reflect.Indirect(reflect.ValueOf(s)), true
		for _, name := range path {
			if v, ok = fieldOf(v, name); !ok || !v.IsValid() {
				break
			}
		}
		if ok {
			return v
		}
	}
	panic(fmt.Sprintf("statefiles: nothing has a field %v", path))
}

// fieldOf returns a field by its name in JSON, what it points to if it is a pointer.
func fieldOf(v reflect.Value, name string) (reflect.Value, bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name || tag == "" && f.Name == name {
			return reflect.Indirect(v.FieldByIndex(f.Index)), true
		}
	}
	return v, false
}
