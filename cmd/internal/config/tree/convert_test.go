package tree

import (
	"testing"

	"ulnet/lnet/nid"
)

// TestNIByNumber: an NI on a network whose NIDs have numbers in the place of addresses is named by its number, as one of
// TCP by its address.
func TestNIByNumber(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{"9@gni": "9", "10.0.0.1@tcp": "10.0.0.1", "fd00::1@tcp": "fd00::1"} {
		id := nid.MustParse(text)
		ni := NI{NID: id, Interfaces: Interfaces{"eth0"}}
		if on, err := ni.On(id.Net().String()); err != nil || on.Name != name {
			t.Errorf("%s starts on %q, want %q; %v", text, on.Name, name, err)
		}
		now := Tree{Net: []Net{{Type: id.Net().String(), NIs: []NI{ni}}}}
		if now.RunsOn(id.Net().String(), NI{Interfaces: Interfaces{name}}) == nil {
			t.Errorf("%s is not found by %q in the place of an interface", text, name)
		}
	}
}
