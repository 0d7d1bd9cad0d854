package tree

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// firstUnknown returns the first key below a section that the types of the tree do not have;
// nil: all keys are known.
func firstUnknown(section string, n ast.Node) *unknownKey {
	t := reflect.TypeFor[Tree]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == section {
			return unknownIn(n, t.Field(i).Type)
		}
	}
	return nil
}

// unknownIn returns the first key in a value that the type does not have. Types with an
// UnmarshalJSON of their own accept all keys.
func unknownIn(n ast.Node, t reflect.Type) *unknownKey {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[Interfaces]() || t == reflect.TypeFor[LNDTunables]() || t == reflect.TypeFor[Routing]() {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		items, _ := itemsOf(n)
		for _, item := range items {
			if k := unknownIn(item, t.Elem()); k != nil {
				return k
			}
		}
	case reflect.Struct:
		known := fieldsOf(t)
		entries, _ := entriesOf(n)
		for _, e := range entries {
			field, ok := known[keyOf(e)]
			if !ok {
				return &unknownKey{keyOf(e), lineOf(e.Key)}
			}
			if k := unknownIn(e.Value, field); k != nil {
				return k
			}
		}
	}
	return nil
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
			for key, typ := range fieldsOf(inner) {
				fields[key] = typ
			}
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
