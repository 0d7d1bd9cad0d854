package scoll

import (
	"log/slog"
	"slices"
	"time"

	"ulnet/scoll/engine"
)

// The watchdog reports callbacks that block although they must not. Only an IncomingRequest
// that is not Inline may block. The watchdog has no timer of its own: it checks the running
// callbacks when another one begins, when one has returned, and when a timer of the agent expires.
// The latter happens even if all callbacks block, because their requests have timeouts.

const (
	slowAfter = 100 * time.Millisecond // a callback that takes longer is slow
	slowEvery = time.Minute            // time between two warnings about a service
)

// slowCall is a slow callback.
type slowCall struct {
	service  ServiceID
	kind     engine.EffectKind
	took     time.Duration
	returned bool
	unsaid   uint64 // slow callbacks of the service that were not logged since the last warning
}

// slowOf is the state of a service whose callbacks were slow.
type slowOf struct {
	next   time.Duration // when the next warning may be logged
	unsaid uint64
}

// SlowCallbacks counts the callbacks that have taken longer than 100 ms, including those that
// have not returned. IncomingRequest counts only if the service is Inline. The agent logs
// them at most once a minute per service.
func (a *Agent) SlowCallbacks() uint64 { return a.due.slow.Load() }

// begins records the start of a call. The caller holds d.mu.
func (d *due) begins(c *call, now time.Duration) {
	c.began, c.of = now, c.service()
	d.running = append(d.running, c)
}

// ends records that a call has returned. The caller holds d.mu.
func (d *due) ends(c *call, now time.Duration) {
	if i := slices.Index(d.running, c); i >= 0 {
		d.running = slices.Delete(d.running, i, i+1)
	}
	d.judge(c, now, true)
}

// look checks the running calls. The caller holds d.mu.
func (d *due) look(now time.Duration) {
	for _, c := range d.running {
		d.judge(c, now, false)
	}
}

// judge counts a call if it is slow, once. The caller holds d.mu.
func (d *due) judge(c *call, now time.Duration, returned bool) {
	if c.slow || now-c.began < slowAfter {
		return
	}
	c.slow = true
	d.slow.Add(1)
	id := c.of
	if d.slowOf == nil {
		d.slowOf = make(map[ServiceID]*slowOf)
	}
	of := d.slowOf[id]
	if of == nil {
		of = &slowOf{next: now}
		d.slowOf[id] = of
	}
	if now < of.next {
		of.unsaid++
		return
	}
	d.unsaid = append(d.unsaid, slowCall{id, c.kind, now - c.began, returned, of.unsaid})
	of.next, of.unsaid = now+slowEvery, 0
	d.warns.Store(true)
}

// service returns the number of the service that is called, 0 if it has been unregistered meanwhile.
func (c *call) service() ServiceID {
	switch {
	case c.r != nil && c.r.service != nil:
		return c.r.service.ID
	case c.made != nil:
		return c.made.service
	case c.maps != nil:
		return c.maps.ID
	}
	return 0
}

// watch checks for slow callbacks.
func (a *Agent) watch() {
	a.due.mu.Lock()
	if len(a.due.running) > 0 {
		a.due.look(a.cfg.Clock.Now())
	}
	a.due.mu.Unlock()
	a.warnSlow()
}

// warnSlow logs the slow callbacks. The caller holds no lock.
func (a *Agent) warnSlow() {
	if !a.due.warns.Swap(false) {
		return
	}
	a.due.mu.Lock()
	list := a.due.unsaid
	a.due.unsaid = nil
	a.due.mu.Unlock()
	for _, s := range list {
		text := "scoll: a callback took long: nothing else is delivered on its connection meanwhile"
		if !s.returned {
			text = "scoll: a callback has not returned: nothing else is delivered on its connection meanwhile"
		}
		a.log.Warn(text, slog.Uint64("service", uint64(s.service)), slog.String("callback", callback(s.kind)),
			slog.Duration("took", s.took), slog.Uint64("more", s.unsaid))
	}
}

// callback returns the name of the callback that an effect calls.
func callback(kind engine.EffectKind) string {
	switch kind {
	case engine.CallMap:
		return "MapGroup"
	case engine.CallPreRequest:
		return "PreRequest"
	case engine.CallIncoming:
		return "IncomingRequest"
	case engine.CallReply:
		return "IncomingReply"
	case engine.CallReplyOut:
		return "ReplyOut"
	case engine.Created:
		return "GroupConfig.Done"
	default:
		return "PostReply" // CallPostReply, the only other effect of which the agent makes a call
	}
}
