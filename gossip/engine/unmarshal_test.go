package engine

import (
	"encoding"
	"testing"
)

// TestWords: values that are marshalled as words can be unmarshalled again.
func TestWords(t *testing.T) {
	check := func(from encoding.TextMarshaler, to encoding.TextUnmarshaler, same func() bool) {
		t.Helper()
		text, err := from.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := to.UnmarshalText(text); err != nil || !same() {
			t.Errorf("%s comes back as %v, %v", text, to, err)
		}
		if to.UnmarshalText([]byte("nonsense")) == nil {
			t.Errorf("%T takes nonsense", to)
		}
	}
	for i := range healths {
		from, to := Health(i), Health(99)
		check(from, &to, func() bool { return from == to })
	}
	for i := range eventNames {
		from, to := EventKind(i), EventKind(99)
		check(from, &to, func() bool { return from == to })
	}
	for i := range rollStates {
		from, to := RollState(i), RollState(99)
		check(from, &to, func() bool { return from == to })
	}
}
