package engine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// set writes an attribute of a node.
func (n *node) set(key, value string) {
	n.step(Input{Kind: Set, Key: key, Value: []byte(value)})
}

// replicated reports whether all nodes that are up have the attributes of all others
// (MS-71).
func (w *world) replicated() bool {
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			if !n.up || !o.up || n == o {
				continue
			}
			own, u := o.m.Attributes(o.m.self)
			there, v := n.m.Attributes(n.m.Table().Lookup(o.id))
			if u != v || !slices.EqualFunc(own, there, sameAttribute) {
				return false
			}
		}
	}
	return true
}

func sameAttribute(a, b wire.Attribute) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value) && a.U == b.U
}

// TestAttributes: a write reaches all members in few rounds, and with few copies of the message
// (MS-70 to MS-72, MS-76, MS-85, MS-91, MS-A15, MS-A23).
func TestAttributes(t *testing.T) {
	spec.Covers(t, "MS-70", "MS-71", "MS-72", "MS-76", "MS-85", "MS-91", "MS-A15", "MS-A23", "MS-A31")
	w := booted(t, 1, 64, Config{})
	changes := 0
	w.told = func(_ *node, e *Event) {
		if e.Kind == AttributesChanged {
			changes++
		}
	}
	for i := range 5 { // MS-85: all five writes must reach a node in one event
		w.nodes[9].set(fmt.Sprint("k", i), fmt.Sprint("v", i))
	}
	took := w.until(3*time.Second, w.replicated)
	if took > 900*time.Millisecond { // MS-A31: less than 3.5 rounds for 2048 nodes
		t.Errorf("took %v", took)
	}
	var received uint64
	for _, n := range w.nodes {
		received += n.m.stats.Entries
	}
	if needed := uint64(5 * 63); received > needed*13/10 {
		t.Errorf("%d entries received, %d needed (MS-91)", received, needed)
	}
	if changes != 63 {
		t.Errorf("%d changes told", changes)
	}
	if _, ok := w.nodes[9].keys[w.nodes[9].id]; ok {
		t.Error("MS-72: a node is told of its own")
	}
}

// TestAttributeVersions: each write makes one version, and entries have different versions
// (MS-73, MS-89).
func TestAttributeVersions(t *testing.T) {
	spec.Covers(t, "MS-73", "MS-89")
	s := newSolo(t, 2, Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	want, writes := map[string]string{}, uint64(0)
	if _, u := s.m.Attributes(s.m.self); u != 0 {
		t.Errorf("version %d of an empty map", u)
	}
	for i := range 300 {
		key := fmt.Sprint(rng.IntN(12))
		if _, ok := want[key]; rng.IntN(4) == 0 {
			s.step(Input{Kind: Delete, Key: key})
			if ok {
				writes++
			}
			delete(want, key)
		} else {
			s.step(Input{Kind: Set, Key: key, Value: []byte(fmt.Sprint(i))})
			want[key] = fmt.Sprint(i)
			writes++
		}
		list, u := s.m.Attributes(s.m.self)
		got := map[string]string{}
		for _, a := range list {
			got[a.Key] = string(a.Value)
		}
		if u != writes || !maps.Equal(got, want) {
			t.Fatalf("version %d after %d writes, %v, want %v", u, writes, got, want)
		}
	}
}

// TestOrder: parts of a table may arrive in any order; users never see them out of order, and
// no key is lost or comes back (MS-74, MS-89, MS-A19).
func TestOrder(t *testing.T) {
	spec.Covers(t, "MS-74", "MS-89", "MS-A19")
	for seed := range uint64(40) {
		s := withNeighbours(t)
		rng := rand.New(rand.NewPCG(seed, 3))
		owner := replica{owner: s.ref[5], inc: 7}
		seen := uint64(0)
		for range 30 {
			for range rng.IntN(4) {
				key := fmt.Sprint(rng.IntN(5))
				owner.put(wire.Attribute{Key: key, Value: []byte{1}, U: owner.u + 1, Deleted: rng.IntN(3) == 0}, 0)
			}
			_, have := s.m.Attributes(s.ref[5])
			whole := owner.above(have)
			if whole.To == have {
				continue
			}
			parts := split(rng, whole)
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			for _, p := range parts {
				s.give(1, p)
				for _, e := range s.out.Events {
					for _, a := range e.Attributes {
						if a.U > owner.u {
							t.Fatalf("seed %d: version %d", seed, a.U)
						}
					}
				}
				if _, u := s.m.Attributes(s.ref[5]); u < seen {
					t.Fatalf("seed %d: version %d after %d", seed, u, seen)
				} else if seen = u; u > 0 {
					s.sameUpTo(&owner, u)
				}
			}
		}
		s.give(2, owner.above(seen))
		s.sameUpTo(&owner, owner.u)
	}
}

// split divides the data of a table into random parts.
func split(rng *rand.Rand, d wire.TableData) (parts []wire.TableData) {
	for len(d.Entries) > 1 && rng.IntN(2) == 0 {
		at := 1 + rng.IntN(len(d.Entries)-1)
		head := d
		head.Entries, head.To, head.Last = d.Entries[:at], d.Entries[at-1].U, false
		parts = append(parts, head)
		d.Entries, d.From = d.Entries[at:], head.To
	}
	return append(parts, d)
}

// sameUpTo checks that the replica of node 5 has all entries that its owner wrote up to a
// version and has not written again.
func (s *solo) sameUpTo(owner *replica, u uint64) {
	s.t.Helper()
	r := s.m.attributes.of[owner.owner]
	for _, e := range owner.entries {
		if e.U <= u && !slices.ContainsFunc(r.entries, func(x stored) bool { return x.Key == e.Key && x.U == e.U }) {
			s.t.Fatalf("up to %d, key %s of version %d is missing", u, e.Key, e.U)
		}
	}
}

// TestAttributeLimits: the size of attributes is bounded at the owner, which gets an error, and
// at all other nodes.
func TestAttributeLimits(t *testing.T) {
	s := withNeighbours(t)
	if err := s.m.Fits("", nil); !errors.Is(err, ErrKey) {
		t.Errorf("no key: %v", err)
	}
	if err := s.m.Fits(strings.Repeat("k", 256), nil); !errors.Is(err, ErrKey) {
		t.Errorf("long key: %v", err)
	}
	big := make([]byte, 200<<10)
	for _, key := range []string{"a", "b", "a"} {
		s.step(Input{Kind: Set, Key: key, Value: big})
		if err := s.m.Fits("c", big); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), "262144") {
			t.Errorf("too much: %v", err)
		}
	}
	if list, u := s.m.Attributes(s.m.self); len(list) != 1 || u != 2 { // the write of b was refused
		t.Errorf("%d attributes, version %d", len(list), u)
	}
	var huge []wire.Attribute
	for u := uint64(1); u <= 3; u++ {
		huge = append(huge, wire.Attribute{Key: fmt.Sprint(u), Value: make([]byte, 300<<10), U: u})
	}
	s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 3, Last: true, Entries: huge})
	if _, u := s.m.Attributes(s.ref[5]); u != 0 || s.m.stats.TooLarge != 1 {
		t.Errorf("version %d, refused %d", u, s.m.stats.TooLarge)
	}
}

