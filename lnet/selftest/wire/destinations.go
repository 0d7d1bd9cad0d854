package wire

import "ulnet/lnet/nid"

// Bounds of lists of destinations.
const (
	DestinationSize = 12 // size of an entry in bytes
	// MaxDestinations is the length of the longest list that arrives whole.
	MaxDestinations = pageSize / DestinationSize
	pageSize        = 4096
)

// Destination is a process in the list that a test client fetches, packed.
//
//	off  size  field
//	  0   8    NID  a nid4
//	  8   4    PID
//
// A console has the list in pages of 4096 bytes, each with 341 entries and 4 bytes that are not
// used, but only 12 bytes per entry are sent: of a list of more than MaxDestinations entries the
// end is missing.
type Destination = nid.ProcessID

// AppendDestinations appends a list in the byte order of the Test request that names it. The
// errors are ErrNID and ErrDestinations; b is returned unchanged then.
func AppendDestinations(b []byte, list []Destination, bigEndian bool) ([]byte, error) {
	if len(list) > MaxDestinations {
		return b, ErrDestinations
	}
	start := len(b)
	b = append(b, make([]byte, len(list)*DestinationSize)...)
	c := cursor{b: b[start:], bigEndian: bigEndian}
	for _, d := range list {
		if !d.NID.Is4() || !d.NID.IsValid() {
			return b[:start], ErrNID
		}
		value := d.NID.Value4()
		field64(&c, &value)
		field32(&c, &d.PID)
	}
	return b, nil
}

// ParseDestinations parses a list of count entries in the byte order of the Test request. It
// returns fewer entries if the list is not whole, and ErrNID if an entry names no node.
func ParseDestinations(b []byte, count int, bigEndian bool) ([]Destination, error) {
	list := make([]Destination, 0, max(0, min(count, len(b)/DestinationSize)))
	for i := range count {
		at := i/MaxDestinations*pageSize + i%MaxDestinations*DestinationSize
		if at+DestinationSize > len(b) {
			break
		}
		c := cursor{b: b, at: at, read: true, bigEndian: bigEndian}
		var value uint64
		var d Destination
		field64(&c, &value)
		field32(&c, &d.PID)
		if d.NID = nid.From4(value); !d.NID.IsValid() || d.NID.IsAny() {
			return list, ErrNID
		}
		list = append(list, d)
	}
	return list, nil
}
