package gossip

import (
	"reflect"
	"testing"

	"ulnet/gossip/engine"
)

// TestConfigReachesMachine: each field that the two configurations share is handed on, and
// the machine has none that a program cannot set but the one for simulations.
func TestConfigReachesMachine(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[engine.Config]()) {
		if field.Name == "Columns" {
			continue
		}
		var cfg Config
		from := reflect.ValueOf(&cfg).Elem().FieldByName(field.Name)
		if !from.IsValid() {
			t.Errorf("Config has no %s", field.Name)
			continue
		}
		switch from.Kind() {
		case reflect.Bool:
			from.SetBool(true)
		case reflect.Int, reflect.Int64:
			from.SetInt(7)
		case reflect.Uint64:
			from.SetUint(7)
		default:
			from.Set(reflect.ValueOf(keysOf(t, "key")))
		}
		to := reflect.ValueOf(cfg.Engine()).FieldByName(field.Name)
		if !reflect.DeepEqual(from.Interface(), to.Interface()) {
			t.Errorf("%s: %v becomes %v", field.Name, from, to)
		}
	}
}
