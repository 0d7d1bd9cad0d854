package replay

import (
	"errors"
	"fmt"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// Errors in communication ids and cookies.
var (
	errNumber = errors.New("number is zero or in use")
	errFirst  = errors.New("first number is not the one that was given")
)

// translation maps the numbers of a recorded node to those of the node under test.
type translation[T comparable] struct {
	own      map[T]T // recorded value → the node's value
	recorded map[T]T // the node's value → recorded value
}

func newTranslation[T comparable]() translation[T] { return translation[T]{map[T]T{}, map[T]T{}} }

// note notes that the node uses the number own in place of the number *recorded, and sets *recorded
// to own. It returns an error unless recorded numbers and the node's numbers correspond one to one,
// and the first number that the node uses is the recorded one itself.
func (t *translation[T]) note(recorded *T, own T) (differs bool, err error) {
	var zero T
	before, known := t.own[*recorded]
	if other, taken := t.recorded[own]; own == zero || known && before != own || taken && other != *recorded {
		return true, fmt.Errorf("%w: %v for %v", errNumber, own, *recorded)
	}
	if len(t.own) == 0 && *recorded != own {
		return true, fmt.Errorf("%w: %v, want %v", errFirst, own, *recorded)
	}
	t.own[*recorded], t.recorded[own] = own, *recorded
	differs = *recorded != own
	*recorded = own
	return differs, nil
}

// apply replaces a recorded number by the node's, if there is one.
func (t *translation[T]) apply(n *T) (changed bool) {
	own, known := t.own[*n]
	if !known || own == *n {
		return false
	}
	*n = own
	return true
}

func adaptTransaction(d *Differences, want, node *Packet) (bool, error) {
	if want.CM == nil {
		return false, nil
	}
	if !want.CM.begins() {
		if own, mine := d.transactions[want.CM.MAD.TransactionID]; mine { // an RTU has the transaction id of the node's own REQ
			want.CM.MAD.TransactionID = own
		}
		return false, nil
	}
	recorded, own := want.CM.MAD.TransactionID, node.CM.MAD.TransactionID
	used, again := d.requests[own]
	if own == 0 || again && used != recorded && want.CM.MAD.Attribute == ibta.AttrREQ {
		return true, fmt.Errorf("%w: %#x", errTransaction, own)
	}
	if want.CM.MAD.Attribute == ibta.AttrREQ {
		d.requests[own] = recorded
	}
	d.transactions[recorded] = own
	want.CM.MAD.TransactionID = own
	return recorded != own, nil
}

func adaptGUID(d *Differences, want, node *Packet) (bool, error) {
	var recorded, own *ibta.GUID
	switch {
	case want.CM == nil:
		return false, nil
	case want.CM.MAD.Attribute == ibta.AttrREQ:
		recorded, own = &want.CM.REQ.LocalGUID, &node.CM.REQ.LocalGUID
	case want.CM.MAD.Attribute == ibta.AttrREP:
		recorded, own = &want.CM.REP.LocalGUID, &node.CM.REP.LocalGUID
	default:
		return false, nil
	}
	if before, known := d.guids[*recorded]; *own == 0 || known && before != *own {
		return true, fmt.Errorf("%w: %#x, before that %#x", errGUID, *own, before)
	}
	d.guids[*recorded] = *own
	differs := *recorded != *own
	*recorded = *own
	return differs, nil
}

// ids returns pointers to the communication IDs of the sender and of the receiver in a
// message; nil for one that the message does not have.
func (c *CM) ids() (local, remote *ibta.CommID) {
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		return &c.REQ.LocalID, nil
	case ibta.AttrREP:
		return &c.REP.LocalID, &c.REP.RemoteID
	case ibta.AttrREJ:
		return &c.REJ.LocalID, &c.REJ.RemoteID
	case ibta.AttrRTU:
		return &c.RTU.LocalID, &c.RTU.RemoteID
	case ibta.AttrDREQ:
		return &c.DREQ.LocalID, &c.DREQ.RemoteID
	}
	return &c.DREP.LocalID, &c.DREP.RemoteID
}

func adaptCommID(d *Differences, want, node *Packet) (bool, error) {
	if want.CM == nil {
		return false, nil
	}
	id, _ := want.CM.ids()
	if kind := want.CM.MAD.Attribute; kind == ibta.AttrREQ || kind == ibta.AttrREP {
		own, _ := node.CM.ids()
		return d.ids.note(id, *own)
	}
	d.ids.apply(id)
	return false, nil
}

func adaptCookie(d *Differences, want, node *Packet) (bool, error) {
	if want.Msg == nil {
		return false, nil
	}
	switch want.Msg.Type {
	case kib.PutReq, kib.GetReq:
		return d.cookies.note(&want.Msg.Cookie, node.Msg.Cookie)
	case kib.PutAck:
		return d.cookies.note(&want.Msg.DstCookie, node.Msg.DstCookie)
	}
	return false, nil
}

// Substitute returns the recorded packet as it is to be sent to the node: with the node's
// numbers in place of the recorded ones.
func (d *Differences) Substitute(q *Packet) Datagram {
	s, changed := q.Clone(), false
	if s.CM != nil {
		if own, known := d.transactions[s.CM.MAD.TransactionID]; known && !s.CM.begins() {
			changed = own != s.CM.MAD.TransactionID
			s.CM.MAD.TransactionID = own
		}
		if _, id := s.CM.ids(); id != nil {
			changed = d.ids.apply(id) || changed
		}
	}
	if s.Msg != nil {
		switch s.Msg.Type {
		case kib.PutAck, kib.PutNak, kib.PutDone, kib.GetDone:
			changed = d.cookies.apply(&s.Msg.Cookie)
		}
	}
	if d.Rewrite != nil && s.Msg != nil && d.Rewrite(&s) {
		changed = true
	}
	if changed {
		s.seal()
	}
	return s.Datagram
}
