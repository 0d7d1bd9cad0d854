package kit

import "reflect"

// Sum adds up the counters of all lives that there are: every field of the struct that is
// an unsigned integer, or an array or struct of such.
func Sum[L comparable, S any](lives []L, counters func(L) S) (sum S) {
	var none L
	for _, k := range lives {
		if k != none {
			add(reflect.ValueOf(&sum).Elem(), reflect.ValueOf(counters(k)))
		}
	}
	return sum
}

func add(sum, of reflect.Value) {
	switch sum.Kind() {
	case reflect.Uint64, reflect.Uint32:
		sum.SetUint(sum.Uint() + of.Uint())
	case reflect.Array:
		for i := range sum.Len() {
			add(sum.Index(i), of.Index(i))
		}
	case reflect.Struct:
		for i := range sum.NumField() {
			add(sum.Field(i), of.Field(i))
		}
	}
}
