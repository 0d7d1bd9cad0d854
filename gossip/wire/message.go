package wire

import (
	"fmt"

	"ulnet/portals/keyring"
)

// Message is a message as an observer parses it, without the list of participants.
type Message struct {
	Reply bool // the message is a reply; otherwise a ping
	Header
	// Entries are the ages that the message carries. A ping has the ages of all participants, a
	// reply only those that are newer than the ages in the ping.
	Entries []Entry
}

// Entry is the age of a participant, by its index in the list.
type Entry struct {
	Index int   // index of the participant in the list, from 0
	Age   uint8 // age of the participant in cycles; 255: never heard of
}

// String returns the age, or a word for it.
func (e Entry) String() string {
	if e.Age == Unheard {
		return "-"
	}
	return fmt.Sprint(e.Age)
}

// ErrBits says that a message to [Portal] has unknown match bits.
var ErrBits = fmt.Errorf("gossip: match bits are neither %#x (ping) nor %#x (reply)", uint64(PingBits), uint64(ReplyBits))

// ParseMessage parses the PUT with some match bits to [Portal]. If the error is in the body,
// the header of m is valid nevertheless.
func ParseMessage(bits uint64, data []byte) (m Message, err error) {
	switch bits {
	case PingBits:
	case ReplyBits:
		m.Reply = true
	default:
		return m, ErrBits
	}
	var body []byte
	if Signed(data) && len(data) >= HeaderSize+keyring.CodeSize {
		data = data[:len(data)-keyring.CodeSize] // cut off the authentication code: an observer has no key to verify it
	}
	if m.Header, body, err = ParseHeader(data); err != nil {
		return m, err
	}
	if m.Reply {
		e, err := ParseEntries(m.Flags, body, int(m.N))
		if err == nil {
			e.Each(func(i int, age byte) { m.Entries = append(m.Entries, Entry{i, age}) })
		}
		return m, err
	}
	if m.Flags&(FlagBitmap|FlagPairs) != 0 || uint64(len(body)) != uint64(m.N) {
		return m, ErrBody
	}
	for i, age := range body {
		m.Entries = append(m.Entries, Entry{i, age})
	}
	return m, nil
}
