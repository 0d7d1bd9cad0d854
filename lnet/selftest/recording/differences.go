package recording

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/selftest/wire"
)

// allowed are all differences between a message of our node and that of the recorded kernel, with
// the sentence that allows each. adapt changes the recorded message into the one that our node
// must send. Of bulk data see AdaptData.
var allowed = []struct {
	what, sentence string
	adapt          func(d *Differences, want, ours *wire.Message) error
}{
	{"numbers of RPCs", "selftest §1: Any unique non-repeating value works.", (*Differences).adaptNumbers},
	{"stamp of a session", "selftest §3: nodes only compare it for equality.", (*Differences).adaptSession},
	{"time in a PING", "selftest §8: timestamps for RTT only.", (*Differences).adaptPing},
	{
		"name of an earlier session", "selftest §3: 2.16 and later no longer clear a recycled reply buffer, so bytes beyond the defined fields may come from an earlier reply of the same service.",
		(*Differences).adaptName,
	},
	{
		"counters", "selftest §9: None of these counters is reset by a new session. Between two samples they grow by the same, but for the LNet counters besides the seven that equal a count of the visible traffic.",
		(*Differences).adaptCounters,
	},
	{"time in a STAT", "selftest §4: running_ms — ms since session start on the node. The recording has the times on the wire.", (*Differences).adaptRunning},
}

// Differences compares messages of a node with those of the recorded one. The zero value is ready
// for use, for one incarnation of a node.
type Differences struct {
	// Jitter is by how much the age of a session may differ from the recorded one. 0: it is not
	// compared, because the test does not run in the time of the recording.
	Jitter time.Duration
	// LNet says that the node counts the messages of LNet; false: it is a machine without LNet.
	LNet bool
	// Samples is how many differences of two samples were compared.
	Samples int

	numbers  map[uint64]uint64             // numbers of our node by the recorded ones
	sessions map[wire.Session]wire.Session // sessions of our console by the recorded ones
	checks   map[uint64]wire.Check         // checks of bulk data, by their recorded match bits
	stale    string                        // name in a reply of the recorded node
	samples  [2]*wire.StatReply            // the latest of the recorded node and of ours
}

// Adapt returns the message that our node must send in the place of a recorded one, and an error
// if ours differs in something that may differ only within limits.
func (d *Differences) Adapt(recorded, ours []byte) (want []byte, err error) {
	a, errA := wire.ParseMessage(recorded)
	b, errB := wire.ParseMessage(ours)
	if errA != nil || errB != nil || a.Type != b.Type {
		return recorded, nil
	}
	var errs []error
	for _, diff := range allowed {
		if err := diff.adapt(d, &a, &b); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", diff.what, err))
		}
	}
	if want, err = a.AppendBinary(nil); err != nil {
		errs = append(errs, err)
	}
	return want, errors.Join(errs...)
}

// Note records that the message ours of our node corresponds to the recorded message.
func (d *Differences) Note(recorded, ours []byte) {
	a, errA := wire.ParseMessage(recorded)
	b, errB := wire.ParseMessage(ours)
	if errA != nil || errB != nil || a.Type != b.Type {
		return
	}
	d.noteNumber(a.ReplyID, b.ReplyID)
	if x, y := bulkOf(a.Body), bulkOf(b.Body); x != nil {
		d.noteNumber(*x, *y)
	}
	d.noteCheck(a.Body)
	if x, ok := a.Body.(*wire.MakeSession); ok {
		if d.sessions == nil {
			d.sessions = map[wire.Session]wire.Session{}
		}
		d.sessions[x.Session] = b.Body.(*wire.MakeSession).Session
	}
	if x, ok := a.Body.(*wire.MakeSessionReply); ok && a.Status == wire.EBUSY {
		d.stale = x.Name
	}
	if x, ok := a.Body.(*wire.StatReply); ok && a.Status == wire.OK {
		if d.samples[0] != nil {
			d.Samples++
		}
		d.samples = [2]*wire.StatReply{x, b.Body.(*wire.StatReply)}
	}
}

