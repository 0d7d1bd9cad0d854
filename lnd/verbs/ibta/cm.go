package ibta

// CM is a message of the connection manager. MAD.Attribute says which one; the fields of other
// messages mean nothing.
type CM struct {
	MAD  MAD  // header of the message
	REQ  REQ  // request for a connection
	REP  REP  // reply to the request
	REJ  REJ  // rejection of the request
	MRA  MRA  // message receipt acknowledgement: "received, the answer follows later"
	RTU  RTU  // ready to use
	DREQ DREQ // request to disconnect
	DREP DREP // reply to the DREQ
}

// ParseCM parses a message. The errors are those of ParseMAD; with ErrAttribute the MAD is valid.
func ParseCM(b []byte) (c CM, err error) {
	var body *[MADBodySize]byte
	if c.MAD, body, err = ParseMAD(b); err != nil {
		return c, err
	}
	switch c.MAD.Attribute {
	case AttrREQ:
		c.REQ.parse(body)
	case AttrREP:
		c.REP.parse(body)
	case AttrREJ:
		c.REJ.parse(body)
	case AttrMRA:
		c.MRA.parse(body)
	case AttrRTU:
		c.RTU.parse(body)
	case AttrDREQ:
		c.DREQ.parse(body)
	case AttrDREP:
		(*RTU)(&c.DREP).parse(body)
	}
	return c, nil
}

// body returns the message behind the MAD.
func (c *CM) body() interface {
	AppendTo(b []byte) []byte
	ids() (local, remote CommID)
} {
	switch c.MAD.Attribute {
	case AttrREQ:
		return &c.REQ
	case AttrREP:
		return &c.REP
	case AttrREJ:
		return &c.REJ
	case AttrMRA:
		return &c.MRA
	case AttrRTU:
		return &c.RTU
	case AttrDREQ:
		return &c.DREQ
	}
	return &c.DREP
}

// AppendTo appends the message in wire form.
func (c *CM) AppendTo(b []byte) []byte { return c.body().AppendTo(c.MAD.AppendTo(b)) }

// IDs returns the communication ids of the sender and of the receiver, 0 for none.
func (c *CM) IDs() (local, remote CommID) { return c.body().ids() }

func (r *REQ) ids() (local, remote CommID)  { return r.LocalID, 0 }
func (r *REP) ids() (local, remote CommID)  { return r.LocalID, r.RemoteID }
func (r *REJ) ids() (local, remote CommID)  { return r.LocalID, r.RemoteID }
func (m *MRA) ids() (local, remote CommID)  { return m.LocalID, m.RemoteID }
func (r *RTU) ids() (local, remote CommID)  { return r.LocalID, r.RemoteID }
func (d *DREQ) ids() (local, remote CommID) { return d.LocalID, d.RemoteID }
func (d *DREP) ids() (local, remote CommID) { return d.LocalID, d.RemoteID }
