package admin

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/nid"
)

// Bulk data can go by multicast before the request goes down the tree. A member that has
// all of it then does not fetch it from its parent; one that lacks some does, as all do
// otherwise. Messages are
//
//	 0  4  magic   "SCBK"
//	 4  2  version
//	 6  2  reserved
//	 8 16  id      of the broadcast
//	24  8  length  of the data
//	32  8  offset  of what follows, little-endian like all
//	40     data
const (
	carriedMagic   = "SCBK"
	carriedVersion = 1
	// CarriedHeader is the length of a message without its data.
	CarriedHeader = 40
	// carriedKept is how long data waits for its request.
	carriedKept = time.Minute
)

// IsCarried reports whether a message carries bulk data.
func IsCarried(b []byte) bool { return bytes.HasPrefix(b, []byte(carriedMagic)) }

// AppendCarried appends the message with a part of the bulk data of a broadcast.
func AppendCarried(b []byte, id ID, bulk []byte, from, to int) []byte {
	b = append(b, carriedMagic...)
	b = binary.LittleEndian.AppendUint32(b, carriedVersion)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(bulk)))
	b = binary.LittleEndian.AppendUint64(b, uint64(from))
	return append(b, bulk[from:to]...)
}

// Carried is bulk data of others' broadcasts whose requests have not come yet. Its
// methods are safe for concurrent use.
type Carried struct {
	most  int // bytes of one
	limit int // bytes of all

	mu    sync.Mutex
	list  []*load // guarded by mu, like all below; the oldest first
	bytes int
}

// NewCarried returns a store for so many bytes of one broadcast, and of all.
func NewCarried(most, limit int) *Carried { return &Carried{most: most, limit: limit} }

// load is the data of a broadcast, as far as it has come.
type load struct {
	root nid.NID
	id   ID
	data []byte
	have int
	at   time.Time
}

// Put takes a message from a root. Messages come in order, as those of a group with
// fifo do: what is ahead of what has come is dropped, and the data is fetched then.
func (c *Carried) Put(root nid.NID, b []byte, now time.Time) {
	le := binary.LittleEndian
	if len(b) < CarriedHeader || !IsCarried(b) || le.Uint16(b[4:]) != carriedVersion {
		return
	}
	id, length, offset := ID(b[8:24]), le.Uint64(b[24:]), le.Uint64(b[32:])
	piece := b[CarriedHeader:]
	if length == 0 || length > uint64(c.most) || offset > length || uint64(len(piece)) > length-offset {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(root, id)
	if offset == 0 && i < 0 {
		c.room(int(length), now)
		c.list = append(c.list, &load{root: root, id: id, data: make([]byte, length), at: now})
		c.bytes += int(length)
		i = len(c.list) - 1
	}
	if i < 0 || uint64(c.list[i].have) != offset || uint64(len(c.list[i].data)) != length {
		return // of what was given up, or from a group that does not keep the order
	}
	l := c.list[i]
	l.have += copy(l.data[offset:], piece)
}

// room makes room for data: what is too old goes, and then the oldest.
func (c *Carried) room(length int, now time.Time) {
	for len(c.list) > 0 && (now.Sub(c.list[0].at) > carriedKept || c.bytes+length > c.limit) {
		c.drop(0)
	}
}

func (c *Carried) drop(i int) {
	c.bytes -= len(c.list[i].data)
	c.list = slices.Delete(c.list, i, i+1)
}

func (c *Carried) find(root nid.NID, id ID) int {
	return slices.IndexFunc(c.list, func(l *load) bool { return l.root == root && l.id == id })
}

// Take returns the data of a broadcast, and forgets it; nil if not all is there.
func (c *Carried) Take(root nid.NID, id ID) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(root, id)
	if i < 0 {
		return nil
	}
	l := c.list[i]
	c.drop(i)
	if l.have < len(l.data) {
		return nil
	}
	return l.data
}
