package health

import (
	"encoding/binary"
	"errors"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// Servers ask each other for pages of their clients by the administration service. Both
// formats are little-endian. A question is
//
//	0  1  version  1
//	1  1  reserved
//	2 16  after    the page begins after this client; 0: with the first
//
// An answer has the first clients after that one, in the order of ids:
//
//	0  1  version  1
//	1  1  flags    1: there are more clients after these; 2: the server has a quorum
//	2  2  count    of entries
//	4  4  clients  of the server, in all
//	8     entries
//
// and an entry is
//
//	 0 16  client
//	16  8  incarnation
//	24  4  epoch
//	28  4  PID of the client
//	32 20  NID of the client, in the extended form
//	52 20  NID of its master; zeros: none is known
//	72  1  state, its index in clientStates, or 255
//	73  1  length of the name
//	74     name
//
// A server of a version before 2026-11-25 answers that the request is malformed.
const (
	pageVersion   = 1
	pageAskSize   = 2 + 16
	pageHeadSize  = 8
	pageEntrySize = 74 // size of an entry without its name, in bytes
	pageMore      = 1
	pageQuorum    = 2
)

// clientStates are the states of clients in the order of their numbers in pages.
var clientStates = [...]string{"connected", "orphaned", "recovering", "evicting", "saving"}

// errPage means that a page, or a question for one, does not parse.
var errPage = errors.New("malformed page of clients")

// clientPage is the answer of a server.
type clientPage struct {
	more    bool
	quorum  bool
	total   uint32
	clients []health.ClientInfo // clients ordered by id; Since is not set
}

func appendPageAsk(b []byte, after health.ClientID) []byte {
	return append(append(b, pageVersion, 0), after[:]...)
}

func parsePageAsk(b []byte) (after health.ClientID, err error) {
	if len(b) != pageAskSize || b[0] != pageVersion {
		return after, errPage
	}
	copy(after[:], b[2:])
	return after, nil
}

// appendBinary appends the page with as many entries as fit room, in bytes.
func (p *clientPage) appendBinary(b []byte, room int) []byte {
	start, count, more := len(b), 0, p.more
	b = append(b, pageVersion, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, p.total)
	for i := range p.clients {
		c := &p.clients[i]
		if len(b)-start+pageEntrySize+len(c.Name) > room {
			more = true
			break
		}
		b = appendEntry(b, c)
		count++
	}
	if more {
		b[start+1] |= pageMore
	}
	if p.quorum {
		b[start+1] |= pageQuorum
	}
	binary.LittleEndian.PutUint16(b[start+2:], uint16(count))
	return b
}

func appendEntry(b []byte, c *health.ClientInfo) []byte {
	b = append(b, c.Client[:]...)
	b = binary.LittleEndian.AppendUint64(b, c.Incarnation)
	b = binary.LittleEndian.AppendUint32(b, c.Epoch)
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Peer.PID))
	b = appendNID(appendNID(b, c.Peer.NID), c.Master)
	state := byte(255)
	for i, s := range clientStates {
		if s == c.State {
			state = byte(i)
		}
	}
	return append(append(b, state, byte(len(c.Name))), c.Name...)
}

func appendNID(b []byte, id nid.NID) []byte {
	if !id.IsValid() {
		return append(b, make([]byte, nid.ExtendedSize)...)
	}
	return id.AppendExtended(b)
}

func parseNIDOrNone(b []byte) (id nid.NID, err error) {
	if [nid.ExtendedSize]byte(b) == ([nid.ExtendedSize]byte{}) {
		return id, nil
	}
	id, _, err = nid.ParseExtended(b)
	return id, err
}

// parsePage parses a page of the clients after the given one. It refuses entries that are not
// in order. So the requests for pages come to an end, whatever another server sends.
func parsePage(b []byte, after health.ClientID) (p clientPage, err error) {
	if len(b) < pageHeadSize || b[0] != pageVersion {
		return p, errPage
	}
	p.more, p.quorum, p.total = b[1]&pageMore != 0, b[1]&pageQuorum != 0, binary.LittleEndian.Uint32(b[4:])
	count := int(binary.LittleEndian.Uint16(b[2:]))
	if b = b[pageHeadSize:]; p.more && count == 0 {
		return p, errPage
	}
	for range count {
		var c health.ClientInfo
		if c, b, err = parseEntry(b); err != nil || c.Client.Compare(after) <= 0 {
			return p, errPage
		}
		after = c.Client
		p.clients = append(p.clients, c)
	}
	if len(b) > 0 {
		return p, errPage
	}
	return p, nil
}

func parseEntry(b []byte) (c health.ClientInfo, rest []byte, err error) {
	if len(b) < pageEntrySize || len(b) < pageEntrySize+int(b[73]) {
		return c, b, errPage
	}
	le := binary.LittleEndian
	c.Client, c.Incarnation, c.Epoch = health.ClientID(b), le.Uint64(b[16:]), le.Uint32(b[24:])
	c.Peer.PID = nid.PID(le.Uint32(b[28:]))
	if c.Peer.NID, err = parseNIDOrNone(b[32:52]); err != nil {
		return c, b, err
	}
	if c.Master, err = parseNIDOrNone(b[52:72]); err != nil {
		return c, b, err
	}
	if c.State = "unknown"; int(b[72]) < len(clientStates) {
		c.State = clientStates[b[72]]
	}
	end := pageEntrySize + int(b[73])
	c.Name = printable(b[pageEntrySize:end])
	return c, b[end:], nil
}

// printable returns a name from a page if all of its characters can be printed, otherwise "?". Servers accept only
// printable names from clients, so another name is an error of the server that sent the page.
func printable(b []byte) string {
	for _, r := range string(b) {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return "?"
		}
	}
	return string(b)
}
