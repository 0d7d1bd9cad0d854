package statefiles

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ulnet/cmd/internal/cli"
)

// Fields is a file of fields of what a module says of itself in a T, so that the file has what
// the JSON has. [FieldsOf] declares one.
type Fields[T any] struct {
	name  string
	lines []fieldLine
}

// fieldLine is a line with a field: the steps of its path are indices in structs.
type fieldLine struct {
	as               string
	steps            [][]int
	optional, quoted bool
}

// FieldsOf declares a file. Each name is that of a field in the JSON of the struct T, with dots
// on the way into others, and a line of the file:
//
//	clients            a number, a text or what has a String; a truth as yes or no
//	n=participants     under another name
//	self?              only if it is not zero
//	"name"             between quotes, with escapes
//
// A nil pointer on the way has no line. FieldsOf panics for a name that nothing has: files are
// declared in variables of packages.
func FieldsOf[T any](name, fields string) *Fields[T] {
	f := &Fields[T]{name: name}
	for field := range strings.FieldsSeq(fields) {
		var l fieldLine
		path, as, renamed := strings.Cut(field, "=")
		path, l.optional = strings.CutSuffix(path, "?")
		path, l.quoted = strings.CutPrefix(path, `"`)
		path = strings.TrimSuffix(path, `"`)
		if l.as = as; !renamed {
			l.as = path
		}
		l.steps = stepsOf(reflect.TypeFor[T](), path)
		f.lines = append(f.lines, l)
	}
	return f
}

// File returns the file as it is now.
func (f *Fields[T]) File(of *T) File {
	return Lines(f.name, func(line func(...any)) {
		for _, l := range f.lines {
			v := l.value(reflect.ValueOf(of).Elem())
			switch {
			case !v.IsValid() || l.optional && v.IsZero():
			case l.quoted:
				line(l.as, strconv.Quote(v.String()))
			case v.Kind() == reflect.Bool:
				line(l.as, cli.YesNo(v.Bool()))
			default:
				line(l.as, v.Interface())
			}
		}
	})
}

// value returns the value of the field in a struct, the zero Value behind a nil.
func (l *fieldLine) value(v reflect.Value) reflect.Value {
	for _, step := range l.steps {
		field, err := v.FieldByIndexErr(step) // an embedded pointer is nil
		if v = reflect.Indirect(field); err != nil || !v.IsValid() {
			return reflect.Value{}
		}
	}
	return v
}

// stepsOf finds the fields of a path in a type.
func stepsOf(t reflect.Type, path string) (steps [][]int) {
	for name := range strings.SplitSeq(path, ".") {
		f, ok := fieldOf(t, name)
		if !ok {
			panic(fmt.Sprintf("statefiles: %v has no field %s of %s", t, name, path))
		}
		if steps, t = append(steps, f.Index), f.Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return steps
}

// fieldOf returns a field by its name in JSON.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && (tag == name || tag == "" && f.Name == name) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