// TestDeathCertificates: death certificates are dropped after all neighbours have had them for
// ten minutes, and the deleted keys do not come back (MS-89, MS-A22).
func TestDeathCertificates(t *testing.T) {
	spec.Covers(t, "MS-89", "MS-A22")
	w := booted(t, 1, 12, Config{})
	n := w.nodes[2]
	for i := range 20 {
		n.set(fmt.Sprint(i), "x")
	}
	w.until(5*time.Second, w.replicated)
	late := w.nodes[7]
	for i := range 19 {
		n.step(Input{Kind: Delete, Key: fmt.Sprint(i)})
	}
	w.until(5*time.Second, w.replicated)
	r := late.m.attributes.of[late.m.Table().Lookup(n.id)]
	if r.deaths != 19 {
		t.Fatalf("%d certificates", r.deaths)
	}
	w.run(11 * time.Minute)
	if r.deaths != 0 || len(r.entries) != 1 || r.u != 39 || r.floor != 39 || n.m.attributes.of[n.m.self].deaths != 0 {
		t.Errorf("%d certificates after ten minutes, version %d, floor %d", r.deaths, r.u, r.floor)
	}
	// A copy that is older than the dropped certificates gets the whole table, and drops the keys
	// that are not in the table.
	old := replica{owner: r.owner, inc: r.inc}
	for i := range uint64(20) {
		old.put(wire.Attribute{Key: fmt.Sprint(i), U: i + 1}, 0)
	}
	d := r.above(old.u)
	keys, ok := old.merge(&d, 0)
	if !ok || len(old.entries) != 1 || len(keys) != 19 || old.u != 39 {
		t.Errorf("%d entries, %d changed, version %d", len(old.entries), len(keys), old.u)
	}
}

// TestAttributeFaults: attributes are equal in the end, whatever faults occurred (MS-71,
// MS-74).
func TestAttributeFaults(t *testing.T) {
	spec.Covers(t, "MS-71", "MS-74")
	for seed := range effort.Seeds[uint64](8, 12, 200) {
		w := newWorld(t, seed, 10, Config{})
		w.jitter, w.loss, w.dup, w.reorder = 3*time.Millisecond, 0.05, 0.05, 0.05
		w.disk = time.Duration(seed%2) * time.Second
		w.boot()
		w.run(3 * time.Second)
		for range 15 {
			w.trouble()
			for range 5 {
				if x := w.nodes[w.rng.IntN(10)]; x.up && !x.paused {
					if key := fmt.Sprint(w.rng.IntN(4)); w.rng.IntN(3) == 0 {
						x.step(Input{Kind: Delete, Key: key})
					} else {
						x.set(key, fmt.Sprint(w.rng.IntN(1000)))
					}
				}
				w.run(time.Duration(w.rng.Int64N(int64(time.Second))))
			}
		}
		w.calm()
		w.until(time.Minute, func() bool { return w.agree() && w.replicated() })
		for _, n := range w.nodes { // listeners know from events as many attributes of each node as it has
			for _, o := range w.nodes {
				own, _ := o.m.Attributes(o.m.self)
				if told := n.keys[o.id]; n != o && len(told) != len(own) {
					w.fail("%v was told %v of %v, which has %v", n.id, told, o.id, own)
				}
			}
		}
	}
}
