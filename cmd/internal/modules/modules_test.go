package modules

import (
	"reflect"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
)

// TestOrder: a module comes after those that it uses: it is opened after them, and closed
// before them.
func TestOrder(t *testing.T) {
	before, uses := map[uintptr]bool{}, 0
	all := List(node.Host{Config: new(config.Config)})
	for _, m := range all {
		for _, other := range all {
			if !holds(m, other) {
				continue
			}
			uses++
			if !before[reflect.ValueOf(other).Pointer()] {
				t.Errorf("%T uses %T, which comes after it", m, other)
			}
		}
		before[reflect.ValueOf(m).Pointer()] = true
	}
	if uses < 4 {
		t.Errorf("modules use each other %d times", uses)
	}
}

// holds reports whether a field of module m contains the module other.
func holds(m, other node.Module) bool {
	for _, field := range reflect.ValueOf(m).Elem().Fields() {
		if field.Kind() == reflect.Interface {
			field = field.Elem()
		}
		if field.Kind() == reflect.Pointer && field.Pointer() == reflect.ValueOf(other).Pointer() {
			return true
		}
	}
	return false
}
