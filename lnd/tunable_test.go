package lnd_test

import (
	"testing"
	"time"

	"ulnet/lnd"
)

// TestCheckTunables: tunables that a program sets in a configuration have the same bounds as
// those that users set. Zero means the default, and negative values are allowed only where the
// configuration permits them.
func TestCheckTunables(t *testing.T) {
	const milli = time.Millisecond
	for _, c := range []struct {
		name string
		v    lnd.Value
		want string // error text wanted; empty: no error
	}{
		{"zero below the least", lnd.Number(new(int), 1, 5), ""},
		{"least", lnd.Number(to(2), 2, 5), ""},
		{"below the least", lnd.Number(to(1), 2, 5), "x is 1: want 2 to 5"},
		{"above the most", lnd.Number(to(6), 2, 5), "x is 6: want 2 to 5"},
		{"negative", lnd.Number(to(-1), 0, 5), "x is -1: want 0 to 5"},
		{"negative by its bounds", lnd.Number(to(-3), -1, 5), ""},
		{"negative for none", lnd.NumberOrNone(to(-1), 0, 5), ""},
		{"above the most, or none", lnd.NumberOrNone(to(6), 0, 5), "x is 6: want 0 to 5"},
		{"negative for unset, which is 0", lnd.NumberOrUnset(to(-1), 5), "x is -1: want -1 to 5"},
		{"above the most, or unset", lnd.NumberOrUnset(to(6), 5), "x is 6: want -1 to 5"},
		{"among", lnd.Among(to(8), 4, 8), ""},
		{"not among", lnd.Among(to(6), 4, 8), "x is 6: want one of [4 8]"},
		{"part of a unit", lnd.Span(to(milli), time.Second, 1, 5), ""},
		{"negative time", lnd.Span(to(-milli), time.Second, 0, 5), "x is -1: want 0 to 5"},
		{"too long by a part", lnd.Span(to(5*time.Second+1), time.Second, 1, 5), "x is 6: want 1 to 5"},
		{"negative time for none", lnd.SpanOrNone(to(-milli), time.Second, 5), ""},
		{"too long, or none", lnd.SpanOrNone(to(6*time.Second), time.Second, 5), "x is 6: want 0 to 5"},
		{"a flag", lnd.Flag(to(true)), ""},
	} {
		var got string
		if err := lnd.CheckTunables([]lnd.Tunable{lnd.Tune("x", 0, c.v, "")}); err != nil {
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
	list := []lnd.Tunable{lnd.Tune("x", 3, lnd.Value{Most: 5, Set: func(v int) { n = v }}, "")}
	lnd.SetDefaults(list)
	if err := lnd.CheckTunables(list); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestZeroIsSet: a user who sets 0 gets 0, also where a 0 in the configuration stands for the
// default.
func TestZeroIsSet(t *testing.T) {
	n, d, unset := 7, time.Second, 7
	for _, v := range []lnd.Value{lnd.NumberOrNone(&n, 0, 5), lnd.SpanOrNone(&d, time.Second, 5)} {
		v.Set(0)
	}
	lnd.NumberOrUnset(&unset, 5).Set(-1)
	if n != -1 || d >= 0 || unset != 0 {
		t.Errorf("got %d, %v and %d, want two negative and 0", n, d, unset)
	}
}
