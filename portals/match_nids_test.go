package portals_test

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestMatchAnyNID (PT-5): a match entry that names an initiator by any NID of its node takes
// messages of that node, from whichever NID, and none of other nodes.
func TestMatchAnyNID(t *testing.T) {
	spec.Covers(t, "PT-5")
	first, third := nid.MustParse("10.0.0.7@tcp1"), nid.MustParse("10.0.0.8@tcp2")
	table, net := newWire(t)
	h := &harness{Table: table, t: t}
	table.Node().SetPeer(lnet.Peer{Primary: first, NIs: []wire.NIStatus{{NID: first}, {NID: there.NID}, {NID: third}}})
	for name, c := range map[string]struct {
		entry nid.NID
		want  bool
	}{
		"primary NID":     {first, true},
		"its source":      {there.NID, true},
		"another NID":     {third, true},
		"another node":    {nid.MustParse("10.0.0.9@tcp"), false},
		"a node on a net": {nid.MustParse("10.0.0.2@tcp1"), false},
	} {
		for kind, m := range map[string]portals.Match{
			"unique":   {ID: nid.ProcessID{NID: c.entry, PID: there.PID}},
			"any pid":  {ID: nid.ProcessID{NID: c.entry}},
			"ignoring": {ID: nid.ProcessID{NID: c.entry}, Ignore: 1},
		} {
			portal := map[string]int{"unique": 1, "any pid": 2, "ignoring": 2}[kind]
			var seen log
			me, _ := h.post(portal, m, portals.MD{Threshold: 2, Options: portals.OpPut, Handler: seen.handle})
			if err := net.arrive(putHeader(0, wire.PutCmd{AckMD: wire.NoHandle(), Portal: uint32(portal)}), nil); err != nil {
				t.Fatal(err)
			}
			if got := seen.take(); (len(got) == 1) != c.want {
				t.Errorf("%s, %s: events %v", name, kind, got)
			}
			if err := h.MEUnlink(me); err != nil {
				t.Fatal(err)
			}
		}
	}
}
