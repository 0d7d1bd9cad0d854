package scoll

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"ulnet/lnet/nid"
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
	Unreached []Unreached // whose answer did not arrive; they may have run the question
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

// Each yields what each member answered, where Handler.Merge is nil.
func (r *Result) Each() iter.Seq2[nid.NID, []byte] { return Pieces(r.Answer) }

// Numbers returns the numbers of Answer, as [Numbers] makes them and [Op] merges them; nil if
// it has none.
func (r *Result) Numbers() []uint64 {
	values, _ := ParseNumbers(r.Answer)
	return values
}

// Err returns nil if all that were asked have answered, and otherwise an *IncompleteError.
func (r *Result) Err() error {
	if len(r.Failed)+len(r.Unreached) == 0 {
		return nil
	}
	return &IncompleteError{r}
}

// IncompleteError says which members did not do what they were asked for.
type IncompleteError struct{ Result *Result }

// Error names the first three.
func (e *IncompleteError) Error() string {
	r := e.Result
	var b strings.Builder
	fmt.Fprintf(&b, "scoll: %d of %d members did not answer", len(r.Failed)+len(r.Unreached), r.Asked)
	shown := 0
	each := func(text string) {
		if shown++; shown <= 3 {
			fmt.Fprintf(&b, "; %s", text)
		}
	}
	for _, f := range r.Failed {
		each(f.Error())
	}
	for _, u := range r.Unreached {
		each(fmt.Sprintf("%v: %v", u.NID, u.Status))
	}
	if shown > 3 {
		fmt.Fprintf(&b, "; and %d more", shown-3)
	}
	return b.String()
}

// Unwrap returns the failures, and the statuses of those that were not reached.
func (e *IncompleteError) Unwrap() (list []error) {
	for _, f := range e.Result.Failed {
		list = append(list, f)
	}
	for _, u := range e.Result.Unreached {
		list = append(list, u.Status)
	}
	return list
}

// newResult counts each member of a filter once: the module's word about who is missing
// comes before that of answers, and who is named nowhere sent an answer that makes no sense.
func newResult(y *tally, members, whole *Membership, only rankSet, missing []Unreached) *Result {
	why := make(map[nid.NID]Status, len(missing))
	for _, u := range missing {
		why[u.NID] = u.Status
	}
	res := &Result{}
	for rank := range whole.Len() {
		t := whole.Target(rank)
		if len(t.Entities) == 0 || !only.includes(rank) {
			continue
		}
		res.Asked++
		if s, lost := why[t.NID]; lost {
			res.Unreached = append(res.Unreached, Unreached{t.NID, s})
			continue
		}
		i := -1
		if r := members.Rank(t.NID); r >= 0 {
			i = y.position(r)
		}
		switch {
		case i < 0 || y.status[i] == notKnown || y.status[i] == notAsked:
			res.Unreached = append(res.Unreached, Unreached{t.NID, EPROTO})
		case y.status[i] == OK:
			res.Answered++
		default:
			res.Failed = append(res.Failed, Failure{t.NID, rank, y.status[i], y.texts[i]})
		}
	}
	slices.SortStableFunc(res.Failed, func(a, b Failure) int { return a.Rank - b.Rank })
	return res
}
