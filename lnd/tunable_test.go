package lnd

import (
	"testing"
	"time"
)

// TestCheckTunables: tunables that a program puts into a configuration have the same bounds
// as those that users set; zero stands for the default, and negative values are allowed only
// where the configuration permits them.
func TestCheckTunables(t *testing.T) {
	const milli = time.Millisecond
	for _, c := range []struct {
		name string
		v    Value
		want string // error text wanted; empty: no error
	}{
		{"zero below the least", Number(new(int), 1, 5), ""},
		{"least", Number(to(2), 2, 5), ""},
		{"below the least", Number(to(1), 2, 5), "x is 1: want 2 to 5"},
		{"above the most", Number(to(6), 2, 5), "x is 6: want 2 to 5"},
		{"negative", Number(to(-1), 0, 5), "x is -1: want 0 to 5"},
		{"negative by its bounds", Number(to(-3), -1, 5), ""},
		{"negative for none", NumberOrNone(to(-1), 0, 5), ""},
		{"above the most, or none", NumberOrNone(to(6), 0, 5), "x is 6: want 0 to 5"},
		{"negative for unset, which is 0", NumberOrUnset(to(-1), 5), "x is -1: want -1 to 5"},
		{"above the most, or unset", NumberOrUnset(to(6), 5), "x is 6: want -1 to 5"},
		{"among", Among(to(8), 4, 8), ""},
		{"not among", Among(to(6), 4, 8), "x is 6: want one of [4 8]"},
		{"part of a unit", Span(to(milli), time.Second, 1, 5), ""},
		{"negative time", Span(to(-milli), time.Second, 0, 5), "x is -1: want 0 to 5"},
		{"too long by a part", Span(to(5*time.Second+1), time.Second, 1, 5), "x is 6: want 1 to 5"},
		{"negative time for none", SpanOrNone(to(-milli), time.Second, 5), ""},
		{"too long, or none", SpanOrNone(to(6*time.Second), time.Second, 5), "x is 6: want 0 to 5"},
		{"a flag", Flag(to(true)), ""},
	} {
		var got string
		if err := CheckTunables([]Tunable{Tune("x", 0, c.v, "")}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func to[T any](v T) *T { return &v }

// TestForeignValue: a driver outside this package may make a Value that has Set alone. Such a
// driver applies its own default.
func TestForeignValue(t *testing.T) {
	n := 0
	list := []Tunable{Tune("x", 3, Value{Most: 5, Set: func(v int) { n = v }}, "")}
	SetDefaults(list)
	if err := CheckTunables(list); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestZeroIsSet: a user who sets 0 gets 0, also where a 0 in the configuration stands for the
// default.
func TestZeroIsSet(t *testing.T) {
	n, d, unset := 7, time.Second, 7
	for _, v := range []Value{NumberOrNone(&n, 0, 5), SpanOrNone(&d, time.Second, 5)} {
		v.Set(0)
	}
	NumberOrUnset(&unset, 5).Set(-1)
	if n != -1 || d >= 0 || unset != 0 {
		t.Errorf("got %d, %v and %d, want two negative and 0", n, d, unset)
	}
}
