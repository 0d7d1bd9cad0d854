package kib

// MaxFrags is how many fragments a descriptor may have: 256 pages of a message
// of 1 MiB, and one more if it begins inside a page.
const MaxFrags = 257

// Sizes in bytes of a descriptor without its fragments, and of a fragment.
const (
	descSize = 8
	fragSize = 12
)

// Frag is a piece of a remote buffer (struct kib_rdma_frag).
type Frag struct {
	Length  uint32 // length of the fragment in bytes
	Address uint64 // the address to put into a RETH; it means nothing on this machine
}

// Desc describes a remote buffer (struct kib_rdma_desc). A parsed Desc refers to the bytes of its
// message.
type Desc struct {
	Key  uint32 // remote key (rkey) of all fragments
	wire []byte // the fragments as they stand on the wire
	big  byteOrder
}

// Len returns the number of fragments.
func (d *Desc) Len() int { return len(d.wire) / fragSize }

// Frag returns fragment i, 0 ≤ i < Len.
func (d *Desc) Frag(i int) Frag {
	b := d.wire[fragSize*i:]
	return Frag{d.big.Uint32(b), d.big.Uint64(b[4:])}
}

// Total returns the bytes of all fragments together, which may be more than a
// message can have.
func (d *Desc) Total() (n uint64) {
	for i := range d.Len() {
		n += uint64(d.Frag(i).Length)
	}
	return n
}

// MakeDesc returns a descriptor of the fragments. It appends them
// to buf, to which the Desc refers from then on. The error is errFrags.
func MakeDesc(buf []byte, key uint32, frags ...Frag) (Desc, error) {
	if len(frags) == 0 || len(frags) > MaxFrags {
		return Desc{}, errFrags
	}
	o := byteOrder(false)
	begin := len(buf)
	for _, f := range frags {
		buf = o.AppendUint64(o.AppendUint32(buf, f.Length), f.Address)
	}
	return Desc{Key: key, wire: buf[begin:]}, nil
}

// parse parses the descriptor at the beginning of b. The errors are errFrags
// and errDesc.
func (d *Desc) parse(b []byte, o byteOrder) error {
	if len(b) < descSize {
		return errDesc
	}
	n := o.Uint32(b[4:])
	if n == 0 || n > MaxFrags {
		return errFrags
	}
	if len(b) < descSize+fragSize*int(n) {
		return errDesc
	}
	end := descSize + fragSize*int(n)
	*d = Desc{Key: o.Uint32(b), wire: b[descSize:end:end], big: o}
	return nil
}

// appendTo appends the descriptor to b in byte order o, which is that of the message in b. A parsed
// descriptor may have come in the other byte order.
func (d *Desc) appendTo(b []byte, o byteOrder) []byte {
	b = o.AppendUint32(b, d.Key)           // field rd_key of struct kib_rdma_desc
	b = o.AppendUint32(b, uint32(d.Len())) // field rd_nfrags of struct kib_rdma_desc
	if o == d.big {
		return append(b, d.wire...) // field rd_frags of struct kib_rdma_desc
	}
	for i := range d.Len() {
		f := d.Frag(i)
		b = o.AppendUint64(o.AppendUint32(b, f.Length), f.Address) // fields rf_nob and rf_addr of struct kib_rdma_frag
	}
	return b
}
