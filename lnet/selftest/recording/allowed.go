package recording

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/selftest/wire"
)

// allowed are all differences between a message of our node and that of the recorded kernel, with
// the section and the words of docs/spec/selftest.md that allow each. adapt changes the recorded
// message into the one that our node must send. For bulk data see AdaptData.
var allowed = []struct {
	what, section, sentence string
	adapt                   func(d *Differences, want, ours *wire.Message) error
}{
	{"numbers of RPCs", "1", "Any unique non-repeating value works.", (*Differences).adaptNumbers},
	{"stamp of a session", "3", "nodes only compare it for equality.", (*Differences).adaptSession},
	{"time in a PING", "8", "timestamps for RTT only.", (*Differences).adaptPing},
	{
		"name of an earlier session", "3", "2.16 and later no longer clear a recycled reply buffer, so bytes beyond the defined fields may come from an earlier reply of the same service.",
		(*Differences).adaptName,
	},
	{"messages under way", "9", "msgs_alloc is the number of LNet messages under way, and msgs_max the most so far: both follow from when a node's threads run.", (*Differences).adaptUnderWay},
	// The recorded node begins with the counts of what it did before the recording. Between two samples
	// each counter grows by the same at both nodes.
	{"counters at the beginning", "9", "None of these counters is reset by a new session", (*Differences).adaptCounters},
	{"time in a STAT", "4", "running_ms — ms since session start on the node", (*Differences).adaptRunning},
}

func (d *Differences) adaptNumbers(want, ours *wire.Message) error {
	if want.ReplyID != 0 {
		if d.used[ours.ReplyID] {
			return fmt.Errorf("%#x again", ours.ReplyID)
		}
		want.ReplyID = ours.ReplyID
	}
	x, y := bulkOf(want.Body), bulkOf(ours.Body)
	if x != nil && (*x == 0) == (*y == 0) {
		if d.used[*y] || *y != 0 && *y == ours.ReplyID {
			return fmt.Errorf("%#x again", *y)
		}
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

func (d *Differences) adaptUnderWay(want, ours *wire.Message) error {
	if a, ok := want.Body.(*wire.StatReply); ok {
		b := ours.Body.(*wire.StatReply)
		a.LNet.Messages, a.LNet.MostMessages = b.LNet.Messages, b.LNet.MostMessages
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
