package zone

import "slices"

// replica is a copy of a node's attribute table, or the node's own (seed 002, Sec. 4;
// MS-75). Nodes without attributes have none.
type replica struct {
	owner    Ref
	inc      uint64 // of the owner's life (MS-A17)
	u        uint64 // newest version
	sent     uint64 // that neighbours were told
	notified uint64 // that the user was told
	pending  uint64 // version that was asked for
	target   Ref    // the neighbour that was asked for it
	asked    int64  // when, as nanoseconds of active time
	floor    uint64 // newest death certificate that was thrown away (MS-A22)
	deaths   int
	bytes    int
	dirty    bool // in attributes.dirty
	entries  []stored
}

// stored is an attribute with the time from which on its death certificate can be
// thrown away.
type stored struct {
	Attribute
	since int64
}

// find returns the place of a key, or -1.
func (r *replica) find(key string) int {
	return slices.IndexFunc(r.entries, func(s stored) bool { return s.Key == key })
}

// put writes an entry with a version above all others.
func (r *replica) put(a Attribute, now int64) {
	if i := r.find(a.Key); i >= 0 {
		r.takeOut(i)
	}
	r.entries = append(r.entries, stored{a, now})
	r.bytes += a.Size()
	r.u = max(r.u, a.U)
	if a.Deleted {
		r.deaths++
	}
}

func (r *replica) takeOut(i int) {
	r.bytes -= r.entries[i].Size()
	if r.entries[i].Deleted {
		r.deaths--
	}
	r.entries = slices.Delete(r.entries, i, i+1)
}

// above returns the entries above a version: those that are missing where no more is
// known, or all, if death certificates in between are lost.
func (r *replica) above(u uint64) TableData {
	if u < r.floor {
		u = 0
	}
	d := TableData{Owner: r.owner, Inc: r.inc, From: u, To: r.u, Last: true}
	for i := range r.entries {
		if r.entries[i].U > u {
			d.Entries = append(d.Entries, r.entries[i].Attribute)
		}
	}
	return d
}

// merge takes over entries, and returns the keys that changed. They are complete
// between two versions, so that a part with a gap before it is not taken (MS-A19).
func (r *replica) merge(d *TableData, now int64) (keys []string, ok bool) {
	if d.From > r.u || d.To <= r.u {
		return nil, d.To <= r.u
	}
	if d.From == 0 && r.u > 0 { // all that there is: what it lacks was deleted
		for i := len(r.entries) - 1; i >= 0; i-- {
			e := &r.entries[i]
			gone := !slices.ContainsFunc(d.Entries, func(a Attribute) bool { return a.Key == e.Key })
			if gone && d.Last {
				if !e.Deleted {
					keys = append(keys, e.Key)
				}
				r.takeOut(i)
			}
		}
	}
	for i := range d.Entries {
		if a := &d.Entries[i]; a.U > r.u {
			keys = append(keys, a.Key)
			r.put(*a, now)
		}
	}
	r.u = d.To
	return keys, true
}

// live returns the attributes that are not deleted, in the order in which they were
// written.
func (r *replica) live() (list []Attribute) {
	for i := range r.entries {
		if !r.entries[i].Deleted {
			list = append(list, r.entries[i].Attribute)
		}
	}
	return list
}

// fits reports whether a table stays within a bound with the entries of a message.
func (r *replica) fits(d *TableData, most int) bool {
	n := r.bytes
	for i := range d.Entries {
		n += d.Entries[i].Size()
		if j := r.find(d.Entries[i].Key); j >= 0 {
			n -= r.entries[j].Size()
		}
	}
	return n <= most
}
