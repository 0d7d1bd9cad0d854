package kit

import "reflect"

// Sum adds the counters of one machine to those of others: every field of the struct that
// is an unsigned integer, or an array or struct of such.
func Sum[S any](sum *S, of S) { add(reflect.ValueOf(sum).Elem(), reflect.ValueOf(of)) }

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
