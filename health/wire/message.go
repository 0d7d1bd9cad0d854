package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// The portals of client health have the numbers after those of gossip and collectives.
const (
	ServerPortal = 57
	ClientPortal = 58
)

// Bits are the match bits of all messages.
const Bits = 0x68656174_68000001

// Version of the protocol.
const Version = 1

// Kind tells messages apart.
type Kind uint8

// The kinds of messages, and which fields of [Message] they use besides Client,
// Incarnation and Sequence.
const (
	Connect Kind = 1 + iota // client to server; has Epoch, Server (the client's master), Name, Token and Proof; Retry is the client's T_ping, and ServerIncarnation its T_client + T_elect in ms
	Accept                  // answer to Connect; has Epoch, Server (the previous master, or none), ServerIncarnation, Token, Code (OK or Orphaned), and Retry (the server's T_evict)
	// Reject is an answer that refuses. It has Code, Retry and ServerIncarnation. Server, Epoch and
	// Incarnation are those of the question, but a Code may give them another meaning: with
	// OtherTimes, Epoch is T_evict in ms; with Stale, Server is the NID of the later incarnation;
	// with OldEpoch it is the master on record, with Foreign the NID of the connected client; with
	// Stale or Global, Incarnation is the one that the server knows.
	Reject
	Ping            // client to master; has Epoch
	Pong            // answer to Ping; has Code, Server (the master), Epoch, ServerIncarnation
	Choose          // client to server; has Epoch, Server (the client's new master) and Token; Retry and ServerIncarnation are as in Connect
	Chosen          // answer to Choose; has Code, Server, Epoch (T_evict in ms if Code is OtherTimes), ServerIncarnation, Token, and, if Code is OK, Retry (T_evict)
	Disconnect      // client to server; has Code: OK if the client leaves all servers, NotConnected if it leaves this one; the answer to OK is a Reject with Code NotConnected
	Notice          // server to client; has Code, Server (the master; if Code is Draining the server to choose, or the master; if Code is Stale as in Reject, or none), Epoch and ServerIncarnation
	Digest          // server to master; has Entries (clients for which the sender has recorded the receiver as master), ServerIncarnation, Epoch (number of clients whose master the sender is), and Code (OK: the sender takes more clients)
	DigestReply     // answer to Digest; has Entries: the clients of the Digest that the master does not have, and those that it has and that the Digest asked it to confirm; the other fields are as in Digest
	Ask             // server to client; has Epoch, and asks whether the client is there, because its node sends messages; with Code Stale: a later incarnation on node Server connects
	Here            // answer to Ask; has Code (OK or NotConnected), Epoch
	Tombstones      // server to server; asks which clients the receiver has evicted recently; Retry is how far back it looks
	TombstonesReply // answer to Tombstones, perhaps one of several; has Entries and Epoch (the number of this answer in the upper 16 bits, how many there are in the lower)
	kinds
)

var kindNames = [kinds]string{
	"?0?", "connect", "accept", "reject", "ping", "pong", "choose", "chosen", "disconnect", "notice", "digest", "digest-reply",
	"ask", "here", "tombstones", "tombstones-reply",
}

