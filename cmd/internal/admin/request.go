package admin

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ulnet/scoll"
)

// ServiceID is the number of the service.
const ServiceID scoll.ServiceID = 1

// Version is the version of the formats.
const Version = 1

// Verb is the kind of a request.
type Verb uint8

// The verbs.
const (
	Ping Verb = 1 + iota
	VersionOf
	ConfigOf
	Clock
	Text
	Run
	Clients
	Tracing
)

var verbs = [...]string{Ping: "ping", VersionOf: "version", ConfigOf: "config", Clock: "clock", Text: "text", Run: "run", Clients: "clients", Tracing: "trace"}

// String returns the verb's name.
func (v Verb) String() string {
	if v.isKnown() {
		return verbs[v]
	}
	return fmt.Sprintf("verb %d", uint8(v))
}

func (v Verb) isKnown() bool { return Ping <= v && v <= Tracing }

// isTimed reports whether the answers begin with a reading of the member's clock.
func (q *Request) isTimed() bool {
	return q.Version == Version && (q.Verb == Clock || q.Verb == Tracing)
}

// ParseVerb is the inverse of String, for the verbs that commands can use: all except Clients and
// Tracing, whose answers only lnetd reads.
func ParseVerb(s string) (Verb, error) {
	for v := Ping; v <= Run; v++ {
		if verbs[v] == s {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%q is not one of ping, version, config, clock, text and run", s)
}

// ID identifies a broadcast; all its attempts have the same ID.
type ID [16]byte

// Request is the payload of a request.
type Request struct {
	Version uint16 // version of the format
	Verb    Verb   // what the request asks or orders
	Carried bool   // the bulk data was sent by multicast before the request
	ID      ID     // id of the broadcast
	Answer  uint32 // largest size of a member's answer, in bytes
	Limit   uint32 // time limit of an action in ms
	Name    string // with the verb Run: name of the action
	Text    []byte // with the verb Text: the text to digest; with Run: standard input of the action; with Clients: which page of clients is asked for
}

const (
	headSize    = 24 // size of the part that is the same in all versions
	requestSize = 29 // size of a request without name and text
	maxName     = 255
	flagCarried = 1 // versions that do not know this flag fetch the data all the same
	// MaxAnswer bounds an answer in bytes.
	MaxAnswer = answerSize + runSize + 64<<10
)

// Errors of parsing a request. After ErrShort and ErrAnswer the member refuses the request.
// After the other errors it forwards the request, and answers with a status.
var (
	ErrShort   = errors.New("admin: request shorter than its header")
	ErrAnswer  = errors.New("admin: impossible length of answers")
	ErrVersion = errors.New("admin: another version")
	ErrVerb    = errors.New("admin: unknown verb")
	ErrName    = errors.New("admin: name longer than the request")
)

// AppendTo appends the request. The name has at most 255 bytes.
func (q *Request) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, q.Version)
	flags := byte(0)
	if q.Carried {
		flags = flagCarried
	}
	b = append(b, byte(q.Verb), flags)
	b = append(b, q.ID[:]...)
	b = binary.LittleEndian.AppendUint32(b, q.Answer)
	b = binary.LittleEndian.AppendUint32(b, q.Limit)
	b = append(b, byte(len(q.Name)))
	b = append(b, q.Name...)
	return append(b, q.Text...)
}

// ParseRequest parses a request; Text is part of b. With ErrVersion, ErrVerb and ErrName the
// fields that all versions share are valid.
func ParseRequest(b []byte) (q Request, err error) {
	if len(b) < headSize {
		return q, ErrShort
	}
	le := binary.LittleEndian
	q.Version, q.Verb, q.Carried = le.Uint16(b), Verb(b[2]), b[3]&flagCarried != 0
	copy(q.ID[:], b[4:])
	q.Answer = le.Uint32(b[20:])
	switch {
	case q.Answer < answerSize || q.Answer > MaxAnswer:
		return q, ErrAnswer
	case q.Version != Version:
		return q, ErrVersion
	case !q.Verb.isKnown():
		return q, ErrVerb
	case len(b) < requestSize:
		return q, ErrShort
	}
	q.Limit = le.Uint32(b[24:])
	name := int(b[28])
	if b = b[requestSize:]; name > len(b) {
		return q, ErrName
	}
	q.Name, q.Text = string(b[:name]), b[name:]
	return q, nil
}
