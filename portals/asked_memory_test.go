package portals

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
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
			if !a.take(id(i), &nid.NID{}, wire.Put, false) {
				t.Fatalf("%d is not awaited", i)
			}
		}
		if a.awaits(wire.Put) || (a.more != nil) != kept {
			t.Errorf("after %d: awaits %v, keeps a map %v, want %v", n, a.awaits(wire.Put), a.more != nil, kept)
		}
	}
}

// TestAskedForgetsEarlyAnswers: an answer that came before its message was noted, which then failed, does not count for the
// next MD in the slot, nor when no message of its own MD is leaving any more.
func TestAskedForgetsEarlyAnswers(t *testing.T) {
	id := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	rail := nid.MustParse("10.9.0.3@tcp9")
	for _, same := range []bool{false, true} {
		var a asked
		a.add(&id, wire.Put)
		if !a.take(&id, &rail, wire.Put, true) || len(a.went) != 1 {
			t.Fatalf("early answer: %+v", a.went)
		}
		if same {
			a.add(&id, wire.Put)
			a.take(&id, &id.NID, wire.Put, false)
		} else {
			a.forget()
		}
		if len(a.went) != 0 {
			t.Errorf("same MD %v: %+v is left", same, a.went)
		}
	}
}

// TestAskedBoundsEarlyAnswers: a process that answers always from an NID to which no message goes cannot make an MD count
// answers without end.
func TestAskedBoundsEarlyAnswers(t *testing.T) {
	id := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	var a asked
	for i := range uint32(30 * maxEarly) {
		from := nid.FromNumber(id.NID.Net(), i%20)
		a.add(&id, wire.Put)
		a.take(&id, &from, wire.Put, true)
	}
	if len(a.went) != maxWent || a.went[0].n != -maxEarly {
		t.Errorf("%d entries, the first counts %d", len(a.went), a.went[0].n)
	}
}

// TestAskedNotesBesideEarlyAnswers: early answers of one process from many NIDs do not keep an MD from noting to which NID
// a message to another process went.
func TestAskedNotesBesideEarlyAnswers(t *testing.T) {
	spec.Covers(t, "PT-32")
	id := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	other := nid.ProcessID{NID: nid.MustParse("10.9.1.2@tcp9"), PID: nid.LustrePID}
	rail := nid.MustParse("10.9.1.3@tcp9")
	var a asked
	for i := range uint32(maxWent + 2) {
		from := nid.FromNumber(id.NID.Net(), i)
		a.add(&id, wire.Put)
		a.take(&id, &from, wire.Put, true)
	}
	a.add(&other, wire.Put)
	a.note(&other, &rail)
	if a.detour(&other, &rail) < 0 || len(a.went) != maxWent {
		t.Errorf("%+v", a.went)
	}
}
