package lnet

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// witness is a NID of another node that may show whether an NI of this node is well.
type witness struct {
	nid     nid.NID
	through bool          // something was heard from the NID through the NI
	health  int           // health of the NID
	heard   time.Duration // when the NID was last heard, through any NI
}

// Witness returns a NID whose answers show that an NI of this node is well. Those that were heard through the NI come
// first, then others that were heard and are on its net; of both the healthiest, and of equally healthy ones those that
// were heard last. failed is how many pings of the NI in a row got no answer: each is to go to the next NID, in turn,
// because the node of the one before may be dead.
func (n *Node) Witness(local nid.NID, failed int) (id nid.NID, ok bool) {
	ni := n.niByNID(local)
	if ni == nil {
		return id, false
	}
	list := n.witnesses(ni)
	if len(list) == 0 {
		return id, false
	}
	slices.SortFunc(list, witness.compare)
	return list[failed%len(list)].nid, true
}

// witnesses returns the NIDs that may show whether ni is well, each once.
func (n *Node) witnesses(ni *NI) (list []witness) {
	index := make(map[nid.NID]int)
	for _, p := range n.peers.all() {
		k := p.contacts.find(nid.LustrePID)
		if k == nil || p.ni != ni && !ni.reaches(p.nid) {
			continue
		}
		at, some := k.heard.load()
		if !some {
			continue
		}
		i, found := index[p.nid]
		if !found {
			i = len(list)
			index[p.nid] = i
			list = append(list, witness{nid: p.nid, health: p.remote.Health()})
		}
		w := &list[i]
		w.through = w.through || p.ni == ni
		w.heard = max(w.heard, at)
	}
	return list
}

// compare returns a negative number if a comes before b, see [Node.Witness].
func (a witness) compare(b witness) int {
	if a.through != b.through {
		if a.through {
			return -1
		}
		return 1
	}
	return cmp.Or(b.health-a.health, cmp.Compare(b.heard, a.heard), a.nid.Compare(b.nid))
}
