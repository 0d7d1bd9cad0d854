package statefiles

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"ulnet/cmd/internal/cli"
)

// Fields describes a file that shows fields of T, the status of a module. The values are those
// in the JSON form of the status. [FieldsOf] makes a Fields.
type Fields[T any] struct {
	name  string
	lines func() []fieldLine
}

// fieldLine is a line of the file, which shows a field. Each element of steps leads from a struct to one of
// its fields, as for reflect.Value.FieldByIndex: the first from the status, the next one from the field that
// the first has led to, and so on.
type fieldLine struct {
	as               string
	steps            [][]int
	optional, quoted bool
}

// FieldsOf declares a file. Each name stands for a line of the file, and is the name of a field
// in the JSON form of T, with dots between the names of nested fields:
//
//	clients            a number, a text or a type with String; a boolean is yes or no
//	n=participants     under another name
//	self?              only if it is not zero
//	"name"             between quotes, with escapes
//
// A field behind a nil pointer has no line. FieldsOf does not look the names up, because files are declared
// in package variables, which most programs that have them never use. The first call of the method File or
// Lines does, and panics for an unknown name.
func FieldsOf[T any](name, fields string) *Fields[T] {
	return &Fields[T]{name: name, lines: sync.OnceValue(func() []fieldLine { return linesOf(reflect.TypeFor[T](), fields) })}
}

// Lines returns the names of the lines, in their order. It panics for an unknown field, as File does.
func (f *Fields[T]) Lines() (names []string) {
	for _, l := range f.lines() {
		names = append(names, l.as)
	}
	return names
}

// linesOf returns the lines for fields of a type.
func linesOf(t reflect.Type, fields string) (lines []fieldLine) {
	for field := range strings.FieldsSeq(fields) {
		var l fieldLine
		path, as, renamed := strings.Cut(field, "=")
		path, l.optional = strings.CutSuffix(path, "?")
		path, l.quoted = strings.CutPrefix(path, `"`)
		path = strings.TrimSuffix(path, `"`)
		if l.as = as; !renamed {
			l.as = path
		}
		l.steps = stepsOf(t, path)
		lines = append(lines, l)
	}
	return lines
}

// File returns the file with the values that its fields have now in the status of.
func (f *Fields[T]) File(of *T) File {
	return Lines(f.name, func(line func(...any)) {
		for _, l := range f.lines() {
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

// value returns the value of the field in a struct, or the zero Value if the field is behind a
// nil pointer.
func (l *fieldLine) value(v reflect.Value) reflect.Value {
	for _, step := range l.steps {
		field, err := v.FieldByIndexErr(step) // an error means that an embedded pointer is nil
		if v = reflect.Indirect(field); err != nil || !v.IsValid() {
			return reflect.Value{}
		}
	}
	return v
}

// stepsOf returns the steps from a value of a type to the field with a path, which is the names of nested
// fields with dots between them.
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
