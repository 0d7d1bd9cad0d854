package analyze

import (
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
)

// Stalls are times in which a side could not send, because it had no credit.
type Stalls struct {
	Count   uint64        `json:"count"`      // number of times without a credit
	Total   time.Duration `json:"total_ns"`   // length of all these times together
	Longest time.Duration `json:"longest_ns"` // length of the longest of these times
}

// stall is a time without a credit that has begun and not ended, if on is set.
type stall struct {
	on    bool
	since time.Duration
}

// set begins the stall if on is true and it has not begun, and ends it if on is false and it has begun.
func (s *stall) set(a *Analyzer, now time.Duration, on bool, sum *Stalls) {
	switch {
	case on && !s.on:
		*s = stall{true, now}
		sum.Count++
		a.timeline.mark(now, markStall)
	case !on && s.on:
		s.on = false
		length := max(0, now-s.since)
		sum.Total += length
		sum.Longest = max(sum.Longest, length)
	}
}

// add adds a stall that still lasts.
func (s *Stalls) add(running stall, now time.Duration) {
	if running.on {
		length := max(0, now-running.since)
		s.Total += length
		s.Longest = max(s.Longest, length)
	}
}

// credits are the credits with which one side of an RDMA connection may send messages (o2iblnd-wire §9).
type credits struct {
	depth int // 0: not known, because the capture lacks the handshake
	left  int
	out   stall // the time without a credit that lasts at present, if there is one
}

// credit counts the credits of both sides after a message of o2iblnd, which may use a credit of its
// sender and may give credits back to its receiver.
func (c *conn) credit(now time.Duration, r *capture.Record) {
	m := &r.RoCE.Msg
	from, to := &c.credits[r.From], &c.credits[r.From.Other()]
	sides := &c.link.sides
	sides[c.side(r.From)].sum.CreditsReturned += uint64(m.Credits)
	if from.depth == 0 {
		return
	}
	switch m.Type {
	case kib.Noop:
		if m.Version == kib.V1 {
			from.left--
		}
	case kib.Immediate, kib.PutReq, kib.GetReq:
		from.left--
	}
	from.left = max(0, from.left) // it would be negative if the capture lacks packets that gave credits back
	to.left = min(to.depth, to.left+int(m.Credits))
	from.out.set(c.ls.a, now, from.left == 0, &sides[c.side(r.From)].sum.NoCredit)
	to.out.set(c.ls.a, now, to.left == 0, &sides[c.side(r.From.Other())].sum.NoCredit)
}

// ZeroCopy is about messages whose payload TCP sends from the sender's memory. The sender waits for the
// cookie of each such message to come back (lnet-wire §8).
type ZeroCopy struct {
	Requests uint64        `json:"requests"`            // messages with a cookie
	Acked    uint64        `json:"acked"`               // cookies that came back
	Slowest  time.Duration `json:"slowest_ns"`          // longest time until a cookie came back
	Mean     time.Duration `json:"mean_ns"`             // arithmetic mean
	Full     Stalls        `json:"full"`                // times in which as many cookies as there are peer credits were under way
	Unknown  uint64        `json:"forgotten,omitempty"` // cookies that were not followed, because too many were under way
}

// cookies are the zero-copy cookies of one side of a link that did not come back yet.
type cookies struct {
	waiting []cookie
	total   time.Duration // how long the cookies that came back were under way, all together
	full    stall
}

type cookie struct {
	number uint64
	at     time.Duration
}

// zeroCopy processes the cookies in the header of a message or NOOP of socklnd: the cookie of the
// message itself, and those that come back.
func (l *link) zeroCopy(a *Analyzer, now time.Duration, side int, r *capture.Record) {
	if r.Kind == capture.Message && !r.Framed {
		return
	}
	if number := r.Ksock.Request(); number != 0 {
		l.sides[side].asked(a, now, number)
	}
	if acks, err := r.Ksock.Acks(); err == nil && acks.Len() > 0 {
		l.sides[1-side].acked(a, now, acks.Contains)
	}
}

// asked notes a cookie that this side has sent and that has to come back.
func (s *linkSide) asked(a *Analyzer, now time.Duration, number uint64) {
	z, c := &s.sum.ZeroCopy, &s.cookies
	z.Requests++
	if len(c.waiting) >= a.limits.cookies {
		z.Unknown++
		a.sum.Forgotten.Cookies++
		return
	}
	c.waiting = append(c.waiting, cookie{number, now})
	c.full.set(a, now, len(c.waiting) >= a.cfg.PeerCredits, &z.Full)
}

// acked ends the wait for the cookies that came back: those for which contains returns true.
func (s *linkSide) acked(a *Analyzer, now time.Duration, contains func(uint64) bool) {
	z, c := &s.sum.ZeroCopy, &s.cookies
	kept := c.waiting[:0]
	for _, w := range c.waiting {
		if !contains(w.number) {
			kept = append(kept, w)
			continue
		}
		took := max(0, now-w.at)
		z.Acked++
		z.Slowest = max(z.Slowest, took)
		c.total += took
		z.Mean = c.total / time.Duration(z.Acked)
	}
	c.waiting = kept
	c.full.set(a, now, len(c.waiting) >= a.cfg.PeerCredits, &z.Full)
}

// giveUp makes a side stop waiting for cookies, because they cannot come back any more.
func (s *linkSide) giveUp(a *Analyzer, now time.Duration) {
	s.cookies.waiting = nil
	s.cookies.full.set(a, now, false, &s.sum.ZeroCopy.Full)
}

// Silence is about times in which nothing came over a link while it had connections.
type Silence struct {
	Longest time.Duration `json:"longest_ns"`     // the longest silence
	Since   time.Duration `json:"since_ns"`       // when the longest silence began, since the start of the capture
	Gaps    uint64        `json:"keepalive_gaps"` // silences that were longer than keepalive allows
}

// add counts the silence between two instants, and reports whether it was longer than keepalive allows. limit is the
// longest silence that keepalive allows; 0 if there is no such limit.
func (s *Silence) add(from, to, limit time.Duration) (gap bool) {
	length := to - from
	if length > s.Longest {
		s.Longest, s.Since = length, from
	}
	if gap = limit > 0 && length > limit; gap {
		s.Gaps++
	}
	return gap
}
