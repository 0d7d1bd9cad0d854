package admin

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"ulnet/scoll"
)

// Answer is the answer of a member.
type Answer struct {
	Version uint16        // version of the format
	Status  scoll.Status  // OK, or why there is no data
	Took    time.Duration // processing time of the member, in µs on the wire
	Data    []byte        // the content of the answer, which depends on the verb
}

const (
	answerSize = 12 // size of an answer without data
	clockSize  = 32
	runSize    = 8 // size of a result of an action without output
	maxVersion = 128
)

// ErrReply says that an answer is malformed.
var ErrReply = errors.New("admin: malformed answer")

// AppendTo appends the answer.
func (a *Answer) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, a.Version)
	b = binary.LittleEndian.AppendUint16(b, uint16(a.Status))
	b = binary.LittleEndian.AppendUint64(b, uint64(a.Took.Microseconds()))
	return append(b, a.Data...)
}

// maxTook is longer than any answer can take; larger values are replaced by it.
const maxTook = 24 * time.Hour

// ParseAnswer parses an answer, or returns ErrReply. Data is part of b.
func ParseAnswer(b []byte) (a Answer, err error) {
	if len(b) < answerSize {
		return a, ErrReply
	}
	le := binary.LittleEndian
	a.Version, a.Status = le.Uint16(b), scoll.Status(le.Uint16(b[2:]))
	a.Took = time.Duration(min(le.Uint64(b[4:]), uint64(maxTook/time.Microsecond))) * time.Microsecond
	a.Data = b[answerSize:]
	return a, nil
}

// longest returns the size of the longest answer to a verb, with the given number of bytes of
// output.
func longest(v Verb, output int) uint32 {
	switch v {
	case VersionOf:
		return answerSize + maxVersion
	case ConfigOf, Text:
		return answerSize + 32
	case Clock:
		return answerSize + clockSize
	case Tracing:
		return answerSize + traceSize
	case Run:
		return uint32(answerSize + runSize + output)
	case Clients:
		return uint32(answerSize + max(output, scoll.VersionsSize))
	}
	return answerSize + scoll.VersionsSize
}

// Reading is a reading of a member's clock.
type Reading struct {
	Received int64         // when the request arrived, by the member's clock, in ns since 1970
	Sent     int64         // when the answer was sent, by the member's clock, in ns since 1970
	Offset   time.Duration // the member's clock minus this node's clock
	Bound    time.Duration // largest error of Offset
}

// AppendTo appends the reading.
func (c Reading) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(c.Received))
	b = le.AppendUint64(b, uint64(c.Sent))
	b = le.AppendUint64(b, uint64(c.Offset))
	return le.AppendUint64(b, uint64(c.Bound))
}

// ParseReading parses a reading, or returns ErrReply.
func ParseReading(b []byte) (c Reading, err error) {
	if len(b) != clockSize {
		return c, ErrReply
	}
	le := binary.LittleEndian
	return Reading{
		int64(le.Uint64(b)), int64(le.Uint64(b[8:])), time.Duration(le.Uint64(b[16:])), time.Duration(le.Uint64(b[24:])),
	}, nil
}

// through converts a reading c that is relative to a child's clock into one that is relative to
// this node's clock. The argument node is the child's own reading. t1 is when this node sent the
// request to the child, and t4 is when the child's answer arrived, both by this node's clock.
func (c Reading) through(node Reading, t1, t4 int64) Reading {
	c.Offset += time.Duration((node.Received - t1 + node.Sent - t4) / 2)
	bound := max(time.Duration((t4-t1-(node.Sent-node.Received)+1)/2), 0)
	if c.Bound += bound; c.Bound < bound {
		c.Bound = Unbounded // overflow: the bound was Unbounded already, or the reading is forged
	}
	return c
}

// Unbounded is the Bound of a reading whose offset is unknown.
const Unbounded = time.Duration(math.MaxInt64)

// Ran is the result of an action.
type Ran struct {
	Exit     int32  // exit code, or the negative number of the signal that ended the action
	TimeOver bool   // the action was killed because its timeout had passed
	Cut      bool   // the beginning of the output was dropped
	Output   []byte // the end of the action's standard output and error
}

// The flags of Ran.
const (
	flagTimeOver = 1 << iota
	flagCut
)

// AppendTo appends the result of an action.
func (r *Ran) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Exit))
	var flags byte
	if r.TimeOver {
		flags |= flagTimeOver
	}
	if r.Cut {
		flags |= flagCut
	}
	b = append(b, flags, 0, 0, 0)
	return append(b, r.Output...)
}

// ParseRan parses the result of an action, or returns ErrReply. Output is part of b.
func ParseRan(b []byte) (r Ran, err error) {
	if len(b) < runSize {
		return r, ErrReply
	}
	r.Exit = int32(binary.LittleEndian.Uint32(b))
	r.TimeOver, r.Cut = b[4]&flagTimeOver != 0, b[4]&flagCut != 0
	r.Output = b[runSize:]
	return r, nil
}
