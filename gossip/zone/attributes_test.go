package zone

import (
	"testing"

	"ulnet/lnet/machine"
)

// TestAttributesAreCopies: a program that writes to the values which Attributes returns does not change the attributes that
// the node sends to others.
func TestAttributesAreCopies(t *testing.T) {
	a := loneMember(t, machine.RealClock())
	if err := a.Set("k", []byte("value")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		list, _ := a.Attributes(a.self)
		if len(list) != 1 || string(list[0].Value) != "value" {
			t.Fatalf("%+v", list)
		}
		copy(list[0].Value, "DDDDD")
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
