package lnet_test

import (
	"slices"
	"testing"

	"ulnet/lnet/nid"
)

// TestOrder: Order sorts the named NIs among the places that they have in the list; other NIs keep their places.
// Watchers are told if the list changes.
func TestOrder(t *testing.T) {
	lo := nid.Lo0()
	for name, c := range map[string]struct {
		order, want []nid.NID // the NIs start as self, second, self1, lo
	}{
		"none":         {nil, []nid.NID{self, second, self1, lo}},
		"same":         {[]nid.NID{self, second, self1}, []nid.NID{self, second, self1, lo}},
		"last first":   {[]nid.NID{self1, self, second}, []nid.NID{self1, self, second, lo}},
		"some":         {[]nid.NID{self1, self}, []nid.NID{self1, second, self, lo}},
		"one":          {[]nid.NID{self1}, []nid.NID{self, second, self1, lo}},
		"unknown":      {[]nid.NID{peerA, second, peerB, self}, []nid.NID{second, self, self1, lo}},
		"a NID twice":  {[]nid.NID{second, self, second}, []nid.NID{second, self, self1, lo}},
		"lo, too":      {[]nid.NID{lo, self1, second, self}, []nid.NID{lo, self1, second, self}},
		"only unknown": {[]nid.NID{peerA}, []nid.NID{self, second, self1, lo}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newWide(t)
			ids := func() (list []nid.NID) {
				for _, id := range r.node.IDs() {
					list = append(list, id.NID)
				}
				return list
			}
			before, told := ids(), 0
			r.node.OnNIChange(func() { told++ })
			r.node.Order(c.order)
			if got := ids(); !slices.Equal(got, c.want) || (told > 0) == slices.Equal(got, before) || told > 1 {
				t.Errorf("%v, told %d times; want %v", got, told, c.want)
			}
		})
	}
}
