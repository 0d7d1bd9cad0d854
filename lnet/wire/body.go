package wire

// Ack returns the command of an ACK. Like Put, Get, Reply and Hello it reads
// Body whatever the type is.
func (h *Header) Ack() AckCmd {
	a, _, _ := parseAckCmd(h.Body[:]) // Body is long enough, so there is no error
	return a
}

// SetAck makes h an ACK with command a.
func (h *Header) SetAck(a AckCmd) {
	b, _ := a.AppendBinary(h.Body[:0])
	h.setBody(Ack, len(b))
}

// Put returns the command of a PUT.
func (h *Header) Put() (p PutCmd) {
	p.Parse(&h.Body)
	return p
}

// SetPut makes h a PUT with command p.
func (h *Header) SetPut(p PutCmd) { h.SetPutOf(p.AckMD, p.MatchBits, p.HdrData, p.Portal, p.Offset) }

// SetPutOf is SetPut with the fields of the command in registers: a command that was just written
// would stall the processor when it is copied.
func (h *Header) SetPutOf(ackMD MDHandle, matchBits, hdrData uint64, portal, offset uint32) {
	putBody(&h.Body, ackMD, matchBits, hdrData, portal, offset)
	h.Type = Put
}

// Get returns the command of a GET.
func (h *Header) Get() GetCmd {
	g, _, _ := parseGetCmd(h.Body[:])
	return g
}

// SetGet makes h a GET with command g.
func (h *Header) SetGet(g GetCmd) {
	b, _ := g.AppendBinary(h.Body[:0])
	h.setBody(Get, len(b))
}

// Reply returns the command of a REPLY.
func (h *Header) Reply() ReplyCmd {
	r, _, _ := parseReplyCmd(h.Body[:])
	return r
}

// SetReply makes h a REPLY with command r.
func (h *Header) SetReply(r ReplyCmd) {
	b, _ := r.AppendBinary(h.Body[:0])
	h.setBody(Reply, len(b))
}

// Hello returns the command of a HELLO.
func (h *Header) Hello() HelloCmd {
	c, _, _ := parseHelloCmd(h.Body[:])
	return c
}

// SetHello makes h a HELLO with command c.
func (h *Header) SetHello(c HelloCmd) {
	b, _ := c.AppendBinary(h.Body[:0])
	h.setBody(Hello, len(b))
}

// setBody completes SetAck and the like: it sets the type, and clears Body after the used bytes
// that the caller has written.
func (h *Header) setBody(t MsgType, used int) {
	h.Type = t
	clear(h.Body[used:])
}
