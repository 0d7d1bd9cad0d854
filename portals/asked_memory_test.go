package portals

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestAskedGivesMemoryBack: an MD that awaited thousands of answers frees the memory of its map
// when it has got them. A small map is kept for the next operation.
func TestAskedGivesMemoryBack(t *testing.T) {
	for n, kept := range map[uint32]bool{3: true, 5000: false} {
		var a asked
		id := func(i uint32) *nid.ProcessID {
			return &nid.ProcessID{NID: nid.FromNumber(nid.MakeNet(nid.TCP, 0), i), PID: nid.LustrePID}
		}
		for i := range n {
			a.add(id(i), wire.Put)
		}
		for i := range n {
			if !a.take(id(i), &nid.NID{}, wire.Put) {
				t.Fatalf("%d is not awaited", i)
			}
		}
		if a.awaits(wire.Put) || (a.more != nil) != kept {
			t.Errorf("after %d: awaits %v, keeps a map %v, want %v", n, a.awaits(wire.Put), a.more != nil, kept)
		}
	}
}
