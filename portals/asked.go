package portals

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// asked is a multiset of the processes whose ACKs and REPLYs an MD awaits. The zero value is
// empty. All of it is guarded by the mu of the MD.
//
// Most MDs await answers of one process at a time, which needs no map: a.first is that process, and
// a.of is the number of its answers. The map a.more counts answers of other processes; the next MD in
// the slot uses it again. An answer is tracked if the MD is given up when the answer does not come
// within the transaction timeout (see tracker).
type asked struct {
	all   answers // sum of answers awaited from first and more
	first nid.ProcessID
	of    answers // answers awaited from the process first
	more  map[nid.ProcessID]answers
	grown bool // the map in more has had more than manyAsked entries

	random uint32 // state of the slot's generator of random numbers, see Table.samples

	acks, replies bool // whether a tracked ACK, or a tracked REPLY, is awaited; answers to operations with a call (type call) do not count here

	hop nid.NID // next hop of the latest message without a call, if LNet chose the message's path
	// went counts the messages without a call whose answers are awaited, and which went to another NID than the one that
	// they named. It never counts more messages to a process than answers are awaited from it. An entry below 0 counts
	// answers that have come from an NID before the messages to it were noted.
	went []detour

	calls   *call // list of the operations that have a call of their own (type call), which their answers name; all does not count these
	tracked int   // number of calls whose answers are tracked
	timed   int   // number of calls that are there only to be timed
}

// answers counts awaited answers by their kind.
type answers struct{ acks, replies int32 }

// manyAsked is the largest number of entries with which the map more is kept for later use. A
// map that had more entries is freed when it is empty.
const manyAsked = 32

// detour counts messages that named a process, but went to another NID of its node.
type detour struct {
	named nid.ProcessID
	to    nid.NID
	n     int32 // never 0; below 0: number of early answers from this NID
}

const (
	maxWent  = 8  // largest number of entries of asked.went
	maxEarly = 64 // largest number of early answers that an entry counts
)

// to returns the counter of ACKs for a PUT, and that of REPLYs for a GET.
func (a *answers) to(typ wire.MsgType) *int32 {
	if typ == wire.Get {
		return &a.replies
	}
	return &a.acks
}

// tracks returns the flag which says whether a tracked answer to a PUT, or to a GET, is awaited.
func (a *asked) tracks(typ wire.MsgType) *bool {
	if typ == wire.Get {
		return &a.replies
	}
	return &a.acks
}

// awaits reports whether an answer to a PUT or GET is still awaited.
func (a *asked) awaits(typ wire.MsgType) bool { return a != nil && *a.all.to(typ) > 0 }

// add notes that an answer of a process to a PUT or GET is awaited.
func (a *asked) add(id *nid.ProcessID, typ wire.MsgType) {
	*a.all.to(typ)++
	if a.of == (answers{}) {
		a.first = *id
	}
	if a.first == *id {
		*a.of.to(typ)++
		return
	}
	if a.more == nil {
		a.more = make(map[nid.ProcessID]answers)
	}
	n := a.more[*id]
	*n.to(typ)++
	a.more[*id] = n
	a.grown = a.grown || len(a.more) > manyAsked
}

// note notes to which NID a message to a process went, unless its answer has come already.
func (a *asked) note(id *nid.ProcessID, to *nid.NID) {
	if *to == id.NID {
		return
	}
	switch i := a.detour(id, to); {
	case i >= 0 && a.went[i].n < 0: // the answer was early
		a.count(i, 1)
	case a.surplus(id) <= 0:
	case i >= 0:
		a.count(i, 1)
	default:
		a.append(detour{*id, *to, 1})
	}
}

// append adds an entry for messages to a.went. If a.went is full, the entry takes the place of one for early answers.
func (a *asked) append(w detour) {
	if len(a.went) < maxWent {
		a.went = append(a.went, w)
	} else if i := slices.IndexFunc(a.went, func(w detour) bool { return w.n < 0 }); i >= 0 {
		a.went[i] = w
	}
}

// detour returns the index of the entry of a.went for messages that named a process and went to an NID, or -1.
func (a *asked) detour(id *nid.ProcessID, to *nid.NID) int {
	return slices.IndexFunc(a.went, func(w detour) bool { return w.named == *id && w.to == *to })
}

// count adds n to an entry of a.went, and removes the entry if that makes it 0.
func (a *asked) count(i int, n int32) {
	if a.went[i].n += n; a.went[i].n == 0 {
		a.went = slices.Delete(a.went, i, i+1)
	}
}

// surplus returns how many more answers are awaited from a process than a.went counts messages to it.
func (a *asked) surplus(id *nid.ProcessID) int32 {
	n := a.more[*id]
	if a.first == *id {
		n.acks, n.replies = n.acks+a.of.acks, n.replies+a.of.replies
	}
	left := n.acks + n.replies
	for i := range a.went {
		if a.went[i].named == *id {
			left -= max(a.went[i].n, 0)
		}
	}
	return left
}

// returned notes in a.went that an answer of a process came from a NID, after take has counted it. The message itself may
// be noted only later, if messages of the MD are leaving.
func (a *asked) returned(id *nid.ProcessID, from *nid.NID, leaving bool) {
	if len(a.went) == 0 && (!leaving || *from == id.NID) {
		return
	}
	if !leaving { // no answer is early
		a.went = slices.DeleteFunc(a.went, func(w detour) bool { return w.n < 0 })
	}
	i := a.detour(id, from)
	switch {
	case i >= 0 && a.went[i].n > 0:
	case a.surplus(id) < 0: // one of these messages was answered from another NID
		i = slices.IndexFunc(a.went, func(w detour) bool { return w.named == *id && w.n > 0 })
	case !leaving || *from == id.NID:
		return
	case i < 0:
		if len(a.went) < maxWent {
			a.went = append(a.went, detour{*id, *from, -1})
		}
		return
	case a.went[i].n == -maxEarly:
		return
	}
	a.count(i, -1)
}

// take notes an answer of exactly this process, which came from the given NID; leaving says whether messages of the MD may
// not have left yet. It returns false if no answer is awaited from the process.
func (a *asked) take(id *nid.ProcessID, from *nid.NID, typ wire.MsgType, leaving bool) bool {
	if a == nil {
		return false
	}
	if n := a.of.to(typ); a.first == *id && *n > 0 {
		*n--
	} else if !a.takeMore(id, typ) {
		return false
	}
	if *a.all.to(typ)--; *a.all.to(typ) == 0 {
		*a.tracks(typ) = false
	}
	a.returned(id, from, leaving)
	return true
}

func (a *asked) takeMore(id *nid.ProcessID, typ wire.MsgType) bool {
	n := a.more[*id]
	if *n.to(typ) == 0 {
		return false
	}
	if *n.to(typ)--; n != (answers{}) {
		a.more[*id] = n
		return true
	}
	delete(a.more, *id)
	if len(a.more) == 0 && a.grown {
		a.more, a.grown = nil, false
	}
	return true
}

// forget empties a, so that the next MD in the slot can use it.
func (a *asked) forget() {
	if a == nil || a.all == (answers{}) && len(a.went) == 0 {
		return
	}
	*a = asked{random: a.random}
}
