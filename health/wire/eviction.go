package wire

import (
	"encoding/binary"
	"errors"

	"ulnet/lnet/nid"
)

// EntrySize is the size of an [Entry] in bytes (CH-A10).
const EntrySize = 28

// Entry is an incarnation of a client, little-endian:
//
//	 0 16  client
//	16  8  incarnation
//	24  1  in evictions the cause; in a digest 1 to ask for confirmation, in the
//	       reply 1 for an incarnation that the master knows
//	25  3  in evictions the last 24 bits of the epoch in which the client chose
//	       the sender as its master; 0: any
type Entry struct {
	Client      ClientID // id of the client
	Incarnation uint64   // number of the client's incarnation
	Mark        uint8    // cause of the eviction, or a flag in digests
	Epoch       uint32   // last 24 bits of the epoch; 0: any epoch
}

// Before reports whether an eviction is for an earlier choice of a master than the one in the
// given epoch. The 24 bits wrap around, so the two choices must be fewer than eight million
// apart.
func (e *Entry) Before(epoch uint32) bool {
	ahead := (epoch - e.Epoch) & (1<<24 - 1)
	return e.Epoch != 0 && ahead > 0 && ahead < 1<<23
}

// AppendTo appends the entry.
func (e Entry) AppendTo(b []byte) []byte {
	b = append(b, e.Client[:]...)
	b = binary.LittleEndian.AppendUint64(b, e.Incarnation)
	return append(b, e.Mark, byte(e.Epoch), byte(e.Epoch>>8), byte(e.Epoch>>16))
}

// Entries are entries in their wire format.
type Entries []byte

// Len returns the number of entries.
func (e Entries) Len() int { return len(e) / EntrySize }

// At returns an entry.
func (e Entries) At(i int) Entry {
	b := e[i*EntrySize:][:EntrySize]
	return Entry{ClientID(b), binary.LittleEndian.Uint64(b[16:]), b[24], binary.LittleEndian.Uint32(b[24:]) >> 8}
}

// Sizes in bytes, except MaxBatch.
const (
	BatchHeaderSize = 16
	// MaxBatch is how many evictions one broadcast can have. Such a batch, with the 192 bytes of
	// the header of collectives, fits into a buffer of 4 KiB.
	MaxBatch        = (4096 - 192 - BatchHeaderSize) / EntrySize
	ReplyHeaderSize = 20
	ExceptionSize   = 36
	maxReply        = ReplyHeaderSize + MaxBatch*ExceptionSize
)

const (
	batchMagic = "HEVB"
	replyMagic = "HEVR"
)

// errIndex means that a reply refers to an eviction that is not in the batch.
var errIndex = errors.New("health: a reply to an eviction that does not exist")

// Batch is a master's request to evict clients, or the withdrawal of such a request. It is the
// payload of a broadcast, little-endian:
//
//	 0  4  magic    "HEVB"
//	 4  1  version
//	 5  1  withdraw 1: the evictions are void, as these clients have other masters
//	 6  2  entries  their number, 1 to MaxBatch
//	 8  8  incarnation  of the master
//	16     entries
type Batch struct {
	Incarnation uint64  // incarnation of the master
	Withdraw    bool    // the batch withdraws earlier evictions
	Entries     Entries // 1 to MaxBatch evictions
}

// AppendTo appends the request.
func (r *Batch) AppendTo(b []byte) []byte {
	b = append(b, batchMagic...)
	b = append(b, Version, 0)
	if r.Withdraw {
		b[len(b)-1] = 1
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(r.Entries.Len()))
	b = binary.LittleEndian.AppendUint64(b, r.Incarnation)
	return append(b, r.Entries...)
}

// ParseBatch parses a request. Entries are part of b.
func ParseBatch(b []byte) (r Batch, err error) {
	switch {
	case len(b) < BatchHeaderSize:
		return r, ErrShort
	case string(b[:4]) != batchMagic:
		return r, ErrMagic
	case b[4] != Version:
		return r, ErrVersion
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	r.Withdraw = b[5] == 1
	r.Incarnation = binary.LittleEndian.Uint64(b[8:])
	r.Entries = Entries(b[BatchHeaderSize:])
	if n == 0 || n > MaxBatch || n*EntrySize != len(r.Entries) {
		return r, ErrBody
	}
	for i := range n {
		if !r.Entries.At(i).Client.IsValid() {
			return r, ErrClient
		}
	}
	return r, nil
}

// Exception is an eviction that a server did not make (CH-A22), little-endian:
//
//	 0  2  index        of the eviction in the batch
//	 2  1  code         OtherMaster or Newer
//	 3  1  reserved
//	 4  4  epoch        of the choice of Master
//	 8  8  incarnation  that is connected
//	16 20  master       of the client
type Exception struct {
	Index       uint16  // index of the eviction in its batch
	Code        Code    // why the eviction was not made: OtherMaster or Newer
	Epoch       uint32  // number of the client's choice of Master
	Incarnation uint64  // incarnation of the client that is connected
	Master      nid.NID // the client's master
}

func (e *Exception) appendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, e.Index)
	b = append(b, byte(e.Code), 0)
	b = binary.LittleEndian.AppendUint32(b, e.Epoch)
	b = binary.LittleEndian.AppendUint64(b, e.Incarnation)
	return appendServer(b, e.Master)
}

