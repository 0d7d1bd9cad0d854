package kit

import "reflect"

// Sum adds up the counters of all incarnations that exist. Counters are the exported fields of the
// struct that are unsigned integers, or arrays or structs of unsigned integers.
func Sum[L comparable, S any](incarnations []L, counters func(L) S) (sum S) {
	var none L
	var one S
	pairs := pair(nil, reflect.ValueOf(&sum).Elem(), reflect.ValueOf(&one).Elem())
	for _, k := range incarnations {
		if k == none {
			continue
		}
		one = counters(k)
		for i := range pairs {
			p := &pairs[i]
			p.sum.SetUint(p.sum.Uint() + p.one.Uint())
		}
	}
	return sum
}

// counter has two values of one counter: the sum so far, and the value of the incarnation that is
// to be added.
type counter struct{ sum, one reflect.Value }

// pair appends the counters of two values of one type, field by field.
func pair(list []counter, sum, one reflect.Value) []counter {
	switch {
	case !sum.CanSet(): // the field is not exported
	case sum.CanUint():
		list = append(list, counter{sum, one})
	case sum.Kind() == reflect.Array:
		for i := range sum.Len() {
			list = pair(list, sum.Index(i), one.Index(i))
		}
	case sum.Kind() == reflect.Struct:
		for i := range sum.NumField() {
			list = pair(list, sum.Field(i), one.Field(i))
		}
	}
	return list
}