func (d *Differences) noteNumber(recorded, ours uint64) {
	if recorded == 0 {
		return
	}
	if d.numbers == nil {
		d.numbers = map[uint64]uint64{}
	}
	d.numbers[recorded] = ours
}

func (d *Differences) noteCheck(body wire.Body) {
	if b, ok := body.(*wire.BRW); ok {
		if d.checks == nil {
			d.checks = map[uint64]wire.Check{}
		}
		d.checks[b.BulkID] = b.Check
	}
}

// Own returns the number that our node uses where the recording has the number recorded: match bits
// of a message to our node.
func (d *Differences) Own(recorded uint64) uint64 {
	if own, ok := d.numbers[recorded]; ok {
		return own
	}
	return recorded
}

// Substitute returns the message of another node that our node gets in the place of a recorded
// one: with the sessions of our console.
func (d *Differences) Substitute(recorded []byte) []byte {
	m, err := wire.ParseMessage(recorded)
	if err != nil {
		return recorded
	}
	d.noteCheck(m.Body)
	s := sessionOf(m.Body)
	if s == nil {
		return recorded
	}
	own, ok := d.sessions[*s]
	if !ok {
		return recorded
	}
	*s = own
	b, err := m.AppendBinary(nil)
	if err != nil { // it was parsed, so that it has a form
		return recorded
	}
	return b
}

func (d *Differences) adaptNumbers(want, ours *wire.Message) error {
	want.ReplyID = ours.ReplyID
	x, y := bulkOf(want.Body), bulkOf(ours.Body)
	if x != nil && (*x == 0) == (*y == 0) {
		*x = *y
	}
	return nil
}

func (d *Differences) adaptSession(want, ours *wire.Message) error {
	s := sessionOf(want.Body)
	if s == nil {
		return nil
	}
	if own, ok := d.sessions[*s]; ok {
		*s = own
	} else if b, ok := ours.Body.(*wire.MakeSession); ok && b.Session.Console == s.Console {
		*s = b.Session
	}
	return nil
}

func (d *Differences) adaptPing(want, ours *wire.Message) error {
	if a, ok := want.Body.(*wire.Ping); ok {
		b := ours.Body.(*wire.Ping)
		a.Seconds, a.Nanoseconds = b.Seconds, b.Nanoseconds
	}
	return nil
}

func (d *Differences) adaptName(want, _ *wire.Message) error {
	if a, ok := want.Body.(*wire.MakeSessionReply); ok && want.Status == wire.OK && a.Name == d.stale {
		a.Name = ""
	}
	return nil
}

func (d *Differences) adaptRunning(want, ours *wire.Message) error {
	a, ok := want.Body.(*wire.StatReply)
	if !ok || want.Status != wire.OK {
		return nil
	}
	b := ours.Body.(*wire.StatReply)
	late := time.Duration(int64(b.Framework.Running)-int64(a.Framework.Running)) * time.Millisecond
	a.Framework.Running = b.Framework.Running
	if d.Jitter > 0 && late.Abs() > d.Jitter {
		return fmt.Errorf("the session is older by %v than that of the kernel", late)
	}
	return nil
}

func (d *Differences) adaptCounters(want, ours *wire.Message) error {
	a, ok := want.Body.(*wire.StatReply)
	if !ok || want.Status != wire.OK || ours.Status != wire.OK {
		return nil
	}
	b := ours.Body.(*wire.StatReply)
	recorded := *a
	a.RPC, a.LNet = b.RPC, b.LNet
	if d.samples[0] == nil {
		return nil
	}
	before, ownBefore := d.samples[0], d.samples[1]
	diff := cmp.Diff(grown(&recorded.RPC, &before.RPC), grown(&b.RPC, &ownBefore.RPC))
	if d.LNet {
		diff += cmp.Diff(passed(&recorded.LNet, &before.LNet), passed(&b.LNet, &ownBefore.LNet))
	}
	if diff != "" {
		return fmt.Errorf("between two samples (-kernel +ours):\n%s", diff)
	}
	return nil
}
