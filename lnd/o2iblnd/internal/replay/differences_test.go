package replay

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// The errors of Differences.Check.
var (
	ErrDiffers     = errors.New("differs from the recording")
	ErrClass       = errors.New("traffic class is another one than in the recording")
	errGUID        = errors.New("GUID is zero or changes")
	errTransaction = errors.New("transaction id is zero or that of another exchange")
	ErrWrite       = errors.New("RDMA WRITE does not go where it goes in the recording")
	errCredits     = errors.New("credits are not given back as in the recording")
	ErrAskAck      = errors.New("last packet of a message asks for no acknowledgement")
)

// Difference is something that may differ between the bytes of a node and those
// of the recorded one.
type Difference struct {
	What, Reason string
	// Adapt changes the recorded packet into the one that this node must send. It reports
	// whether the two differ, and checks that the difference itself is permitted.
	Adapt func(d *Differences, want, node *Packet) (differs bool, err error)
}

// allowed are the differences that every node may have. Nothing else in a packet may differ,
// except what Also lists. Outside of the packets two fields may differ: the UDP source port,
// which only spreads packets over routes, and IPv4's identification.
var allowed = []Difference{
	{
		"migration bit", "means nothing without an alternate path; rxe sends 0, we send 1 (rocev2 §2)",
		adaptMigrated,
	},
	{
		"PSN and AckReq of QP 1", "datagrams are not put in order, nor acknowledged; rxe counts and asks all the same",
		adaptGSI,
	},
	{
		"transaction id of a REQ or DREQ", "a number that means something to its sender alone; answers repeat it",
		adaptTransaction,
	},
	{
		"comm id of a later connection", "devices count on from the first one, which is given; kernels count otherwise",
		adaptCommID,
	},
	{
		"cookie of a later transfer", "connections count on from the first one, which is given; a kernel's counts all its messages",
		adaptCookie,
	},
	{
		"GUID", "the number of an incarnation's adapter: not zero, and the same as long as the recorded one is",
		adaptGUID,
	},
	{
		"AckReq inside a message", "how often to ask is the sender's choice; the last packet of a message must",
		adaptAskAck,
	},
	{
		"opcode and RETH inside a transfer", "its WRITEs are posted in turns so that a priority message passes; PSN, place and bytes of each packet are the same",
		adaptTurns,
	},
	{
		"credit of a GET_REQ", "a kernel posts WRITEs and GET_DONE at once, before the credit is owed, and gives it back with the next message; after turns it is owed, and goes with GET_DONE",
		adaptCredits,
	},
}

// longestTurn is the most bytes that a WRITE of the node may move if the recorded kernel moved them
// in a longer WRITE: the node splits its transfers into turns.
const longestTurn = 512 << 10

// Differences compares packets of a node with recorded ones.
type Differences struct {
	// Also are differences that this recording permits besides those in allowed.
	Also []Difference
	// Rewrite changes a message of the host, if it is set, before that is sent to the node, and
	// reports whether it did.
	Rewrite func(*Packet) bool
	// LateCredits permits the node to answer from inside the upcall that brings a request, before the
	// request's buffer is free: then the credit for that buffer goes with the next message.
	LateCredits bool
	// Seen counts the packets in which something differed, by What.
	Seen map[string]int

	guids        map[ibta.GUID]ibta.GUID // recorded GUIDs → GUIDs of the node
	transactions map[uint64]uint64
	requests     map[uint64]uint64 // transaction ids of the node's REQs → recorded ones
	ids          translation[ibta.CommID]
	cookies      translation[uint64]
	lead         map[ibta.QPN]int // how many more credits the node has given back so far than the recorded node
	sameTarget   bool             // the WRITE packet that is being checked goes to the same place as the recorded one
}

func (d *Differences) init() {
	d.Seen, d.guids, d.lead = map[string]int{}, map[ibta.GUID]ibta.GUID{}, map[ibta.QPN]int{}
	d.transactions, d.requests = map[uint64]uint64{}, map[uint64]uint64{}
	d.ids, d.cookies = newTranslation[ibta.CommID](), newTranslation[uint64]()
}

// Check compares a packet of the node with the recorded one.
func (d *Differences) Check(recorded, node *Packet) error {
	if recorded.Class != node.Class {
		return fmt.Errorf("%v: %w: %#x, want %#x", recorded, ErrClass, node.Class, recorded.Class)
	}
	want := recorded.Clone()
	if sameKind(&want, node) {
		for _, list := range [][]Difference{allowed, d.Also} {
			for i := range list {
				differs, err := list[i].Adapt(d, &want, node)
				if err != nil {
					return fmt.Errorf("%v: %s: %w", recorded, list[i].What, err)
				}
				if differs {
					d.Seen[list[i].What]++
				}
			}
		}
	}
	return compare(recorded, want.Encode(), node.Bytes[:len(node.Bytes)-ibta.ICRCSize])
}

