package engine

import (
	"encoding/binary"
	"testing"

	"ulnet/scoll/rmcast/wire"
)

// FuzzMachine: members and managers survive arbitrary messages.
func FuzzMachine(f *testing.F) {
	d := wire.Datagram{
		Group: 7, Flags: wire.FlagBatch, Version: wire.Version{Epoch: 0x1122334455667788, Counter: 2}, Origin: 3, Length: 5000, Seq: 0x0A0B, Index: 1, Count: 2, Size: 4,
		Stable: 0x0A0A, First: 1,
	}
	e := wire.Entry{Kind: wire.Pending, Flags: wire.FlagNeedless, Repairs: 2, Origin: 3, Version: wire.Version{Epoch: 1, Counter: 2}, First: 9, Count: 4, Member: 5, Stable: 8}
	o := wire.Order{
		Kind: wire.OrderList, Flags: wire.OrderTree, Group: 7, You: 2, Epoch: 3, Version: wire.Version{Epoch: 3, Counter: 4}, Usable: wire.Version{Epoch: 3, Counter: 3},
		Oldest: wire.Version{Epoch: 2, Counter: 9}, Incarnation: 12, MTU: 4096, Capacity: 100_000, Window: 128, Next: 6, Voters: 5, Of: 8, Silent: 1,
		Members:  []wire.Member{{ID: wire.ID{NID: hostNID(0), Incarnation: 11}, Number: 1}, {ID: wire.ID{NID: hostNID(1), Incarnation: 12}, Number: 2}},
		Departed: []wire.ID{{NID: hostNID(2), Incarnation: 13}},
	}
	f.Add([]byte{0, 72}, append(d.AppendTo(nil), "data"...))
	packed := d
	packed.Flags, packed.Index, packed.Count, packed.Length, packed.Size = wire.FlagPacked|wire.FlagRepair, 0, 2, 8, 8
	packed.Origin, packed.Seq, packed.Stable = 1, 1, 1
	f.Add([]byte{0, 72}, wire.AppendMessage(wire.AppendMessage(packed.AppendTo(nil), []byte("data")), nil))
	f.Add([]byte{1, 80}, wire.AppendControl(nil, 7, wire.Version{Epoch: 3, Counter: 4}, []wire.Entry{e}))
	f.Add([]byte{2}, o.AppendTo(nil))
	f.Fuzz(func(t *testing.T, how, b []byte) {
		w := newWorld(t, 3, nil)
		w.form(3)
		w.send(1, "one")
		h := w.hosts[1]
		version := h.m.group.latest().version
		for i, x := range how {
			if x >= 16 && len(b) >= 40 { // copy the version in use into the message
				at := []int{16, 40, 24}[int(x)%3]
				at = min(at, len(b)-16)
				binary.LittleEndian.PutUint64(b[at:], version.Epoch)
				binary.LittleEndian.PutUint64(b[at+8:], version.Counter)
			}
			in := Input{Kind: Arrival + InputKind(x%3), From: hostNID(0), Data: b}
			var out Output
			h.m.Step(w.net.Now()+1+1e6, in, &out)
			w.hosts[0].g.Step(w.net.Now()+1+1e6, in, &out)
			if err := h.m.invariants(); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
		}
	})
}
