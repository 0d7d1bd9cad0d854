package main

import (
	"context"
	"syscall"
	"time"

	"ulnet/portals"
)

// operation is one PUT or GET from its start to its last event.
type operation struct {
	t      *traffic
	id     opID
	kind   opKind
	target uint8
	buffer []byte // buffer of maxSize bytes
	size   int
	at     uint64 // with GET: offset in the target's memory
	slot   *slot
	began  time.Time
	md     portals.MDHandle

	// The fields from here to called are guarded by t.mu.
	abortAt time.Time // when to abort the operation; zero: never
	aborted bool
	overdue time.Duration // age at which the parent is told that the operation takes long; 0: overdueAfter
	late    bool          // a violation was reported because the operation is late
	called  bool          // Put or Get has returned, so that the operation can be aborted

	// The fields from here on are owned by the operation's handler.
	settled bool // an ACK or REPLY without an error has arrived
	failed  bool // the SEND event had an error
}

// handle records the events of the operation's MD.
func (o *operation) handle(e *portals.Event) {
	r := record{Op: o.kind, Target: o.target, ID: o.id, Size: e.MLength, Errno: errnoOf(e.Err)}
	switch e.Kind {
	case portals.EventSend:
		r.Kind = sent
		o.t.w.journal.add(r)
		o.failed = e.Err != nil
		if o.failed && !e.Unlinked {
			_ = o.t.w.node.Table().MDUnlink(o.md) // an error (ENOENT) means that the MD has just been unlinked
		}
	case portals.EventAck, portals.EventReply:
		r.Kind = answered
		if e.Kind == portals.EventReply && e.Err == nil {
			o.t.w.compare("GET "+o.id.String(), e.Payload(), sourceKey(o.target), o.at)
		}
		o.t.w.journal.add(r)
		o.settled = e.Err == nil
	}
	if e.Unlinked {
		r.Kind, r.Errno = ended, 0
		if e.Kind == portals.EventUnlink {
			r.Errno = o.unlinked()
		}
		o.t.w.journal.add(r)
		o.t.end(o)
	}
}

// unlinked returns the errno for an UNLINK event that is the last one, because the event does not contain its
// reason. It is 0 if this program has unlinked the MD. Otherwise LNet has given up the operation, which it may
// do only after the timeout: ETIMEDOUT.
func (o *operation) unlinked() syscall.Errno {
	if o.failed || o.t.aborted(o) {
		return 0
	}
	if age := time.Since(o.began); age < o.t.w.cfg.Timeout {
		o.t.w.violation("operation %v was unlinked by LNet after %v", o.id, age)
	}
	return syscall.ETIMEDOUT
}

// sweep aborts the operations whose time to be aborted has come. If an operation does not end in
// time, that is a violation.
func (t *traffic) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, md := range t.due(now) {
				_ = t.w.node.Table().MDUnlink(md) // an error (ENOENT) means that the MD has just been unlinked
			}
		case <-ctx.Done():
			return
		}
	}
}

const sweepInterval = 20 * time.Millisecond

// due returns the MDs of the operations to abort.
func (t *traffic) due(now time.Time) []portals.MDHandle {
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []portals.MDHandle
	for _, o := range t.open {
		age := now.Sub(o.began)
		if age > max(o.overdue, overdueAfter) {
			t.w.say(notice{Kind: noticeOverdue, Text: o.describe(now)})
			o.overdue = 2 * age
		}
		if age > patience && !o.late {
			t.w.violation("%s, has no last event", o.describe(now))
			o.late = true
		}
		if o.called && !o.abortAt.IsZero() && now.After(o.abortAt) {
			due = append(due, o.md)
			o.abortAt, o.aborted = time.Time{}, true
		}
	}
	return due
}