// sameKind reports whether two packets are of the same kind, so that it makes sense to
// compare their parts.
func sameKind(a, b *Packet) bool {
	switch {
	case a.CM != nil && b.CM != nil:
		return a.CM.MAD.Attribute == b.CM.MAD.Attribute
	case a.Msg != nil && b.Msg != nil:
		return a.Msg.Type == b.Msg.Type
	}
	return a.CM == nil && b.CM == nil && a.Msg == nil && b.Msg == nil && a.OpCode.IsWrite() == b.OpCode.IsWrite()
}

// compare returns an error that shows how bytes differ.
func compare(p *Packet, want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("%v: %w (-want +got):\n%s", p, ErrDiffers, cmp.Diff(dump(want), dump(got)))
}

// dump returns the lines of a hex dump of the first bytes of b, and the length of b.
func dump(b []byte) []string {
	const most = 400
	lines := strings.Split(hex.Dump(b[:min(len(b), most)]), "\n")
	return append(lines, fmt.Sprintf("%d bytes", len(b)))
}

func adaptMigrated(_ *Differences, want, node *Packet) (bool, error) {
	differs := want.Migrated != node.Migrated
	want.Migrated = node.Migrated
	return differs, nil
}

func adaptGSI(_ *Differences, want, node *Packet) (bool, error) {
	if want.CM == nil {
		return false, nil
	}
	differs := want.PSN != node.PSN || want.AckReq != node.AckReq
	want.PSN, want.AckReq = node.PSN, node.AckReq
	return differs, nil
}

func adaptAskAck(_ *Differences, want, node *Packet) (bool, error) {
	if want.CM != nil || want.IsAck() {
		return false, nil
	}
	if node.OpCode.IsLast() && !node.AckReq {
		return true, ErrAskAck
	}
	differs := want.AckReq != node.AckReq
	want.AckReq = node.AckReq
	return differs, nil
}

func adaptTurns(d *Differences, want, node *Packet) (bool, error) {
	if !want.OpCode.IsWrite() || !d.sameTarget {
		return false, nil
	}
	differs := want.OpCode != node.OpCode || want.RETH != node.RETH
	want.OpCode, want.RETH = node.OpCode, node.RETH
	return differs, nil
}

// adaptCredits lets the node give credits back at other times: all of them in the end, and never
// one that it does not owe.
func adaptCredits(d *Differences, want, node *Packet) (bool, error) {
	if want.Msg == nil {
		return false, nil
	}
	lead := d.lead[want.DestQP] + int(node.Msg.Credits) - int(want.Msg.Credits)
	least, most := 0, 0
	if want.Msg.Type == kib.GetDone {
		most = 1
	}
	if d.LateCredits {
		least = -1
	}
	if lead < least || lead > most {
		return true, fmt.Errorf("%w: %d with this message, %d more than in the recording so far", errCredits, node.Msg.Credits, lead)
	}
	differs := want.Msg.Credits != node.Msg.Credits
	d.lead[want.DestQP], want.Msg.Credits = lead, node.Msg.Credits
	return differs, nil
}

// checkWrite checks where a WRITE packet goes, that its WRITE ends where its length says, and that a
// WRITE of the node begins and ends wherever a recorded one does. In between, the node may split it
// into turns of at most longestTurn bytes.
func (p *Player) checkWrite(f *flow, i int, q *Packet) error {
	p.sameTarget = false
	recorded := &p.Script.Packets[i]
	if !q.OpCode.IsWrite() || !recorded.OpCode.IsWrite() {
		return nil
	}
	at, fits := f.written.follow(&q.Packet)
	switch want := p.where[i]; {
	case at != want:
		return fmt.Errorf("%w: %#x of key %#x, want %#x of %#x", ErrWrite, at.address, at.key, want.address, want.key)
	case !fits:
		return fmt.Errorf("%w: it does not end where it says", ErrWrite)
	case recorded.OpCode.IsLast() && !q.OpCode.IsLast() || recorded.OpCode.IsFirst() && !q.OpCode.IsFirst():
		return fmt.Errorf("%w: transfers begin and end with other packets", ErrWrite)
	case q.OpCode.IsFirst() && q.RETH != recorded.RETH && q.RETH.Length > longestTurn:
		return fmt.Errorf("%w: a turn of %d bytes", ErrWrite, q.RETH.Length)
	}
	p.sameTarget = true
	return nil
}
