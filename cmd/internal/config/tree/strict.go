package tree

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// noteUnknown notes the keys below a section that the types of the tree do not have.
func (f *File) noteUnknown(section string, n ast.Node) {
	if t, ok := fieldsOf(reflect.TypeFor[Tree]())[section]; ok {
		f.unknown.in(n, t)
	}
}

// freeKeys are types whose keys are not checked here: those with an UnmarshalJSON of their own, and the tunables of
// an NI, whose keys depend on its driver; see olderTunables.
var freeKeys = []reflect.Type{reflect.TypeFor[Interfaces](), reflect.TypeFor[LNDTunables](), reflect.TypeFor[Routing](), reflect.TypeFor[Tunables]()}

// in notes the keys in a value that a type does not have.
func (u *unknownKeys) in(n ast.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.Contains(freeKeys, t) {
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		items, _ := itemsOf(n)
		for _, item := range items {
			u.in(item, t.Elem())
		}
	case reflect.Struct:
		known := fieldsOf(t)
		entries, _ := entriesOf(n)
		for _, e := range entries {
			if field, ok := known[newName(keyOf(e))]; ok {
				u.in(e.Value, field)
			} else {
				u.note(e)
			}
		}
	}
}

// fieldsOf returns the types of the fields of a struct by their keys, those of embedded structs
// included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			maps.Copy(fields, fieldsOf(inner))
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
