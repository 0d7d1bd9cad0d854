package engine

import (
	"cmp"
	"slices"

	"ulnet/gossip/zone/wire"
)

// replica is a copy of a node's attribute table, or the node's own (MS-75). Nodes without attributes have none.
type replica struct {
	owner    wire.Ref
	inc      uint64   // incarnation of the owner (MS-A17)
	u        uint64   // newest version of the table
	sent     uint64   // newest version of the table that neighbours were sent
	notified uint64   // newest version of the table that the user was notified of
	pending  uint64   // version of the table that was requested
	target   wire.Ref // the neighbour to which the request was sent
	asked    int64    // when the table was requested, in nanoseconds of active time
	floor    uint64   // death certificates up to this version may be missing (MS-A22)
	deaths   int
	bytes    int
	dirty    bool     // the table is in attributes.dirty
	changed  []string // keys that the message being merged has changed
	keys     int      // number of entries, without the holes
	entries  []stored
	// index has the version of each key, by which the entry is found. Small tables have no index.
	index map[string]uint64
}

// stored is an attribute with the time after which its death certificate can be dropped. An
// entry without a key is a hole, left where an attribute stood before it was written again.
// Holes stay until sweep removes all of them, since removing each alone would take quadratic
// time.
type stored struct {
	wire.Attribute
	since int64
	named bool // the data that is being merged names the key
}

// indexFrom is the number of entries from which on a table has an index.
const indexFrom = 16

// find returns the index of a key's entry in the list, or -1.
func (r *replica) find(key string) int {
	if r.index == nil && len(r.entries) < indexFrom {
		return slices.IndexFunc(r.entries, func(s stored) bool { return s.Key == key })
	}
	r.makeIndex()
	u, ok := r.index[key]
	if !ok {
		return -1
	}
	i, _ := slices.BinarySearchFunc(r.entries, u, byVersion)
	return i
}

func byVersion(s stored, u uint64) int { return cmp.Compare(s.U, u) }

func (r *replica) makeIndex() {
	if r.index != nil {
		return
	}
	r.index = make(map[string]uint64, len(r.entries))
	for i := range r.entries {
		if e := &r.entries[i]; e.Key != "" {
			r.index[e.Key] = e.U
		}
	}
}

// put writes an entry with a version above all others.
func (r *replica) put(a wire.Attribute, now int64) {
	r.add(a, now)
	r.sweep()
}

// add writes an entry as put does. It does not close the hole that the key's previous entry leaves;
// the caller calls sweep after the last add.
func (r *replica) add(a wire.Attribute, now int64) {
	if i := r.find(a.Key); i >= 0 {
		r.takeOut(i)
	}
	r.entries = append(r.entries, stored{Attribute: a, since: now})
	if r.index != nil {
		r.index[a.Key] = a.U
	}
	r.keys++
	r.bytes += a.Size()
	r.u = max(r.u, a.U)
	if a.Deleted {
		r.deaths++
	}
}

// takeOut empties an entry, which stays in the list as a hole until sweep.
func (r *replica) takeOut(i int) {
	e := &r.entries[i]
	r.keys--
	r.bytes -= e.Size()
	if e.Deleted {
		r.deaths--
	}
	delete(r.index, e.Key)
	*e = stored{Attribute: wire.Attribute{U: e.U}}
}

// sweep removes the holes from the list.
func (r *replica) sweep() {
	if r.keys < len(r.entries) {
		r.entries = slices.DeleteFunc(r.entries, func(s stored) bool { return s.Key == "" })
	}
}

// sweepMost calls sweep if there are more holes than entries. The time that sweeping takes is
// then in proportion to the number of writes that left the holes.
func (r *replica) sweepMost() {
	if 2*r.keys < len(r.entries) {
		r.sweep()
	}
}

// above returns the entries above a version. If death certificates above that version may be
// missing, it returns all entries.
func (r *replica) above(u uint64) wire.TableData {
	if u < r.floor {
		u = 0
	}
	d := wire.TableData{Owner: r.owner, Inc: r.inc, From: u, To: r.u, Last: true}
	begin, _ := slices.BinarySearchFunc(r.entries, u+1, byVersion)
	for i := begin; i < len(r.entries); i++ {
		d.Entries = append(d.Entries, r.entries[i].Attribute)
	}
	return d
}

// merge adds the entries of d, and returns the keys that changed. d has all entries between two
// versions; merge refuses it if entries before it are missing (MS-A19). It may leave holes.
func (r *replica) merge(d *wire.TableData, now int64) (keys []string, ok bool) {
	if d.From > r.u || d.To <= r.u {
		return nil, d.To <= r.u
	}
	if whole(d) && r.u > 0 { // delete the attributes that the whole table d does not have
		keys = r.keepNamed(d)
	}
	for i := range d.Entries {
		if a := &d.Entries[i]; a.U > r.u {
			keys = append(keys, a.Key)
			r.add(*a, now)
		}
	}
	r.u = d.To
	if whole(d) {
		r.floor = max(r.floor, gap(d))
	}
	r.sweepMost()
	return keys, true
}

// whole reports whether data has all entries of a table.
func whole(d *wire.TableData) bool { return d.From == 0 && d.Last }

// gap returns the newest version up to which a whole table may lack a death certificate: the table has no entry
// with that version. Either the key was written again later, or the entry was a death certificate that the sender
// of the table had dropped. It returns 0 if no version is missing.
func gap(d *wire.TableData) uint64 {
	u := d.To
	for i := len(d.Entries) - 1; i >= 0 && d.Entries[i].U == u; i-- {
		u--
	}
	return u
}

// keepNamed removes the entries whose keys d does not have. It returns the keys of the removed
// entries, the newest first, but not those of death certificates.
func (r *replica) keepNamed(d *wire.TableData) (keys []string) {
	r.name(d, true)
	for i := len(r.entries) - 1; i >= 0; i-- {
		switch e := &r.entries[i]; {
		case e.named || e.Key == "":
			e.named = false
			continue
		case !e.Deleted:
			keys = append(keys, e.Key)
		}
		r.takeOut(i)
	}
	return keys
}

// name marks the entries of the table that d has, too, or removes the marks. It reports whether
// d has an entry twice.
func (r *replica) name(d *wire.TableData, named bool) (twice bool) {
	for i := range d.Entries {
		if j := r.find(d.Entries[i].Key); j >= 0 {
			twice = twice || r.entries[j].named == named
			r.entries[j].named = named
		}
	}
	return twice
}

// live returns the attributes that are not deleted, in the order in which they were
// written.
func (r *replica) live() (list []wire.Attribute) {
	for i := range r.entries {
		if e := &r.entries[i]; !e.Deleted && e.Key != "" {
			list = append(list, e.Attribute)
		}
	}
	return list
}

// bound is the size of a table, in bytes and in keys.
type bound struct{ bytes, keys int }

// after returns how large the table will be when data is merged. It returns false if data names
// a key twice, which is not valid.
func (r *replica) after(d *wire.TableData) (b bound, ok bool) {
	twice := r.name(d, true)
	r.name(d, false)
	if twice {
		return b, false
	}
	if !whole(d) {
		b = bound{r.bytes, r.keys}
	}
	for i := range d.Entries {
		a, j := &d.Entries[i], r.find(d.Entries[i].Key)
		switch {
		case a.U > r.u:
			b.bytes += a.Size()
			b.keys++
			if j >= 0 && !whole(d) {
				b.bytes -= r.entries[j].Size()
				b.keys--
			}
		case j >= 0 && whole(d): // the entry stays as it is
			b.bytes += r.entries[j].Size()
			b.keys++
		}
	}
	return b, true
}