// Reply is the answer to a batch of one server, or the merged answer of several, little-endian:
//
//	 0  4  magic       "HEVR"
//	 4  1  version
//	 5  1  reserved
//	 6  2  exceptions  their number
//	 8  4  evicted     how often a client was evicted
//	12  4  unknown     how often it was not connected
//	16  4  reserved
//	20     exceptions, by their index
type Reply struct {
	Evicted    uint32      // evictions made, summed over servers
	Unknown    uint32      // evictions of clients that were not connected, summed over servers
	Exceptions []Exception // exceptions ordered by Index, at most one for each eviction
}

// AppendTo appends the answer.
func (r *Reply) AppendTo(b []byte) []byte {
	b = append(b, replyMagic...)
	b = append(b, Version, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.Exceptions)))
	b = binary.LittleEndian.AppendUint32(b, r.Evicted)
	b = binary.LittleEndian.AppendUint32(b, r.Unknown)
	b = append(b, 0, 0, 0, 0)
	for i := range r.Exceptions {
		b = r.Exceptions[i].appendTo(b)
	}
	return b
}

// ParseReply parses an answer to a batch.
func ParseReply(b []byte) (r Reply, err error) {
	switch {
	case len(b) < ReplyHeaderSize:
		return r, ErrShort
	case string(b[:4]) != replyMagic:
		return r, ErrMagic
	case b[4] != Version:
		return r, ErrVersion
	}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	r.Evicted = binary.LittleEndian.Uint32(b[8:])
	r.Unknown = binary.LittleEndian.Uint32(b[12:])
	b = b[ReplyHeaderSize:]
	if n > MaxBatch || n*ExceptionSize != len(b) {
		return r, ErrBody
	}
	for last := -1; len(b) > 0; b = b[ExceptionSize:] {
		e := Exception{
			Index: binary.LittleEndian.Uint16(b), Code: Code(b[2]), Epoch: binary.LittleEndian.Uint32(b[4:]),
			Incarnation: binary.LittleEndian.Uint64(b[8:]),
		}
		if e.Master, err = parseServer(b[16:36]); err != nil {
			return r, err
		}
		switch {
		case int(e.Index) <= last, e.Index >= MaxBatch:
			return r, errIndex
		case e.Code != Newer && (e.Code != OtherMaster || !e.Master.IsValid()):
			return r, ErrCode
		}
		last = int(e.Index)
		r.Exceptions = append(r.Exceptions, e)
	}
	return r, nil
}

// Merge adds the answer of other servers to r. Of two exceptions to one eviction it keeps the
// one with the later incarnation or, if these are equal, with the later choice of a master.
func (r *Reply) Merge(o Reply) {
	r.Evicted += o.Evicted
	r.Unknown += o.Unknown
	merged := make([]Exception, 0, len(r.Exceptions)+len(o.Exceptions))
	a, b := r.Exceptions, o.Exceptions
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Index < b[0].Index:
			merged, a = append(merged, a[0]), a[1:]
		case a[0].Index > b[0].Index:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, Latest(a[0], b[0]))
			a, b = a[1:], b[1:]
		}
	}
	r.Exceptions = append(append(merged, a...), b...)
}

// Latest returns the later of two exceptions to one eviction; the order of a and b does not
// matter.
func Latest(a, b Exception) Exception {
	switch {
	case a.Incarnation != b.Incarnation:
		if a.Incarnation > b.Incarnation {
			return a
		}
	case a.Epoch != b.Epoch:
		if a.Epoch > b.Epoch {
			return a
		}
	case a.Master.Compare(b.Master) <= 0:
		return a
	}
	return b
}

// MergeReplies merges two encoded replies to a batch. It leaves out a reply that cannot be
// parsed.
func MergeReplies(a, b []byte) []byte {
	x, errA := ParseReply(a)
	y, errB := ParseReply(b)
	switch {
	case errA != nil && errB != nil:
		return (&Reply{}).AppendTo(nil)
	case errA != nil:
		return b
	case errB != nil:
		return a
	}
	x.Merge(y)
	return x.AppendTo(nil)
}
