package drivers

import (
	"reflect"
	"testing"

	"ulnet/lnd/verbs/softroce"
)

// TestProviders: every provider that a configuration may name can be opened.
func TestProviders(t *testing.T) {
	for _, name := range Providers {
		if openers[name] == nil {
			t.Errorf("nobody opens %s", name)
		}
	}
	if len(openers) != len(Providers) {
		t.Errorf("%d providers, of which a configuration may name %v", len(openers), Providers)
	}
}

// TestCounterWords: every counter of softroce is shown under its own name.
func TestCounterWords(t *testing.T) {
	var s softroce.Stats
	words := counterWords(s)
	n := uint64(0)
	// counterWords has no word for these fields: other fields of the status show them, or they count
	// successes.
	skip := map[string]bool{"Datagrams": true, "Groups": true}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case skip[v.Type().Field(i).Name]:
			case f.Kind() == reflect.Struct:
				walk(f)
			case f.CanUint():
				n++
				f.SetUint(n)
			}
		}
	}
	walk(reflect.ValueOf(&s).Elem())
	seen := map[uint64]bool{}
	for _, v := range counterWords(s) {
		seen[v] = true
	}
	for i := uint64(1); i <= n; i++ {
		if !seen[i] {
			t.Errorf("counter %d of %d has no word among %v", i, n, words)
		}
	}
}
