package statefiles

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Lines makes a file of lines. The function write calls its argument line once for each line,
// with the values, which are separated by blanks.
func Lines(name string, write func(line func(values ...any))) File {
	var b bytes.Buffer
	write(func(values ...any) { fmt.Fprintln(&b, values...) })
	return File{Name: name, Body: b.Bytes()}
}

// CountersFile makes a file with a line for each counter, sorted by name.
func CountersFile(name string, counters map[string]uint64) File {
	return Lines(name, func(line func(...any)) {
		for _, key := range slices.Sorted(maps.Keys(counters)) {
			line(key, counters[key])
		}
	})
}

// Counters returns the counters in the fields of a struct, by names such as "no_group".
func Counters(of any) map[string]uint64 {
	m := map[string]uint64{}
	for field, value := range reflect.ValueOf(of).Fields() {
		m[Underscored(field.Name)] = value.Uint()
	}
	return m
}

// Underscored returns the name of a field such as NoGroup as "no_group".
func Underscored(field string) string {
	var name strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}
