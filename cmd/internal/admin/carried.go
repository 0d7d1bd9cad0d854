package admin

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/nid"
)

// Bulk data can be sent by multicast before the request goes down the tree. A member that has
// received all of it when the request arrives does not fetch it from its parent; other members
// do. Messages are
//
//	 0  4  magic   "SCBK"
//	 4  2  version
//	 6  2  reserved
//	 8 16  id      of the broadcast
//	24  8  length  of the data
//	32  8  offset  of the bytes that follow; all integers are little-endian
//	40     data
const (
	carriedMagic   = "SCBK"
	carriedVersion = 1
	// CarriedHeader is the length of a message without its data.
	CarriedHeader = 40
	// carriedKept is how long data is kept while its request has not arrived.
	carriedKept = time.Minute
)

// IsCarried reports whether a message carries bulk data.
func IsCarried(b []byte) bool { return bytes.HasPrefix(b, []byte(carriedMagic)) }

// AppendCarried appends a message with the part bulk[from:to] of the bulk data of a broadcast.
func AppendCarried(b []byte, id ID, bulk []byte, from, to int) []byte {
	b = append(b, carriedMagic...)
	b = binary.LittleEndian.AppendUint32(b, carriedVersion)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(bulk)))
	b = binary.LittleEndian.AppendUint64(b, uint64(from))
	return append(b, bulk[from:to]...)
}

// Carried stores bulk data of other nodes' broadcasts until the requests of these broadcasts
// arrive. Its methods are safe for concurrent use.
type Carried struct {
	most  int // largest number of bytes of one broadcast
	limit int // largest number of bytes of all broadcasts together

	mu    sync.Mutex
	list  []*load // guarded by mu, like all below; the oldest first
	bytes int
}

// NewCarried returns a store that keeps at most as many bytes of one broadcast as the parameter most
// says, and at most as many of all broadcasts as limit says.
func NewCarried(most, limit int) *Carried { return &Carried{most: most, limit: limit} }

// load is the bulk data of a broadcast, which may be incomplete.
type load struct {
	root nid.NID
	id   ID
	data []byte
	have int
	at   time.Time
}

// Put adds a message from a root. Messages arrive in order, as in a multicast group with FIFO.
// A message beyond the next expected byte is dropped, and the member will fetch the data.
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
		return // not the next bytes of data that is stored here: the data was dropped, or messages are out of order
	}
	l := c.list[i]
	l.have += copy(l.data[offset:], piece)
}

// room makes room for data: it drops data that has been kept for too long, and then the oldest.
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

// Take removes and returns the data of a broadcast; nil if it is not complete.
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
