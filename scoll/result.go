package scoll

import (
	"fmt"
	"iter"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// Result is what came of a call. Every member that was asked is counted once: it is one of
// Answered, of Failed or of Unreached. Only a member that lies about those below it can spoil
// that.
type Result struct {
	// Answer is what Handler.Merge made of the answers; see Each if there is none.
	Answer    []byte
	Asked     int // members
	Answered  int // whose answer is in Answer
	Failed    []Failure
	Unreached []Lost // whose answer did not arrive; they may have run the question
}

// Failure is a member whose handler, or the merging of whose answer, has failed. It is an
// error whose Unwrap is the Status.
type Failure struct {
	NID    nid.NID
	Rank   int // in the list of the group
	Status Status
	// Text is what the error said: one line of printable text, at most 200 bytes, as far as
	// there was room; "" otherwise. It is as trustworthy as the member and all nodes on the
	// way.
	Text string
}

// Error implements error: such as "rank 4, 10.0.0.5@tcp: disk sdb is gone".
func (f Failure) Error() string {
	text := f.Text
	if text == "" {
		text = f.Status.String()
	}
	return fmt.Sprintf("rank %d, %v: %s", f.Rank, f.NID, text)
}

// Unwrap returns the status.
func (f Failure) Unwrap() error { return f.Status }

// Lost is a member whose answer did not arrive. It is an error whose Unwrap is the Status.
type Lost struct {
	Unreached
	Rank int // in the list of the group
	// Below is the topmost node above it in the tree that was lost in the same way, which is
	// where to look; zero: none was.
	Below nid.NID
}

// Error implements error: such as "rank 5, 10.0.0.6@tcp: below 10.0.0.5@tcp: timed out".
func (l Lost) Error() string {
	text := l.Status.String()
	if l.Status == EIO { // of the module, which could not send; what handlers say is a Failure
		text = "cannot be sent to"
	}
	if l.Below.IsValid() {
		text = fmt.Sprintf("below %v: %s", l.Below, text)
	}
	return fmt.Sprintf("rank %d, %v: %s", l.Rank, l.NID, text)
}

// Unwrap returns the status.
func (l Lost) Unwrap() error { return l.Status }

// Each yields what each member answered, where Handler.Merge is nil.
func (r *Result) Each() iter.Seq2[nid.NID, []byte] { return Pieces(r.Answer) }

// Numbers returns the numbers of Answer, as [Numbers] makes them and [Op] merges them; nil if
// it has none.
func (r *Result) Numbers() []uint64 {
	values, _ := parseNumbers(r.Answer)
	return values
}

// Err returns nil if all that were asked have answered, and otherwise an *[Error] with the
// result.
func (r *Result) Err() error {
	if len(r.Failed)+len(r.Unreached) == 0 {
		return nil
	}
	return incomplete(r)
}

// errors are a Failure for each member that failed, and a Lost for each that was not reached.
func (r *Result) errors() (list []error) {
	for _, f := range r.Failed {
		list = append(list, f)
	}
	for _, u := range r.Unreached {
		list = append(list, u)
	}
	return list
}

// newResult counts each member of a filter once: the module's word about who is missing
// comes before that of answers, and who is named nowhere sent an answer that makes no sense.
func newResult(y *tally, r *placed, only rankSet, missing []Unreached) *Result {
	why := make(map[nid.NID]Status, len(missing))
	for _, u := range missing {
		why[u.NID] = u.Status
	}
	res := &Result{}
	for rank := range r.whole.Len() {
		t := r.whole.Target(rank)
		if len(t.Entities) == 0 || !only.includes(rank) {
			continue
		}
		res.Asked++
		if s, lost := why[t.NID]; lost {
			res.Unreached = append(res.Unreached, Lost{Unreached{t.NID, s}, rank, r.culprit(t.NID, why)})
			continue
		}
		i := -1
		if at := r.members.Rank(t.NID); at >= 0 {
			i = y.position(at)
		}
		switch {
		case i < 0 || y.status[i] == notKnown || y.status[i] == notAsked:
			res.Unreached = append(res.Unreached, Lost{Unreached: Unreached{t.NID, EPROTO}, Rank: rank})
		case y.status[i] == OK:
			res.Answered++
		default:
			res.Failed = append(res.Failed, Failure{t.NID, rank, y.status[i], y.texts[i]})
		}
	}
	slices.SortStableFunc(res.Failed, func(a, b Failure) int { return a.Rank - b.Rank })
	return res
}

// placed is where members are: in the whole group, and in the tree of those that were asked.
type placed struct {
	whole, members *Membership
	tree           tree.Tree
}

// culprit returns the topmost node above one that was lost in the same way: not the root,
// and nobody if the caller gave all up.
func (p *placed) culprit(id nid.NID, why map[nid.NID]Status) (top nid.NID) {
	s := why[id]
	rank, ok := p.members.Rank(id), s != ECANCELED
	for ok = ok && rank >= 0; ok; {
		if rank, ok = p.tree.Parent(rank); !ok || rank == p.tree.Root || why[p.members.NID(rank)] != s {
			break
		}
		top = p.members.NID(rank)
	}
	return top
}
