package kit

import "ulnet/lnd/sim/scenario"

// Condition is one that files can ask, with the answer of a network of type N.
type Condition[N any] struct {
	Name  string
	Args  []scenario.Arg
	Holds func(n N, args scenario.Args) (ok bool, why string)
	Doc   string
}

// Conditions are the conditions of a protocol.
type Conditions[N any] []Condition[N]

// Declared is what Protocol.Conditions has.
func (c Conditions[N]) Declared() []scenario.Condition {
	list := make([]scenario.Condition, len(c))
	for i := range c {
		list[i] = scenario.Condition{Name: c[i].Name, Args: c[i].Args, Doc: c[i].Doc}
	}
	return list
}

// Check asks a network one of them: it is what Instance.Check does.
func (c Conditions[N]) Check(n N, name string, args scenario.Args) (ok bool, why string) {
	for i := range c {
		if c[i].Name == name {
			return c[i].Holds(n, args)
		}
	}
	return false, "unknown condition"
}

// Verdict is the answer to a condition that does not hold if there is an error.
func Verdict(err error) (ok bool, why string) {
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}
