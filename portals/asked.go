package portals

import (
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// asked is a multiset of the processes whose ACKs and REPLYs an MD awaits. The zero
// value is empty.
//
// Most MDs ask one process at a time, which is in first. Further processes are in more,
// a map that stays for the next MD in the slot.
type asked struct {
	all   answers // of first and more together
	first nid.ProcessID
	of    answers // of first
	more  map[nid.ProcessID]answers
	grown bool // more has had many entries

	hop nid.NID // where the latest message that has no call went, if LNet chose its path

	calls   *call // operations whose answers name them; all counts none of these
	tracked int   // calls that are, as the MD is
}

// answers counts answers by their kind.
type answers struct{ acks, replies int32 }

// manyAsked is how many entries of more are worth keeping their memory for.
const manyAsked = 32

// to returns the counter of ACKs for a PUT, and that of REPLYs for a GET.
func (a *answers) to(typ wire.MsgType) *int32 {
	if typ == wire.Get {
		return &a.replies
	}
	return &a.acks
}

// awaits reports whether there is an answer to a PUT or GET to come.
func (a *asked) awaits(typ wire.MsgType) bool { return a != nil && *a.all.to(typ) > 0 }

// add notes that a process is asked by a PUT or GET.
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

// take removes an answer of exactly this process. False: none is to come from it.
func (a *asked) take(id *nid.ProcessID, typ wire.MsgType) bool {
	if a == nil {
		return false
	}
	if n := a.of.to(typ); a.first == *id && *n > 0 {
		*n--
	} else if !a.takeMore(id, typ) {
		return false
	}
	*a.all.to(typ)--
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

// forget empties a for another MD.
func (a *asked) forget() {
	if a == nil || a.all == (answers{}) {
		return
	}
	*a = asked{}
}
