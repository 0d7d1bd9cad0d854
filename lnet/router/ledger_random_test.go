package router

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/spec"
)

// walk makes random calls to a ledger.
type walk struct {
	t          *rapid.T
	l          *Ledger
	now        time.Duration
	neighbours []*Neighbour
	tickets    []*Ticket // all tickets that were made
	filling    []*Ticket // tickets granted whose payload is not complete
	out        []*Ticket // tickets of messages that are being sent
	waiting    []*Ticket
}

func newWalk(t *rapid.T) *walk {
	w := &walk{t: t, l: New(Config{
		Tiny: rapid.IntRange(1, 4).Draw(t, "tiny"), Small: rapid.IntRange(1, 4).Draw(t, "small"),
		Large: rapid.IntRange(1, 8).Draw(t, "large"), Memory: minMemory,
	})}
	w.l.scanning = rapid.IntRange(1, 8).Draw(t, "scanning")
	for range rapid.IntRange(2, 6).Draw(t, "neighbours") {
		w.neighbours = append(w.neighbours, NewNeighbour(rapid.IntRange(1, 3).Draw(t, "credits")))
	}
	return w
}

func (w *walk) pick(of []*Ticket, name string) int {
	if len(of) == 0 {
		w.t.Skip("none")
	}
	return rapid.IntRange(0, len(of)-1).Draw(w.t, name)
}

func (w *walk) neighbour(name string) *Neighbour {
	return w.neighbours[rapid.IntRange(0, len(w.neighbours)-1).Draw(w.t, name)]
}

func (w *walk) ask(*rapid.T) {
	t := new(Ticket)
	w.tickets = append(w.tickets, t)
	payload := rapid.SampledFrom([]int{0, 1, Page, Page + 1, 100_000, maxPayload}).Draw(w.t, "payload")
	from, to := w.neighbour("from"), w.neighbour("to")
	full := to.stalled && from.extra >= from.limit
	switch w.l.Ask(t, from, to, payload) {
	case Granted:
		if full {
			w.t.Fatalf("a message to a next hop that has stalled gets one of %d extra credits, of which %d were in use", from.limit, from.extra-1)
		}
		w.filling = append(w.filling, t)
	case Waits:
		w.waiting = append(w.waiting, t)
	}
	w.settle()
}

// settle handles all tickets that Next returns.
func (w *walk) settle() {
	for {
		t, granted := w.l.Next()
		if t == nil {
			return
		}
		i := slices.Index(w.waiting, t)
		if i < 0 {
			w.t.Fatal("Next returned a ticket that does not wait")
		}
		w.waiting = slices.Delete(w.waiting, i, i+1)
		if granted {
			w.filling = append(w.filling, t)
		}
	}
}

func (w *walk) depart(*rapid.T) {
	i := w.pick(w.filling, "filled")
	t := w.filling[i]
	w.filling = slices.Delete(w.filling, i, i+1)
	to := t.to
	if rapid.Bool().Draw(w.t, "elsewhere") {
		to = w.neighbour("elsewhere")
	}
	w.l.Depart(t, to, w.now)
	w.out = append(w.out, t)
}

func (w *walk) cutShort(*rapid.T) { w.end(&w.filling) }
func (w *walk) leave(*rapid.T)    { w.end(&w.out) }

func (w *walk) end(list *[]*Ticket) {
	i := w.pick(*list, "ends")
	t := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	w.l.End(t, w.now)
	w.settle()
}

