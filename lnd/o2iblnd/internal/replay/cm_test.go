package replay

import (
	"errors"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// CM is a message of the connection manager. MAD.Attribute tells which message field counts.
// Private data that o2iblnd made is in Msg or Reject, any other in Private.
type CM struct {
	ibta.CM

	IP      *ibta.IPCM // IP addresses in a REQ; nil: Private is all of the private data
	Msg     *kib.Msg   // message in the private data of a REQ or REP
	Reject  *kib.Reject
	Private []byte
}

// parseCM parses a message. The errors are those of ibta.ParseMAD, and
// errUnknown.
func parseCM(b []byte) (*CM, error) {
	var c CM
	var err error
	if c.CM, err = ibta.ParseCM(b); err != nil {
		return nil, err
	}
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		user := c.REQ.Private
		if ip, rest, err := ibta.ParseIPCM(user); err == nil {
			c.IP, user = &ip, rest
		}
		c.message(user)
	case ibta.AttrREP:
		c.message(c.REP.Private)
	case ibta.AttrREJ:
		c.Private = c.REJ.Private
		if r, err := kib.ParseReject(c.Private); err == nil {
			c.Reject, c.Private = &r, nil
		}
	case ibta.AttrRTU:
		c.Private = c.RTU.Private
	case ibta.AttrDREQ:
		c.Private = c.DREQ.Private
	case ibta.AttrDREP:
		c.Private = c.DREP.Private
	default:
		err = errors.Join(errUnknown, ibta.ErrAttribute)
	}
	return &c, err
}

// message parses the private data, which is o2iblnd's.
func (c *CM) message(b []byte) {
	m, err := kib.ParseMsg(b)
	if err != nil {
		c.Private = b
		return
	}
	c.Msg = &m
}

// encode returns the bytes of the CM message.
func (c *CM) encode() []byte {
	private := c.Private
	if c.Msg != nil {
		private, _ = c.Msg.AppendBinary(nil) // Msg was parsed, so it can be encoded
	}
	if c.Reject != nil {
		private = c.Reject.AppendTo(nil)
	}
	b := c.MAD.AppendTo(nil)
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		r := c.REQ
		r.Private = private
		if c.IP != nil {
			r.Private = append(c.IP.AppendTo(nil), private...)
		}
		return r.AppendTo(b)
	case ibta.AttrREP:
		r := c.REP
		r.Private = private
		return r.AppendTo(b)
	case ibta.AttrREJ:
		r := c.REJ
		r.Private = private
		return r.AppendTo(b)
	case ibta.AttrRTU:
		return c.RTU.AppendTo(b)
	case ibta.AttrDREQ:
		return c.DREQ.AppendTo(b)
	}
	return c.DREP.AppendTo(b)
}

// begins reports whether the message begins an exchange, with a transaction id of
// its sender's choice.
func (c *CM) begins() bool {
	return c.MAD.Attribute == ibta.AttrREQ || c.MAD.Attribute == ibta.AttrDREQ
}

// clone returns a copy of c. Only its private data still refer to the bytes of the packet.
func (c *CM) clone() *CM {
	n := *c
	if c.IP != nil {
		ip := *c.IP
		n.IP = &ip
	}
	if c.Msg != nil {
		m := *c.Msg
		n.Msg = &m
	}
	if c.Reject != nil {
		r := *c.Reject
		n.Reject = &r
	}
	return &n
}

// Clone returns a copy whose parts can be changed. Data stays shared.
func (p *Packet) Clone() Packet {
	n := *p
	if p.CM != nil {
		n.CM = p.CM.clone()
	}
	if p.Msg != nil {
		m := *p.Msg
		n.Msg = &m
	}
	return n
}
