package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/wire"
)

// The errors of Differences.Check.
var (
	ErrDiffers     = errors.New("differs from the recording")
	ErrIncarnation = errors.New("incarnation is zero or changes")
	ErrSequence    = errors.New("sequence number of ping info goes back or changes")
	ErrChecksum    = errors.New("checksum is good where it is bad in the recording, or the reverse")
)

// allowed are all permitted differences between the bytes of a node and those of the recorded
// one. Each function changes the recorded record into the one that this node must send, and
// checks that the difference is permitted here. Nothing else may differ, except the order of a
// few records; see ordering_test.go.
var allowed = []struct {
	what, reason string
	adapt        func(d *Differences, want, node *capture.Record) error
}{
	{ // must be the first, because it needs the bytes as they were recorded
		"checksum of v2", "covers the fields below; it is good or bad as in the recording",
		(*Differences).adaptChecksum,
	},
	{
		"incarnation in HELLOs", "distinguishes the incarnations of a node: that of this node is not zero and does not change",
		(*Differences).adaptIncarnation,
	},
	{
		"handle of the MD that awaits an ACK or REPLY", "a number that means something to its node alone",
		(*Differences).adaptHandle,
	},
	{
		"sequence number in ping infos", "counts the changes of a node's interfaces, of which this one has had others; it never goes back",
		(*Differences).adaptSequence,
	},
	{
		"zero-copy cookie that asks for a NOOP", "kernels ask to be told when pages are free again; a node that copies has no use for that. The recorded NOOP is not played",
		(*Differences).adaptZeroCopy,
	},
	{
		"message of lnet_selftest", "numbers of RPCs, times, absolute counters and data that nobody checks; package recording has the list with its reasons",
		(*Differences).adaptRPC,
	},
}

// Differences compares records of a node with recorded ones; allowed lists what may differ. A
// Differences is for one incarnation of a node; the zero value is ready for use.
type Differences struct {
	RPCs recording.Differences // what differs in messages of lnet_selftest

	bulk        map[wire.MDHandle]uint64 // match bits of the player's GETs of bulk data, by their handles
	unanswered  map[uint64]bool          // the node's requests to the player's framework, by the recorded match bits of their replies
	incarnation uint64
	recorded    uint64                          // incarnation of the recorded node
	handles     map[wire.MDHandle]wire.MDHandle // by recorded handle: the node's handle in its place
	sequences   map[uint32]uint32               // by recorded sequence number: the node's number in its place
	unrequested map[uint64]bool                 // recorded cookies of zero-copy ACKs that the node does not request
}

// Check compares a record of the node with the recorded one.
func (d *Differences) Check(want, node *capture.Record) error {
	adapted := want.Clone()
	if want.Kind == node.Kind && want.Header.Type == node.Header.Type {
		for _, a := range allowed {
			if err := a.adapt(d, adapted, node); err != nil {
				return fmt.Errorf("%s: %w", a.what, err)
			}
		}
	}
	b, err := adapted.AppendBinary(nil)
	if err == nil {
		err = compare(b, node.Raw)
	}
	if err == nil {
		d.noteRPC(want, node)
	}
	return err
}

// compare returns an error that shows the difference of two byte slices.
func compare(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("%w (-want +got):\n%s", ErrDiffers, cmp.Diff(dump(want), dump(got)))
}

// dump returns the lines of a hex dump of the first 512 bytes.
func dump(b []byte) []string {
	const most = 512
	lines := strings.Split(hex.Dump(b[:min(len(b), most)]), "\n")
	return append(lines, fmt.Sprintf("%d bytes", len(b)))
}

func (d *Differences) adaptIncarnation(want, node *capture.Record) error {
	if want.Kind != capture.Hello {
		return nil
	}
	own := node.Hello.SrcIncarnation
	if own == 0 || d.incarnation != 0 && d.incarnation != own {
		return fmt.Errorf("%w: %#x, before that %#x", ErrIncarnation, own, d.incarnation)
	}
	d.incarnation, d.recorded = own, want.Hello.SrcIncarnation
	want.Hello.SrcIncarnation = own
	return nil
}

func (d *Differences) adaptHandle(want, node *capture.Record) error {
	if want.Kind != capture.Message {
		return nil
	}
	switch want.Header.Type {
	case wire.Put:
		recorded, own := want.Header.Put(), node.Header.Put()
		if !recorded.AckMD.IsNone() && !own.AckMD.IsNone() {
			d.note(recorded.AckMD, own.AckMD)
			recorded.AckMD = own.AckMD
			want.Header.SetPut(recorded)
		}
	case wire.Get:
		recorded, own := want.Header.Get(), node.Header.Get()
		d.note(recorded.ReturnMD, own.ReturnMD)
		recorded.ReturnMD = own.ReturnMD
		want.Header.SetGet(recorded)
	}
	return nil
}

