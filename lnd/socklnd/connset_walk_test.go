package socklnd

import (
	"cmp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
)

// usable reports whether there is a connection for messages.
func (s *connSet) usable() bool {
	for ctype, n := range s.have {
		if n > 0 && carriesLNet(s.version, ksock.ConnType(ctype)) {
			return true
		}
	}
	return false
}

// setWalk drives a set with random inputs that a shell could give it.
type setWalk struct {
	set       *connSet
	now       time.Duration
	dial      ksock.ConnType // type of the dial in progress; NONE: no dial
	accepting []setInput     // HELLOs that the set has accepted; setAccepted follows for each
	waiting   int            // number of waiting messages
}

// words returns the names of inputs possible now.
func (w *setWalk) words() []string {
	words := []string{"send", "timer", "hello control", "hello in", "hello out", "hello control restarted", "hello in v2", "closed"}
	if w.dial != ksock.None {
		own := map[ksock.ConnType]string{ksock.Control: " control", ksock.BulkIn: " in", ksock.BulkOut: " out"}[w.dial]
		words = append(words, "dialled"+own, "dialled"+own+" restarted", "refused", "failed", "version v1", "version v2")
	}
	if len(w.accepting) > 0 {
		words = append(words, "accepted", "accept-failed")
	}
	return words
}

// input makes the input with the given name.
func (w *setWalk) input(name string) setInput {
	in := word(name)
	in.version = cmp.Or(in.version, ksock.V3)
	switch in.kind {
	case setDialled, setRefused, setOtherVersion, setDialFailed:
		w.dial = ksock.None
	case setAccepted, setAcceptFailed:
		w.accepting[0].kind = in.kind
		in, w.accepting = w.accepting[0], w.accepting[1:]
	}
	in.usable = w.set.usable()
	return in
}

// step steps the set and checks what it asks for.
func (w *setWalk) step(t *rapid.T, name string) {
	in := w.input(name)
	var out setOutput
	wake := w.set.Step(w.now, in, &out)
	if out.outcome == outcomeAccept && in.kind == setHello {
		in.generation = out.generation
		w.accepting = append(w.accepting, in)
	}
	if out.dial {
		if w.dial != ksock.None {
			t.Fatalf("%s: two dials at once", name)
		}
		w.dial = out.dialType
	}
	if out.outcome == outcomeQueue && !in.usable {
		w.waiting++
	}
	if out.failPending || w.set.usable() {
		w.waiting = 0
	}
	if w.waiting > 0 && w.dial == ksock.None && len(w.accepting) == 0 && wake == machine.Never {
		t.Fatalf("%s: messages wait for nothing: %+v", name, w.set)
	}
	if wake <= w.now {
		t.Fatalf("%s: wake %v is not later than %v", name, wake, w.now)
	}
	w.checkCounts(t, name)
}

func (w *setWalk) checkCounts(t *rapid.T, name string) {
	for ctype, n := range w.set.have {
		if n < 0 || w.set.accepting[ctype] < 0 || n+w.set.accepting[ctype] > 2 {
			t.Fatalf("%s: %d connections of type %v", name, n, ksock.ConnType(ctype))
		}
	}
}

// TestConnSetAlwaysAnswers: while messages wait, a dial or a retry is due, and counts stay in
// bounds.
func TestConnSetAlwaysAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peer := rapid.SampledFrom([]string{"10.0.0.1@tcp", "10.0.0.3@tcp"}).Draw(t, "peer")
		w := &setWalk{set: newSet("10.0.0.2@tcp", peer), dial: ksock.None}
		w.set.cfg.dialOnly = rapid.Bool().Draw(t, "dial only")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			w.now += time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond
			w.step(t, rapid.SampledFrom(w.words()).Draw(t, "input"))
		}
	})
}
