package o2iblnd

import (
	"slices"
	"sync"
	"sync/atomic"
)

// connTable finds connections by the numbers in their completions. The table is copied
// when it changes, which is rare, so that it is read without a lock.
type connTable struct {
	mu   sync.Mutex // held while the table is changed
	free []uint32   // numbers without connection, the longest free first; guarded by mu
	n    atomic.Int64
	list atomic.Pointer[[]*conn]
}

// restingIDs is how many free numbers are not reused yet: if a connection was given up before its
// last event, a device may still report completions of it, and these must not reach another
// connection.
const restingIDs = 32

// add gives c a number and puts it into the table.
func (t *connTable) add(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*conn
	if old := t.list.Load(); old != nil {
		list = *old
	}
	if len(t.free) > restingIDs {
		c.id, t.free = t.free[0], t.free[1:]
		list = slices.Clone(list)
		list[c.id] = c
	} else {
		c.id = uint32(len(list))
		list = append(list, c) // append may write behind the end of the old list, which its readers do not read
	}
	t.n.Add(1)
	t.list.Store(&list)
}

func (t *connTable) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(*t.list.Load())
	list[c.id] = nil
	t.free = append(t.free, c.id)
	t.n.Add(-1)
	t.list.Store(&list)
}

// at returns the connection with a number, nil if there is none.
func (t *connTable) at(id uint32) *conn {
	list := t.list.Load()
	if list == nil || int(id) >= len(*list) {
		return nil
	}
	return (*list)[id]
}

func (t *connTable) len() int { return int(t.n.Load()) }

// all returns the connections that are in the table now.
func (t *connTable) all() (all []*conn) {
	if list := t.list.Load(); list != nil {
		for _, c := range *list {
			if c != nil {
				all = append(all, c)
			}
		}
	}
	return all
}
