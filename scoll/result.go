package scoll

import (
	"fmt"
	"iter"
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// Result is the result of a call. Every member that was asked counts once: in Answered, in
// Failed or in Unreached. Only a member that sends false statements about the members below it
// can make these counts wrong.
type Result struct {
	// Answer is the merged answer of Handler.Merge; without Merge see Each.
	Answer    []byte
	Asked     int       // number of members that were asked
	Answered  int       // number of members whose answers are in Answer
	Failed    []Failure // members that answered with an error, sorted by rank
	Unreached []Lost    // members whose answer did not arrive; they may have run the question
}

// Failure is a member whose handler failed, or whose answer could not be merged. It
// implements error, and Unwrap returns the Status.
type Failure struct {
	NID    nid.NID // NID of the member
	Rank   int     // rank of the member in the list of the group
	Status Status  // the status that the handler returned, or that of Merge
	// Text is the text of the error: one line of at most 200 printable bytes; "" if there was no
	// room for it. It is only as trustworthy as the member and the nodes between it and the root.
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

// Unwrap returns the status of the failure.
func (f Failure) Unwrap() error { return f.Status }

// Lost is a member whose answer did not arrive. It implements error, and Unwrap returns the
// Status.
type Lost struct {
	Unreached
	Rank int // rank of the member in the list of the group
	// Below is the topmost node above the member in the tree that has the same status, which
	// is probably the cause; zero: none.
	Below nid.NID
}

// Error implements error: such as "rank 5, 10.0.0.6@tcp: below 10.0.0.5@tcp: timed out".
func (l Lost) Error() string {
	text := l.Status.String()
	if l.Status == EIO { // this EIO means that a module could not send; if the handler of a service fails, the result has a Failure instead of a Lost
		text = "cannot be sent to"
	}
	if l.Below.IsValid() {
		text = fmt.Sprintf("below %v: %s", l.Below, text)
	}
	return fmt.Sprintf("rank %d, %v: %s", l.Rank, l.NID, text)
}

// Unwrap returns the status of the loss.
func (l Lost) Unwrap() error { return l.Status }

// Each yields the answer of each member, if Handler.Merge is nil.
func (r *Result) Each() iter.Seq2[nid.NID, []byte] { return Pieces(r.Answer) }

// Numbers returns the numbers of Answer, as [Numbers] makes them and [Op] merges them; nil if
// it has none.
func (r *Result) Numbers() []uint64 {
	values, _ := parseNumbers(r.Answer)
	return values
}

// Err returns nil if all members that were asked have answered, otherwise an *[Error] with
// the result.
func (r *Result) Err() error {
	if len(r.Failed)+len(r.Unreached) == 0 {
		return nil
	}
	return incomplete(r)
}

// errors returns a Failure for each member that failed, and a Lost for each that was not
// reached.
func (r *Result) errors() (list []error) {
	for _, f := range r.Failed {
		list = append(list, f)
	}
	for _, u := range r.Unreached {
		list = append(list, u)
	}
	return list
}

// newResult counts each member in the filter (the set only) once. A member that the module reports missing is
// unreached, whatever the answers say. A member that neither the module nor an answer reports counts as one
// that sent a malformed answer.
func newResult(y *tally, r *positions, only rankSet, missing []Unreached) *Result {
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

// positions translates between the ranks of members in the whole group and those in the tree of
// the call.
type positions struct {
	whole, members *Membership
	tree           tree.Tree
}

// culprit returns the topmost node above id with the same status, except for the root, or the
// zero NID. It returns the zero NID also if the caller gave the call up.
func (p *positions) culprit(id nid.NID, why map[nid.NID]Status) (top nid.NID) {
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
