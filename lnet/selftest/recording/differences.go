package recording

import (
	"errors"
	"fmt"
	"time"

	"ulnet/lnet/selftest/wire"
)

// Differences compares messages of a node with those of the recorded one. The zero value is ready
// for use, for one incarnation of a node.
type Differences struct {
	// Jitter is by how much the age of a session may differ from the recorded one. 0: it is not
	// compared, because the test does not run in the time of the recording.
	Jitter time.Duration
	// LNet says that the node counts the messages of LNet; false: it is a machine without LNet.
	LNet bool
	// Samples counts comparisons of how much the counters of both nodes grew between two replies to STAT.
	Samples int

	numbers  map[uint64]uint64             // by recorded match bits of a reply or of bulk data: the match bits that our node uses in their place
	used     map[uint64]bool               // match bits that our node has used
	rpcs     map[uint64]uint64             // by recorded match bits of bulk data: recorded match bits of the reply of the same RPC
	sessions map[wire.Session]wire.Session // by recorded session: the session of our console that has its place
	checks   map[uint64]wire.Check         // checks of bulk data, by their recorded match bits
	stale    string                        // session name in the latest EBUSY reply of the recorded node, which later replies may repeat
	samples  [2]*wire.StatReply            // latest replies to STAT: of the recorded node, and of ours
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
	d.noteBulk(&a)
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
		d.numbers, d.used = map[uint64]uint64{}, map[uint64]bool{}
	}
	d.numbers[recorded], d.used[ours] = ours, true
}

// noteBulk notes what a recorded request says of its bulk data.
func (d *Differences) noteBulk(m *wire.Message) {
	if bits := bulkOf(m.Body); bits != nil && *bits != 0 {
		if d.rpcs == nil {
			d.rpcs = map[uint64]uint64{}
		}
		d.rpcs[*bits] = m.ReplyID
	}
	if b, ok := m.Body.(*wire.BRW); ok {
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

// RPC returns which RPC a recorded message to the portal of replies and bulk data belongs to: the
// match bits of that RPC's reply.
func (d *Differences) RPC(recorded uint64) uint64 {
	if reply, ok := d.rpcs[recorded]; ok {
		return reply
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
	d.noteBulk(&m)
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
	if err != nil { // does not happen: what was parsed can be encoded
		return recorded
	}
	return b
}
