package node

import (
	"bytes"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/lnet/nid"
)

// TestCarried: RM-30: bulk data is put together from its messages in order, for its root
// alone, within a bound; what makes no sense is nothing.
func TestCarried(t *testing.T) {
	root, other := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	bulk := bytes.Repeat([]byte("0123456789"), 10)
	now := time.Unix(1000, 0)
	c := carried{most: 100, limit: 250}
	all := func(id byte, from nid.NID) {
		for at := 0; at < len(bulk); at += 30 {
			c.put(from, appendCarried(nil, admin.ID{id}, bulk, at, min(at+30, len(bulk))), now)
		}
	}
	all(1, root)
	if got := c.take(other, admin.ID{1}); got != nil {
		t.Errorf("another root's: %q", got)
	}
	if got := c.take(root, admin.ID{1}); !bytes.Equal(got, bulk) {
		t.Errorf("%q", got)
	}
	if got := c.take(root, admin.ID{1}); got != nil || c.bytes != 0 {
		t.Errorf("twice: %q, %d bytes are kept", got, c.bytes)
	}
	c.put(root, appendCarried(nil, admin.ID{2}, bulk, 0, 30), now)
	c.put(root, appendCarried(nil, admin.ID{2}, bulk, 60, 100), now)
	if got := c.take(root, admin.ID{2}); got != nil {
		t.Errorf("with a gap: %q", got)
	}
	for id := byte(3); id < 6; id++ {
		all(id, root)
	}
	if c.bytes != 200 || c.take(root, admin.ID{3}) != nil || c.take(root, admin.ID{5}) == nil {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	now = now.Add(2 * carryKept)
	all(6, root)
	if len(c.list) != 1 || c.take(root, admin.ID{6}) == nil {
		t.Errorf("old ones are kept: %d", len(c.list))
	}
	good := appendCarried(nil, admin.ID{7}, bulk, 0, 100)
	for i, bad := range [][]byte{
		nil, good[:39], append([]byte("XXXX"), good[4:]...), good[:4],
		appendCarried(nil, admin.ID{7}, append(bulk, 'x'), 0, 101), append(good[:len(good):len(good)], 'x'), appendCarried(nil, admin.ID{7}, nil, 0, 0),
	} {
		c.put(root, bad, now)
		if len(c.list) != 0 {
			t.Errorf("%d: taken", i)
		}
	}
}

// FuzzCarried: no message breaks the store, or makes it keep more than it may.
func FuzzCarried(f *testing.F) {
	f.Add(appendCarried(nil, admin.ID{1}, []byte("some data"), 0, 5), appendCarried(nil, admin.ID{1}, []byte("some data"), 5, 9))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := carried{most: 100, limit: 150}
		for _, m := range [][]byte{a, b, a} {
			c.put(nid.MustParse("10.0.0.1@tcp"), m, time.Unix(1, 0))
			if c.bytes > c.limit {
				t.Errorf("%d bytes are kept", c.bytes)
			}
		}
	})
}