// String returns the name of the kind.
func (k Kind) String() string { return name(kindNames[:], uint64(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Sizes in bytes, except MaxEntries.
const (
	HeaderSize = 84
	MaxName    = 255
	TokenSize  = 32
	MaxEntries = 1024 // bound of the number of entries in a message
	MaxMessage = HeaderSize + MaxName + TokenSize + MaxEntries*EntrySize
)

const magic = "HLTH"

// Why a message cannot be parsed.
var (
	ErrShort   = errors.New("health: message shorter than its header says")
	ErrMagic   = errors.New("health: no message of client health")
	ErrVersion = errors.New("health: another protocol version")
	ErrKind    = errors.New("health: unknown kind of message")
	ErrClient  = errors.New("health: no client is named")
	ErrName    = errors.New("health: a client's name is longer than 255 bytes, or not printable")
	ErrBody    = errors.New("health: body does not fit its header")
	ErrServer  = errors.New("health: the NID of a server is malformed or missing")
	ErrCode    = errors.New("health: unknown code")
)

// Message is a message between clients and servers, little-endian:
//
//	 0  4  magic        "HLTH"
//	 4  1  version
//	 5  1  kind
//	 6  2  code
//	 8 16  client
//	24  8  incarnation  of the client
//	32  8  incarnation  of the server; in a client's message a time in ms
//	40  8  sequence     of the question, repeated in its answer
//	48  4  epoch        number of the choice of a master
//	52  4  retry        time in ms after which to try again, or another time in ms
//	56 20  server       NID in the extended form, or zeros
//	76  2  name         its length
//	78  2  token        its length: 0 or 32; bit 15: an authentication code ends the message
//	80  4  entries      their number
//	84     name, token, entries
//	       code         authentication code of a signed Connect, 12 bytes, see package keyring
type Message struct {
	Kind              Kind          // which of the other fields are used
	Code              Code          // an answer, a state or a reason, depending on Kind
	Client            ClientID      // id of the client; zero in messages between servers
	Incarnation       uint64        // incarnation of the client
	ServerIncarnation uint64        // incarnation of the sending server; messages of clients use it for a time, see Connect
	Sequence          uint64        // number of a question; the answer repeats it
	Epoch             uint32        // number of the client's choice of a master, or what Kind says
	Retry             time.Duration // time until the client asks again, or another time, depending on Kind; whole milliseconds, up to 49 days
	Server            nid.NID       // a server, depending on Kind; zero: none
	Name              []byte        // name of the client, printable, up to MaxName bytes
	Token             []byte        // signature of a claim: empty, or TokenSize bytes
	Entries           Entries       // entries of a message between servers, at most MaxEntries
	Proof             []byte        // authentication code of a signed Connect: empty or keyring.CodeSize bytes
}

// AppendTo appends the message.
func (m *Message) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, magic...)
	b = append(b, Version, byte(m.Kind))
	b = le.AppendUint16(b, uint16(m.Code))
	b = append(b, m.Client[:]...)
	b = le.AppendUint64(b, m.Incarnation)
	b = le.AppendUint64(b, m.ServerIncarnation)
	b = le.AppendUint64(b, m.Sequence)
	b = le.AppendUint32(b, m.Epoch)
	b = le.AppendUint32(b, uint32(min(max(m.Retry, 0)/time.Millisecond, 1<<32-1)))
	b = appendServer(b, m.Server)
	b = le.AppendUint16(b, uint16(len(m.Name)))
	token := uint16(len(m.Token))
	if len(m.Proof) > 0 {
		token |= proofFlag
	}
	b = le.AppendUint16(b, token)
	b = le.AppendUint32(b, uint32(m.Entries.Len()))
	b = append(b, m.Name...)
	b = append(b, m.Token...)
	b = append(b, m.Entries...)
	return append(b, m.Proof...)
}

// appendServer appends a NID, or zeros if there is none.
func appendServer(b []byte, id nid.NID) []byte {
	if !id.IsValid() {
		return append(b, make([]byte, nid.ExtendedSize)...)
	}
	return id.AppendExtended(b)
}

// parseServer parses the NID of a server, or zeros for no server.
func parseServer(b []byte) (nid.NID, error) {
	id, _, err := nid.ParseExtended(b)
	if err != nil || id.IsAny() || !id.IsValid() && id != (nid.NID{}) {
		return nid.NID{}, ErrServer
	}
	return id, nil
}

// ParseMessage parses a message. Name, Token, Entries and Proof are parts of b. If the error is
// in the bytes after the kind, m.Kind is set.
func ParseMessage(b []byte) (m Message, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < HeaderSize:
		return m, ErrShort
	case string(b[:4]) != magic:
		return m, ErrMagic
	case b[4] != Version:
		return m, fmt.Errorf("%w: %d", ErrVersion, b[4])
	}
	m.Kind = Kind(b[5])
	m.Code = Code(le.Uint16(b[6:]))
	m.Client = ClientID(b[8:])
	m.Incarnation = le.Uint64(b[24:])
	m.ServerIncarnation = le.Uint64(b[32:])
	m.Sequence = le.Uint64(b[40:])
	m.Epoch = le.Uint32(b[48:])
	m.Retry = time.Duration(le.Uint32(b[52:])) * time.Millisecond
	if m.Server, err = parseServer(b[56:76]); err != nil {
		return m, err
	}
	name, token, entries := int(le.Uint16(b[76:])), int(le.Uint16(b[78:])), uint64(le.Uint32(b[80:]))
	body := b[HeaderSize:]
	if token&proofFlag != 0 && len(body) >= keyring.CodeSize {
		token &^= proofFlag
		body, m.Proof = body[:len(body)-keyring.CodeSize], body[len(body)-keyring.CodeSize:]
	}
	switch {
	case name > MaxName:
		return m, ErrName
	case token != 0 && token != TokenSize, entries > MaxEntries,
		uint64(name)+uint64(token)+entries*EntrySize != uint64(len(body)):
		return m, ErrBody
	}
	m.Name, m.Token, m.Entries = body[:name], body[name:name+token], Entries(body[name+token:])
	return m, m.validate()
}

// validate returns an error if fields of a message contradict each other.
func (m *Message) validate() error {
	digest := m.Kind.BetweenServers()
	switch {
	case m.Kind == 0 || m.Kind >= kinds:
		return fmt.Errorf("%w: %d", ErrKind, m.Kind)
	case m.Code >= Codes:
		return fmt.Errorf("%w: %d", ErrCode, m.Code)
	case m.Client.IsValid() == digest:
		return ErrClient
	case (m.Kind == Connect || m.Kind == Choose) && !m.Server.IsValid():
		return ErrServer
	case !digest && len(m.Entries) > 0, m.Kind != Connect && len(m.Name)+len(m.Proof) > 0:
		return ErrBody
	case !ValidName(m.Name):
		return ErrName
	}
	return nil
}

// BetweenServers reports whether messages of a kind go from server to server, and name no
// client.
func (k Kind) BetweenServers() bool {
	return k == Digest || k == DigestReply || k == Tombstones || k == TombstonesReply
}

// ValidName reports whether a name is a valid name of a client: printable, and not too long for
// a message.
func ValidName(name []byte) bool {
	if len(name) > MaxName {
		return false
	}
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			return false
		}
		name = name[size:]
	}
	return true
}

// proofFlag in the length of the token means that an authentication code ends the message.
const proofFlag = 1 << 15
