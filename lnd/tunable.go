package lnd

import (
	"fmt"
	"slices"
	"time"
)

// A Tunable is a number in the configuration of a driver that users set. Each driver lists
// its own, once. The reading of files and the explanations for users are derived from that list.
type Tunable struct {
	Name    string // name as in Lustre, where Lustre has the tunable
	Default int    // default value in the unit that users write
	Value
	// Text says what the number means, in lines. It is empty if the Text of the tunable before
	// it in the list describes both.
	Text string
}

// Tune makes a tunable whose number is stored and bounded as v says.
func Tune(name string, byDefault int, v Value, text string) Tunable {
	return Tunable{Name: name, Default: byDefault, Value: v, Text: text}
}

// Value says where the number of a [Tunable] is stored, and which numbers are valid.
type Value struct {
	Least, Most int         // smallest and largest allowed value
	Among       []int       // allowed values; nil: all from Least to Most
	Flag        bool        // the value is 0 or 1
	Set         func(int)   // stores the number, which is in the unit of users
	unset       func() bool // reports whether the configuration has the zero value
	number      func() int  // returns the configured value, as users give it; nil: a flag
	inForce     func() any  // returns the value in force: an int as users give it, or a bool
	negative    bool        // whether the configuration may have a negative value
}

// SetDefaults sets the tunables that are not set to their defaults. A [Value] that was not
// made by one of the functions below counts as set.
func SetDefaults(list []Tunable) {
	for _, t := range list {
		if t.unset != nil && t.unset() {
			t.Set(t.Default)
		}
	}
}

// CheckTunables reports the first tunable whose value in the configuration is not valid. Zero
// values are valid: they stand for defaults.
func CheckTunables(list []Tunable) error {
	for _, t := range list {
		if t.number == nil || t.unset() {
			continue
		}
		switch n := t.number(); {
		case n < 0 && t.negative:
		case t.Among != nil && !slices.Contains(t.Among, n):
			return fmt.Errorf("%s is %d: want one of %d", t.Name, n, t.Among)
		case n < max(t.Least, 0) || n > t.Most:
			return fmt.Errorf("%s is %d: want %d to %d", t.Name, n, t.Least, t.Most)
		}
	}
	return nil
}

// InForce returns the values of a configuration by the names of its tunables: an int as users write
// it, or a bool for a flag.
func InForce(list []Tunable) map[string]any {
	all := make(map[string]any, len(list))
	for _, t := range list {
		if t.inForce != nil {
			all[t.Name] = t.inForce()
		}
	}
	return all
}

// valueOf returns a Value for the field to which its first argument points. The function set writes
// that field.
func valueOf[T comparable](to *T, least, most int, set func(int)) Value {
	return Value{Least: least, Most: most, Set: set, unset: func() bool { return *to == *new(T) }}
}

// Number is a number that users write as it is in the configuration. If another number is the default, 0 must not
// be valid, because a 0 in the configuration stands for the default; see NumberOrNone.
func Number[T ~int | ~uint16 | ~uint32](to *T, least, most int) Value {
	v := valueOf(to, least, most, func(n int) { *to = T(n) })
	v.number, v.negative = func() int { return int(*to) }, least < 0
	v.inForce = func() any { return int(*to) }
	return v
}

// NumberOrNone is a number for which users write 0 to say "none". The field of the
// configuration then has -1, because its 0 stands for the default.
func NumberOrNone(to *int, least, most int) Value {
	v := Number(to, least, most)
	v.negative = true
	v.inForce = func() any { return max(*to, 0) }
	v.Set = func(n int) {
		if *to = n; n == 0 {
			*to = -1
		}
	}
	return v
}

// NumberOrUnset is a number for which users write -1 to say that it is not set. The field of
// the configuration then has 0.
func NumberOrUnset(to *int, most int) Value {
	v := Number(to, -1, most)
	v.negative = false
	v.inForce = func() any {
		if *to == 0 {
			return -1
		}
		return *to
	}
	v.Set = func(n int) { *to = max(n, 0) }
	return v
}

// Among is one of the numbers of a list, which is in ascending order.
func Among(to *int, all ...int) Value {
	v := Number(to, all[0], all[len(all)-1])
	v.Among = all
	return v
}

// Span is a time that users write as a number of units. For 0 the same holds as for a Number; see SpanOrNone.
func Span(to *time.Duration, unit time.Duration, least, most int) Value {
	v := valueOf(to, least, most, func(n int) { *to = time.Duration(n) * unit })
	v.number = func() int { // the number is rounded away from 0
		n := int(*to / unit)
		switch rest := *to % unit; {
		case rest > 0:
			n++
		case rest < 0:
			n--
		}
		return n
	}
	v.inForce = func() any { return int(max(*to, 0) / unit) }
	return v
}

// SpanOrNone is a Span for which users write 0 to say "none", as with NumberOrNone.
func SpanOrNone(to *time.Duration, unit time.Duration, most int) Value {
	v := Span(to, unit, 0, most)
	v.negative = true
	v.Set = func(n int) {
		if *to = time.Duration(n) * unit; n == 0 {
			*to = -1
		}
	}
	return v
}

// Flag is a flag for which users write 1 to say yes. Its default is 0; see Not.
func Flag(to *bool) Value {
	v := valueOf(to, 0, 1, func(n int) { *to = n != 0 })
	v.Flag, v.inForce = true, func() any { return *to }
	return v
}

// Not is a flag for which users write 1 to say no. Its default is 1.
func Not(to *bool) Value {
	v := valueOf(to, 0, 1, func(n int) { *to = n == 0 })
	v.Flag, v.inForce = true, func() any { return !*to }
	return v
}
