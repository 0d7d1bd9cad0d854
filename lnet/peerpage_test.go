package lnet_test

import (
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPeersAfter: the pages of a full table contain every peer once, in the order of the
// nodes' primary NIDs, with the peers of one node together.
func TestPeersAfter(t *testing.T) {
	count := effort.Of(10_000, 10_000, 1<<18-1)
	node := newNode(&silentUpper{})
	d := &driver{id: self}
	if _, err := node.AddNI(d, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Shutdown(over()) }()
	for i := range count {
		d.up.PeerUp(process(numbered(i * 7919 % count)))
	}
	far := numbered(count - 1)
	node.SetPeer(upToDate(numbered(3), far, peer1))
	seen, last := make(map[nid.NID]bool), nid.NID{}
	for after, more := (nid.NID{}), true; more; {
		page := node.PeersAfter(after, 4096)
		for _, p := range page.Peers {
			if seen[p.NID] {
				t.Fatalf("%v twice", p.NID)
			}
			seen[p.NID] = true
			if p.NID != far && p.NID.Compare(last) <= 0 {
				t.Fatalf("%v after %v", p.NID, last)
			}
			if p.NID == far && p.Primary != numbered(3) || len(page.Peers) > 4097 {
				t.Fatalf("%v of %v in a page of %d peers", p.NID, p.Primary, len(page.Peers))
			}
			if p.NID != far {
				last = p.NID
			}
		}
		after, more = page.Next, page.Next.IsValid()
	}
	if len(seen) != count {
		t.Errorf("%d peers in all pages, want %d", len(seen), count)
	}
	of := node.PeersOf(far)
	if len(of.Peers) != 2 || len(of.Nodes) != 1 || of.Nodes[0].Primary != numbered(3) {
		t.Errorf("the node of %v: %+v", far, of)
	}
}

// TestPageOfFew: one page contains all peers of a small table, and none of an empty one.
func TestPageOfFew(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	if page := r.node.PeersAfter(nid.NID{}, 10); len(page.Peers)+len(page.Nodes) > 0 || page.Next.IsValid() {
		t.Errorf("page of an empty table: %+v", page)
	}
	r.part(peerB)
	r.driver.up.PeerDown(process(peerA), syscall.ECONNREFUSED)
	r.meet(peerA)
	r.meet(peerC)
	page := r.node.PeersAfter(nid.NID{}, 10)
	all := r.node.Snapshot().Peers
	if !slices.Equal(page.Peers, all) || len(all) != 2 || page.Next.IsValid() {
		t.Errorf("page %+v\nof %+v", page, all)
	}
	one := r.node.PeersAfter(nid.NID{}, 1)
	rest := r.node.PeersAfter(one.Next, 1)
	if got := append(one.Peers, rest.Peers...); !slices.Equal(got, all) {
		t.Errorf("two pages %+v\nof %+v", got, all)
	}
}
