package nid

import "encoding/binary"

// ExtendedSize is the length of the extended form in bytes.
const ExtendedSize = 20

// maxSize is the largest size byte of the extended form: 16 address bytes.
const maxSize = 12

// ParseExtended parses the extended form (struct lnet_nid) at the beginning of
// b and returns what follows it. Every form of the wildcard gives Any; address
// bytes beyond the length that the NID claims are ignored. The errors are
// errShort and ErrSize.
func ParseExtended(b []byte) (n NID, rest []byte, err error) {
	if len(b) < ExtendedSize {
		return NID{}, b, errShort
	}
	n.head = binary.BigEndian.Uint32(b)        // nid_size, nid_type, nid_num
	n.addr[0] = binary.BigEndian.Uint32(b[4:]) // nid_addr
	n.addr[1] = binary.BigEndian.Uint32(b[8:])
	n.addr[2] = binary.BigEndian.Uint32(b[12:])
	n.addr[3] = binary.BigEndian.Uint32(b[16:])
	switch size := n.head >> 24; {
	case n.typ() == anyType:
		n = Any()
	case size == maxSize:
	case size == 0:
		n.addr[1], n.addr[2], n.addr[3] = 0, 0, 0
	case size > maxSize:
		return NID{}, b, ErrSize
	default:
		n.clearFrom(int(size) + 4)
	}
	return n, b[ExtendedSize:], nil
}

// clearFrom clears the address bytes from the given one on.
func (n *NID) clearFrom(used int) {
	for i := range n.addr {
		if free := 4*(i+1) - used; free > 0 {
			n.addr[i] &^= uint32(1<<(8*min(free, 4)) - 1)
		}
	}
}

// AppendExtended appends the extended form, ExtendedSize bytes.
func (n NID) AppendExtended(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, n.head)    // nid_size, nid_type, nid_num
	b = binary.BigEndian.AppendUint32(b, n.addr[0]) // nid_addr
	b = binary.BigEndian.AppendUint32(b, n.addr[1])
	b = binary.BigEndian.AppendUint32(b, n.addr[2])
	return binary.BigEndian.AppendUint32(b, n.addr[3])
}
