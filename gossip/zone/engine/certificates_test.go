package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestDeletedForAll: a node is paused while an attribute is deleted and its death certificate is dropped. When it
// resumes, it loses the attribute, even if all other members have started since then and never had the certificate
// (MS-71, MS-89, MS-A22).
func TestDeletedForAll(t *testing.T) {
	spec.Covers(t, "MS-71", "MS-89", "MS-A22")
	w := booted(t, 1, 8, Config{})
	owner, late := w.nodes[2], w.nodes[5]
	owner.set("x", "1")
	w.until(5*time.Second, w.replicated)
	late.pause()
	w.run(10 * time.Second)
	owner.step(Input{Kind: Delete, Key: "x"})
	w.run(deathAge + time.Minute)
	if r := owner.m.attributes.of[owner.m.self]; r.deaths != 0 {
		t.Fatalf("%d certificates", r.deaths)
	}
	owner.set("y", "1")
	for _, n := range w.nodes {
		if n != owner && n != late {
			n.kill()
			n.start()
			w.run(2 * time.Second)
		}
	}
	w.cut = func(a, b int) bool { return min(a, b) == owner.i && max(a, b) == late.i } // late gets the table from another node
	late.resume()
	w.run(time.Second)
	if _, u := late.m.Attributes(late.m.Table().Lookup(owner.id)); u != 3 {
		t.Fatalf("version %d", u)
	}
	w.cut = nil
	w.until(10*time.Second, w.replicated)
}

// TestWholeIsGivenWhole: a node that received a whole table lacks the death certificates that the sender had
// dropped. When a node with an older copy asks it, it sends the whole table, too. To a node with a newer copy it
// sends only later entries (MS-A22).
func TestWholeIsGivenWhole(t *testing.T) {
	spec.Covers(t, "MS-A22")
	var owner, old, whole replica
	for i, key := range []string{"a", "x", "b"} {
		a := wire.Attribute{Key: key, U: uint64(i) + 1}
		owner.put(a, 0)
		old.put(a, 0)
	}
	owner.put(wire.Attribute{Key: "x", U: 4, Deleted: true}, 0)
	owner.takeOut(owner.find("x"))
	owner.floor = 4
	owner.sweep()
	owner.put(wire.Attribute{Key: "c", U: 5}, 0)
	d := owner.above(0)
	whole.merge(&d, 0)
	d = whole.above(old.u)
	if keys, ok := old.merge(&d, 0); !ok || old.find("x") >= 0 || len(keys) != 2 || old.u != 5 {
		t.Errorf("the old copy has version %d and %+v; changed %q", old.u, old.entries, keys)
	}
	if d = whole.above(4); d.From != 4 || len(d.Entries) != 1 {
		t.Errorf("an answer to a copy that is later than all gaps: %+v", d)
	}
}
