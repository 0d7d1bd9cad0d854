package scoll

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"ulnet/scoll/wire"
)

// portion is a payload to be merged: an answer of this node or of a node below.
type portion struct {
	rank    int
	members []int // ranks of the members whose answers are in the payload
	payload []byte
}

// parse parses an answer of a child, or of a node below it. If answers stay separate there must
// be one piece for each member that the tally counts.
func (d *handling) parse(r *Request, child int, b []byte) (subAnswer, error) {
	a, err := parseTally(b, r.tree, child)
	if err != nil {
		return a, err
	}
	switch count := a.tally.count(); {
	case len(a.payload) > d.limit(len(a.tally.nodes)), count == 0 && len(a.payload) > 0:
		return a, EMSGSIZE
	case d.Merge != nil:
		return a, nil
	default:
		return a, a.checkPieces(r, count)
	}
}

// checkPieces returns an error unless there is one piece for each member that the tally counts.
func (a *subAnswer) checkPieces(r *Request, count int) error {
	if err := CheckPieces(a.payload); err != nil {
		return err
	}
	seen := make(map[int]bool, count)
	for id := range Pieces(a.payload) {
		rank := r.members.Rank(id)
		i := a.tally.position(rank)
		if rank < 0 || i < 0 || a.tally.status[i] != OK || seen[rank] {
			return EPROTO
		}
		seen[rank] = true
	}
	if len(seen) != count {
		return EPROTO
	}
	return nil
}

// keep stores an answer to be merged later.
func (at *asked) keep(a *subAnswer) {
	p := portion{rank: a.rank, payload: a.payload}
	for i, rank := range a.tally.nodes {
		if a.tally.status[i] == OK {
			p.members = append(p.members, rank)
		}
	}
	if len(p.members) > 0 {
		at.parts = append(at.parts, p)
	}
}

// merge merges all answers, this node's own among them, in the order of ranks. The caller
// holds at.mu.
func (at *asked) merge(r *Request) []byte {
	at.takeOwn(r)
	slices.SortStableFunc(at.parts, func(a, b portion) int { return cmp.Compare(a.rank, b.rank) })
	var all []byte
	for i, p := range at.parts {
		merged, err := p.payload, error(nil)
		switch {
		case at.d.Merge == nil:
			merged = append(all, p.payload...)
		case at.begun:
			merged, err = at.d.Merge(slices.Clone(all), p.payload) // a clone, so that all is unchanged if Merge fails
		}
		if err == nil && len(merged) > at.d.limit(len(at.tally.nodes)) {
			err = EMSGSIZE
		}
		if err != nil {
			at.tally.fail(at.parts[i].members, handlerStatus(err), textOf(err))
			continue
		}
		all, at.begun = merged, true
	}
	return all
}

// takeOwn adds this node's own answer. The caller holds at.mu.
func (at *asked) takeOwn(r *Request) {
	if !at.asks {
		at.tally.set(0, notAsked, "")
		return
	}
	answer, err := at.own.get()
	if err == nil && len(answer) > at.d.MaxAnswer {
		err = EMSGSIZE
	}
	if err != nil {
		at.tally.set(0, handlerStatus(err), textOf(err))
		return
	}
	at.tally.set(0, OK, "")
	if at.d.Merge == nil {
		answer = AppendPiece(nil, r.NID(), answer)
	} else {
		answer = slices.Clone(answer) // copied, because other attempts use the same answer
	}
	at.parts = append(at.parts, portion{r.rank, []int{r.rank}, answer})
}

// handlerStatus returns the status of a handler's error: the one that it wraps, or that of a
// context's error.
func handlerStatus(err error) Status {
	switch s := wire.StatusOf(err); {
	case s == EIO && errors.Is(err, context.DeadlineExceeded):
		return ETIMEDOUT
	case s == EIO && errors.Is(err, context.Canceled):
		return ECANCELED
	case s == notKnown, s == notAsked:
		return EIO
	default:
		return s
	}
}

// textOf returns the text of an error, "" if it is a plain Status.
func textOf(err error) string {
	if s, ok := err.(Status); ok && s == wire.StatusOf(err) { //nolint:errorlint // an error that wraps a Status has a text of its own
		return ""
	}
	return err.Error()
}
