package engine

import (
	"crypto/sha1"
	"errors"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestRing: nodes are on the ring in the order of their digests (MS-24, MS-A25), in whatever
// order their ids were added.
func TestRing(t *testing.T) {
	spec.Covers(t, "MS-24", "MS-A25")
	want := []string{"n5", "n2", "n1", "n7", "n0", "n6", "n4", "n3"}
	table := NewTable(100)
	for i := range 8 {
		if _, err := table.Add(testID(7 - i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range table.ring {
		got = append(got, table.ID(r).Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("ring %q, want %q", got, want)
	}
	// Computed by hand: n0, a zero byte, and 10.0.0.1@tcp in the extended form.
	sum := sha1.Sum([]byte("n0\x00\x00\x02\x00\x00\x0a\x00\x00\x01" + strings.Repeat("\x00", 12)))
	if p := testID(0).Position(); p != sum || table.rank(table.Lookup(testID(0))) != slices.Index(want, "n0") {
		t.Errorf("position %x, want %x; %x", p, sum, testID(0).AppendCanonical(nil))
	}
}

// TestTable: entries of removed ids are reused, and the number of entries is bounded.
func TestTable(t *testing.T) {
	table := NewTable(4)
	a, _ := table.Add(testID(0))
	b, _ := table.Add(testID(1))
	short, _ := table.AddShort(testID(2).Short())
	if c, err := table.Add(testID(2)); c != short || err != nil {
		t.Errorf("an id of which the short form was known: %v, %v", c, err)
	}
	if again, err := table.Add(testID(0)); again != a || err != nil {
		t.Errorf("the same id: %v, %v", again, err)
	}
	if _, err := table.AddShort(77); err != nil {
		t.Error(err)
	}
	if _, err := table.Add(testID(4)); !errors.Is(err, errTableFull) {
		t.Errorf("too many: %v", err)
	}
	var keep bitmap
	keep.set(b)
	table.forget(keep)
	if table.Len() != 1 || table.Lookup(testID(0)) != 0 || table.Lookup(testID(1)) != b || len(table.ring) != 1 {
		t.Errorf("%d left, %v", table.Len(), table.ring)
	}
	if c, err := table.Add(testID(5)); c == b || c == 0 || err != nil || table.Len() != 2 {
		t.Errorf("a new one: %v, %v", c, err)
	}
	// Another id with the short form of a known one is refused.
	table.ids[b].id = testID(9)
	if _, err := table.Add(testID(1)); !errors.Is(err, errCollision) {
		t.Errorf("a collision: %v", err)
	}
}
