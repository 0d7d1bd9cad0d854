package portalstest

import (
	"reflect"
	"slices"
	"testing"
)

// ConfigReaches checks the function engine, which makes a machine's configuration from an agent's:
// each field of the machine's configuration must get the value of the agent's field of the same
// name, except the fields that unset names. odd has values for the fields that are neither
// numbers, strings nor booleans.
func ConfigReaches[A, M any](t *testing.T, engine func(A) M, odd map[string]any, unset ...string) {
	t.Helper()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[M]()) {
		if slices.Contains(unset, field.Name) {
			continue
		}
		var cfg A
		from := reflect.ValueOf(&cfg).Elem().FieldByName(field.Name)
		if !from.IsValid() {
			t.Errorf("the agent's configuration has no %s", field.Name)
			continue
		}
		switch value, is := odd[field.Name]; {
		case is:
			from.Set(reflect.ValueOf(value))
		case from.Kind() == reflect.Bool:
			from.SetBool(true)
		case from.CanInt():
			from.SetInt(7)
		case from.CanUint():
			from.SetUint(7)
		case from.CanFloat():
			from.SetFloat(7)
		case from.Kind() == reflect.String:
			from.SetString("7")
		default:
			t.Errorf("no value for %s", field.Name)
			continue
		}
		if to := reflect.ValueOf(engine(cfg)).FieldByName(field.Name); !reflect.DeepEqual(from.Interface(), to.Interface()) {
			t.Errorf("%s: %v becomes %v", field.Name, from, to)
		}
	}
}
