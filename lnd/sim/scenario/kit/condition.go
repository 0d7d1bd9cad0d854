package kit

import (
	"fmt"
	"iter"

	"ulnet/lnd/sim/scenario"
)

// Condition is a condition that scenario files can use, with the function that evaluates it for
// a network of type N.
type Condition[N any] struct {
	scenario.Condition
	Holds func(n N, args scenario.Args) (ok bool, why string) // evaluates the condition; why says what is missing
}

// Ask returns a condition with its name, documentation and arguments; the function holds evaluates
// it.
func Ask[N any](name, doc string, holds func(n N, args scenario.Args) (ok bool, why string), args ...scenario.Arg) Condition[N] {
	return Condition[N]{scenario.Condition{Name: name, Args: args, Doc: doc}, holds}
}

// Conditions is a list of a protocol's conditions.
type Conditions[N any] []Condition[N]

// Declared returns the conditions without their functions, for Protocol.Conditions.
func (c Conditions[N]) Declared() []scenario.Condition {
	list := make([]scenario.Condition, len(c))
	for i := range c {
		list[i] = c[i].Condition
	}
	return list
}

// Check evaluates the condition with a name for a network, as Instance.Check does.
func (c Conditions[N]) Check(n N, name string, args scenario.Args) (ok bool, why string) {
	for i := range c {
		if c[i].Name == name {
			return c[i].Holds(n, args)
		}
	}
	return false, "unknown condition"
}

// Outcome is the answer to a condition that holds if err is nil. If it does not hold, the text of
// err says why.
func Outcome(err error) (ok bool, why string) {
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// All is the answer to a condition about several things. The condition holds if wrong returns an
// empty text for each of them.
func All[T any](things iter.Seq[T], wrong func(T) string) (ok bool, why string) {
	for t := range things {
		if why = wrong(t); why != "" {
			return false, why
		}
	}
	return true, ""
}

// Note puts the violation of a rule into first, unless an earlier one is there.
func Note(first *error, format string, args ...any) {
	if *first == nil {
		*first = fmt.Errorf(format, args...)
	}
}
