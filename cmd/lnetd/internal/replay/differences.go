package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// The errors of Differences.Check.
var (
	ErrDiffers     = errors.New("differs from the recording")
	ErrIncarnation = errors.New("incarnation is zero or changes")
)

// Where the fields stand in which two nodes differ. Messages follow a
// message header of socklnd.
const (
	helloIncarnation = 32
	messageBody      = ksock.MsgHeaderSize + wire.HeaderSize - wire.BodySize
	sinkLength       = messageBody + 32
	pingInfo         = ksock.MsgHeaderSize + wire.HeaderSize
	pingSequence     = pingInfo + 24
)

// Differences compares records of a node with recorded ones. Two nodes differ
// in what is their own:
//
//	HELLO  incarnation: not zero, the same in all HELLOs of the node
//	GET    handle of the MD that awaits the REPLY
//	PUT    handle of the MD that awaits the ACK; of a push: sequence number
//	REPLY  of a ping: sequence number
//
// Everything else must be equal. The zero value is ready for one node's life.
type Differences struct {
	// AnySink leaves out the length that a GET asks for: the recording is of
	// another command than the one that makes the node send.
	AnySink bool

	incarnation uint64
	handles     map[handle]handle // recorded → the node's
}

type handle [wire.MDHandleSize]byte

// Check compares a record of the node with the recorded one.
func (d *Differences) Check(want, got []byte) error {
	want = bytes.Clone(want)
	if len(want) == len(got) {
		if err := d.adapt(want, got); err != nil {
			return err
		}
	}
	if bytes.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("%w (-want +got):\n%s", ErrDiffers, cmp.Diff(dump(want), dump(got)))
}

// dump returns the lines of a hex dump.
func dump(b []byte) []string { return strings.Split(hex.Dump(b), "\n") }

// adapt changes the recorded bytes to what they would be from the node.
func (d *Differences) adapt(want, got []byte) error {
	switch {
	case isHello(want):
		return d.adaptHello(want, got)
	case isMessage(want, wire.Get):
		d.adaptHandle(want, got)
		if d.AnySink {
			copy(want[sinkLength:], got[sinkLength:][:4])
		}
	case isMessage(want, wire.Put):
		d.adaptHandle(want, got)
		adaptSequence(want, got)
	case isMessage(want, wire.Reply):
		adaptSequence(want, got)
	}
	return nil
}

// adaptHandle adapts the handle of the MD that awaits an answer.
func (d *Differences) adaptHandle(want, got []byte) {
	d.note(handle(want[messageBody:]), handle(got[messageBody:]))
	copy(want[messageBody:], got[messageBody:][:wire.MDHandleSize])
}

// adaptSequence adapts the sequence number of a ping info.
func adaptSequence(want, got []byte) {
	if len(want) >= pingInfo+wire.PingInfoSize(1) && binary.LittleEndian.Uint32(want[pingInfo:]) == wire.PingMagic {
		copy(want[pingSequence:], got[pingSequence:][:4])
	}
}

func (d *Differences) adaptHello(want, got []byte) error {
	if !isHello(got) {
		return nil // the comparison shows it
	}
	own := binary.LittleEndian.Uint64(got[helloIncarnation:])
	if own == 0 || d.incarnation != 0 && d.incarnation != own {
		return fmt.Errorf("%w: %#x, before that %#x", ErrIncarnation, own, d.incarnation)
	}
	d.incarnation = own
	copy(want[helloIncarnation:], got[helloIncarnation:][:8])
	return nil
}

func (d *Differences) note(recorded, node handle) {
	if d.handles == nil {
		d.handles = make(map[handle]handle)
	}
	d.handles[recorded] = node
}

// Substitute returns the recorded bytes that are to be sent to the node: with
// its own handle in an answer to its GET or PUT.
func (d *Differences) Substitute(recorded []byte) []byte {
	b := bytes.Clone(recorded)
	for message := range messages(b) {
		if !isMessage(message, wire.Reply) && !isMessage(message, wire.Ack) {
			continue
		}
		if own, known := d.handles[handle(message[messageBody:])]; known {
			copy(message[messageBody:], own[:])
		}
	}
	return b
}

// messages returns the LNet messages of a record, which may hold several; a
// record of another kind has none.
func messages(record []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(record) >= pingInfo {
			k, rest, err := ksock.ParseMsgHeader(record, false)
			if err != nil || k.Type != ksock.LNet {
				return
			}
			h, _, err := wire.ParseHeader(rest)
			size := uint64(pingInfo) + uint64(h.PayloadLength)
			if err != nil || size > uint64(len(record)) || !yield(record[:size]) {
				return
			}
			record = record[size:]
		}
	}
}

// isHello reports whether a record is a HELLO v2 or v3 without addresses.
func isHello(b []byte) bool {
	return len(b) == ksock.HelloSize && binary.LittleEndian.Uint32(b) == ksock.Magic
}

// isMessage reports whether a record is an LNet message of a type.
func isMessage(b []byte, t wire.MsgType) bool {
	h, rest, err := ksock.ParseMsgHeader(b, false)
	if err != nil || h.Type != ksock.LNet {
		return false
	}
	lnet, _, err := wire.ParseHeader(rest)
	return err == nil && lnet.Type == t
}

// IsRefusal reports whether a record is a HELLO that refuses the connection.
func IsRefusal(b []byte) bool {
	h, _, err := ksock.ParseHello(b)
	return err == nil && h.ConnType == ksock.None
}