func (w *walk) cancel(*rapid.T) {
	i := w.pick(w.waiting, "cancelled")
	t := w.waiting[i]
	if !w.l.Cancel(t) {
		w.t.Fatal("a ticket that waits cannot be cancelled")
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	w.settle()
}

func (w *walk) wait(*rapid.T) {
	w.now += time.Duration(rapid.IntRange(0, 1500).Draw(w.t, "ms")) * time.Millisecond
	again := w.look()
	if rapid.IntRange(0, 3).Draw(w.t, "long") == 0 {
		for range FillTime / StallTime {
			w.now += StallTime
			again = w.look()
		}
	}
	if again != (len(w.out)+len(w.waiting) > 0) {
		w.t.Fatalf("Check wants to be called again: %v, with %d under way, and %d that wait", again, len(w.out), len(w.waiting))
	}
	if err := w.l.served(); err != nil {
		w.t.Fatal(err)
	}
}

// look calls Check, and handles what is late or waits no more.
func (w *walk) look() (again bool) {
	again = w.l.Check(w.now)
	var senders []*Neighbour
	for t := w.l.Late(); t != nil; t = w.l.Late() {
		others := slices.ContainsFunc(w.waiting, func(o *Ticket) bool { return o.from != t.from && o.class == t.class })
		if !slices.Contains(w.filling, t) || !w.l.isSlow(t.from) || !others || slices.Contains(senders, t.from) {
			w.t.Fatalf("Late returned a ticket whose payload does not arrive, or for which no other one waits, or its sender is not slow, or was returned already: %+v", t)
		}
		senders = append(senders, t.from)
	}
	w.settle()
	return again
}

func (w *walk) check(t *rapid.T) {
	if err := w.l.invariants(w.neighbours, w.tickets); err != nil {
		t.Fatal(err)
	}
	if err := w.l.bounds(); err != nil {
		t.Fatal(err)
	}
}

// stick lets time pass in which no message leaves, until all next hops with messages under way have stalled. After that,
// router credits are in use for messages that wait for a buffer alone.
func (w *walk) stick() {
	for checks := 0; checks < 6 || len(w.filling) > 0; checks++ { // the fourth Check finds that the next hops have stalled
		for len(w.filling) > 0 {
			t := w.filling[0]
			w.filling, w.out = w.filling[1:], append(w.out, t)
			w.l.Depart(t, t.to, w.now)
			checks = 0
		}
		w.now += StallTime / 4
		w.look()
		w.check(w.t)
	}
	for i, n := range w.neighbours {
		if lacks := n.lacks(); n.used != lacks {
			w.t.Fatalf("neighbour %d has %d router credits in use, and %d messages that wait for a buffer", i, n.used, lacks)
		}
	}
}

// lacks returns the number of messages of n that wait for a buffer.
func (n *Neighbour) lacks() (lacks int) {
	for c := range n.wants {
		lacks += n.wants[c].list.n
	}
	return lacks
}

// others checks liveness after stick: a message to another next hop gets a buffer at once, if there is one. Its sender is
// not slow, and has no messages that wait for a buffer.
func (w *walk) others() {
	for i, n := range w.neighbours {
		r := &w.l.rooms[tinyBuffer]
		free := r.used < r.buffers && n.lacks() == 0 && !w.l.isSlow(n)
		t := new(Ticket)
		switch outcome := w.l.Ask(t, n, NewNeighbour(1), 0); {
		case outcome == Granted:
			w.l.End(t, w.now)
		case free:
			w.t.Fatalf("neighbour %d gets no buffer for a next hop that has not stalled", i)
		default:
			w.l.Cancel(t)
		}
		w.settle()
	}
}

// finish ends all messages; after that no ticket may wait: every message was served.
func (w *walk) finish() {
	for len(w.filling)+len(w.out) > 0 {
		if len(w.filling) > 0 {
			w.end(&w.filling)
		} else {
			w.end(&w.out)
		}
		w.check(w.t)
	}
	if len(w.waiting) > 0 {
		w.t.Fatalf("%d messages wait for ever", len(w.waiting))
	}
	if err := w.l.idle(w.neighbours); err != nil {
		w.t.Fatal(err)
	}
}

// TestEverythingComesBack: after any sequence of calls the accounts agree with the messages,
// no limit is exceeded, every credit and buffer is returned, and no message waits when
// nothing is in use. Next hops that have stalled, however many, keep no credits from messages to others.
func TestEverythingComesBack(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-5", "RO-6", "RO-8", "RO-13")
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(t)
		t.Repeat(map[string]func(*rapid.T){
			"ask": w.ask, "depart": w.depart, "cut": w.cutShort, "leave": w.leave,
			"cancel": w.cancel, "wait": w.wait, "": w.check,
		})
		w.stick()
		w.others()
		w.finish()
	})
}
