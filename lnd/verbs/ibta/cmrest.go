package ibta

// MRA asks for more time. Its attribute: comm ids as in a REP, then
//
//	 8  b7-6 message
//	 9  b7-3 service timeout
//	10  222  private data
type MRA struct {
	LocalID, RemoteID CommID   // communication ids of the sender and the receiver
	Message           Rejected // message whose receipt is acknowledged
	ServiceTimeout    uint8    // time until the answer, as CMTimeout code
	Private           []byte   // private data of the consumer; after parsing, a slice of the input
}

func (m *MRA) parse(b *[MADBodySize]byte) {
	m.LocalID, m.RemoteID = commIDs(b[:])
	m.Message, m.ServiceTimeout = Rejected(b[8]>>6), b[9]>>3
	m.Private = b[10:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (m *MRA) AppendTo(b []byte) []byte {
	b = append(appendIDs(b, m.LocalID, m.RemoteID), byte(m.Message)<<6, m.ServiceTimeout<<3)
	return appendPrivate(b, m.Private, MRAPrivateSize)
}

// RTU (ready to use) is the message by which the active side confirms a REP: the connection is
// established. Its attribute has two communication ids, then 224 bytes of private data.
type RTU struct {
	LocalID, RemoteID CommID // communication ids of the sender and the receiver
	Private           []byte // private data of the consumer; after parsing, a slice of the input
}

func (r *RTU) parse(b *[MADBodySize]byte) {
	r.LocalID, r.RemoteID = commIDs(b[:])
	r.Private = b[8:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (r *RTU) AppendTo(b []byte) []byte {
	return appendPrivate(appendIDs(b, r.LocalID, r.RemoteID), r.Private, RTUPrivateSize)
}

// DREQ requests the end of a connection. Its attribute has two communication ids, the receiver's
// QPN at offset 8 (3 bytes), and 220 bytes of private data at offset 12.
type DREQ struct {
	LocalID, RemoteID CommID // communication ids of the sender and the receiver
	RemoteQPN         QPN    // queue pair of the receiver, which checks it
	Private           []byte // private data of the consumer; after parsing, a slice of the input
}

func (d *DREQ) parse(b *[MADBodySize]byte) {
	d.LocalID, d.RemoteID = commIDs(b[:])
	d.RemoteQPN = QPN(uint24(b[8:]))
	d.Private = b[12:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (d *DREQ) AppendTo(b []byte) []byte {
	b = append(appendUint24(appendIDs(b, d.LocalID, d.RemoteID), uint32(d.RemoteQPN)), 0)
	return appendPrivate(b, d.Private, DREQPrivateSize)
}

// DREP answers a DREQ. Its attribute is that of an RTU.
type DREP struct {
	LocalID, RemoteID CommID // communication ids of the sender and the receiver
	Private           []byte // private data of the consumer; after parsing, a slice of the input
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (d *DREP) AppendTo(b []byte) []byte { return (*RTU)(d).AppendTo(b) }
