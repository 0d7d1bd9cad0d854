package softroce

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sort"
	"sync"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// longestRegion is the largest size of a region in bytes, equal to that of a message.
const longestRegion = 1 << 31

// regionTable has the registered memory of a device. Every method is safe for
// concurrent use.
//
// Keys and addresses are random: neither can be guessed from another, and a key
// that is no longer valid does not soon become so again.
type regionTable struct {
	numbers Numbers

	mu      sync.RWMutex // guards the map regions
	regions map[ibta.RKey]*region
}

func newRegionTable(n Numbers) *regionTable {
	return &regionTable{numbers: n, regions: make(map[ibta.RKey]*region)}
}

// len returns the number of regions.
func (t *regionTable) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.regions)
}

// unguessable returns a random 64-bit number.
func unguessable() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	return binary.LittleEndian.Uint64(b[:])
}

// domain is the memory of one protection domain: what its queue pairs may write.
type domain struct {
	table *regionTable
}

var _ memory = (*domain)(nil)

// region is registered memory (verbs.MR). Renew gives it other memory, and another key, while it is not
// registered. A goroutine that found the region in the table before Renew notices that the key differs.
type region struct {
	table  *regionTable
	domain *domain

	// Writers hold mu while they copy, one at a time: a hostile peer may write the same bytes
	// through two connections. Only the owner of the region changes the fields that mu
	// guards, and the pieces only while the region is not in the table.
	mu     sync.Mutex
	key    ibta.RKey // remote key; mu guards this and all fields below
	base   uint64
	length uint64
	access verbs.Access
	pieces [][]byte // memory of the region; empty after deregistration
	ends   []uint64 // for each piece: offset of its end in the region
	// written counts the bytes that arrived. Retransmitted packets are not written again.
	written uint64
}

var (
	_ verbs.Renewer      = (*region)(nil)
	_ verbs.WriteCounter = (*region)(nil)
)

var errRegistered = errors.New("the region is registered: deregister it first")

// Register registers memory (verbs.PD). Empty pieces are left out.
func (d *domain) Register(pieces [][]byte, access verbs.Access) (verbs.MR, error) {
	r := &region{table: d.table, domain: d}
	if err := r.Renew(pieces, access); err != nil {
		return nil, err
	}
	return r, nil
}

// Renew registers other memory (verbs.Renewer).
func (r *region) Renew(pieces [][]byte, access verbs.Access) error {
	const known = verbs.LocalWrite | verbs.RemoteWrite
	length := uint64(0)
	for _, p := range pieces {
		length += uint64(len(p))
	}
	if length > longestRegion {
		return verbs.ErrTooLarge
	}
	if length == 0 || access&^known != 0 || access == verbs.RemoteWrite {
		return errAccess
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pieces) > 0 {
		return errRegistered
	}
	r.access, r.length, r.written = access, 0, 0
	for _, p := range pieces {
		if len(p) > 0 {
			r.length += uint64(len(p))
			r.pieces, r.ends = append(r.pieces, p), append(r.ends, r.length)
		}
	}
	r.table.add(r)
	return nil
}

// add gives a region its numbers. r.mu is held.
func (t *regionTable) add(r *region) {
	r.base, r.key = t.numbers.Address(r.length), 0
	t.mu.Lock()
	defer t.mu.Unlock()
	for r.key == 0 || t.regions[r.key] != nil {
		r.key = t.numbers.RKey()
	}
	t.regions[r.key] = r
}

// holds reports whether domain d has regions.
func (t *regionTable) holds(d *domain) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range t.regions {
		if r.domain == d {
			return true
		}
	}
	return false
}

// find returns a region of the domain that may be written, nil for none.
func (d *domain) find(key ibta.RKey) *region {
	d.table.mu.RLock()
	defer d.table.mu.RUnlock()
	r := d.table.regions[key]
	if r == nil || r.domain != d || r.access&verbs.RemoteWrite == 0 {
		return nil
	}
	return r
}

// Check reports whether a range of a region may be written (memory).
func (d *domain) Check(key ibta.RKey, address uint64, length uint32) bool {
	r := d.find(key)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is(key) && r.holds(address, uint64(length))
}

// Write writes to a region, if it is registered and has room, else it returns false (memory).
func (d *domain) Write(key ibta.RKey, address uint64, b []byte) bool {
	r := d.find(key)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.is(key) || !r.holds(address, uint64(len(b))) {
		return false
	}
	r.written += uint64(len(b))
	at := address - r.base
	i := sort.Search(len(r.ends), func(i int) bool { return at < r.ends[i] })
	for len(b) > 0 {
		p := r.pieces[i]
		n := copy(p[uint64(len(p))-(r.ends[i]-at):], b)
		b, at, i = b[n:], at+uint64(n), i+1
	}
	return true
}

// is reports whether the region may still be written under a key by which it was found.
// r.mu is held.
func (r *region) is(key ibta.RKey) bool {
	return r.key == key && len(r.pieces) > 0 && r.access&verbs.RemoteWrite != 0
}

// holds reports whether [address, address+n) is part of the region. Nothing can
// overflow: two numbers are compared before their difference is used.
func (r *region) holds(address, n uint64) bool {
	at := address - r.base
	return address >= r.base && at <= r.length && n <= r.length-at
}

// Written returns how many bytes arrived (verbs.WriteCounter).
func (r *region) Written() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// RKey returns the remote key (verbs.MR).
func (r *region) RKey() uint32 { return uint32(r.key) }

// Frags appends the region's only fragment (verbs.MR).
func (r *region) Frags(to []verbs.Frag) []verbs.Frag {
	return append(to, verbs.Frag{Address: r.base, Length: uint32(r.length)})
}

// Deregister ends the peer's access to the memory (verbs.MR).
func (r *region) Deregister() {
	r.table.mu.Lock()
	if r.table.regions[r.key] == r {
		delete(r.table.regions, r.key)
	}
	r.table.mu.Unlock()
	r.mu.Lock() // waits for writers that found the region earlier
	defer r.mu.Unlock()
	clear(r.pieces)
	r.pieces, r.ends = r.pieces[:0], r.ends[:0]
}