func (d *Differences) note(recorded, node wire.MDHandle) {
	if d.handles == nil {
		d.handles = make(map[wire.MDHandle]wire.MDHandle)
	}
	d.handles[recorded] = node
}

// sequenceOffset is the offset of the sequence number in a ping info (pi_ni[0].ns_status).
const sequenceOffset = 24

func (d *Differences) adaptSequence(want, node *capture.Record) error {
	recorded, is := want.PingInfo()
	own, too := node.PingInfo()
	if !is || !too {
		return nil
	}
	for r, n := range d.sequences {
		if (r < recorded.Sequence) != (n < own.Sequence) || r == recorded.Sequence && n != own.Sequence {
			return fmt.Errorf("%w: %d for %d after %d for %d", ErrSequence, own.Sequence, recorded.Sequence, n, r)
		}
	}
	if d.sequences == nil {
		d.sequences = make(map[uint32]uint32)
	}
	d.sequences[recorded.Sequence] = own.Sequence
	binary.LittleEndian.PutUint32(want.Payload[sequenceOffset:], own.Sequence)
	return nil
}

func (d *Differences) adaptZeroCopy(want, node *capture.Record) error {
	cookie := want.Ksock.Request()
	if want.Kind != capture.Message || cookie == 0 || node.Ksock.Request() != 0 {
		return nil
	}
	if d.unrequested == nil {
		d.unrequested = make(map[uint64]bool)
	}
	d.unrequested[cookie] = true
	want.Ksock.Cookies = [2]uint64{}
	return nil
}

func (d *Differences) adaptChecksum(want, node *capture.Record) error {
	if want.Ksock.Checksum == 0 || node.Ksock.Checksum == 0 {
		return nil
	}
	if hasGoodChecksum(want) != hasGoodChecksum(node) {
		return ErrChecksum
	}
	want.Ksock.Checksum = node.Ksock.Checksum
	return nil
}

func hasGoodChecksum(r *capture.Record) bool {
	k, rest, err := ksock.ParseMsgHeader(r.Raw, false)
	return err == nil && k.Checksum == ksock.Checksum(k, rest)
}

// Substitute returns the bytes to send to the node for a recorded record: answers to a PUT or
// GET of the node get the node's own handle. It returns nil for a NOOP whose cookies the node
// did not request.
func (d *Differences) Substitute(r *capture.Record) []byte {
	s := r.Clone()
	d.substituteRPC(s)
	switch {
	case r.Kind == capture.Noop && d.needless(r):
		return nil
	case r.Kind == capture.Hello && d.recorded != 0 && r.Hello.DstIncarnation == d.recorded:
		s.Hello.DstIncarnation = d.incarnation
	case r.Kind == capture.Message && r.Header.Type == wire.Ack:
		a := r.Header.Ack()
		a.DstMD = d.own(a.DstMD)
		s.Header.SetAck(a)
	case r.Kind == capture.Message && r.Header.Type == wire.Reply:
		s.Header.SetReply(wire.ReplyCmd{DstMD: d.own(r.Header.Reply().DstMD)})
	}
	b, err := s.AppendBinary(nil)
	if err != nil { // cannot happen: the record was encoded before
		return r.Raw
	}
	if s.Framed && s.Ksock.Checksum != 0 && hasGoodChecksum(r) {
		binary.LittleEndian.PutUint32(b[4:], ksock.Checksum(s.Ksock, b[ksock.MsgHeaderSize:]))
	}
	return b
}

// own returns the node's handle that stands in place of a recorded one.
func (d *Differences) own(recorded wire.MDHandle) wire.MDHandle {
	if own, known := d.handles[recorded]; known {
		return own
	}
	return recorded
}

// needless reports whether a NOOP acknowledges only cookies that the node has not requested.
func (d *Differences) needless(r *capture.Record) bool {
	acks, err := r.Ksock.Acks()
	if err != nil || acks.Len() == 0 {
		return false
	}
	for cookie := range acks.All() {
		if !d.unrequested[cookie] {
			return false
		}
	}
	return true
}

// IsRefusal reports whether a record is a HELLO that refuses the connection.
func IsRefusal(b []byte) bool {
	h, _, err := ksock.ParseHello(b)
	return err == nil && h.ConnType == ksock.None
}
