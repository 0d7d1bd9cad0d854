package collective

import (
	"fmt"
	"log/slog"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// call is a broadcast that this server sends.
type call struct {
	done    func(health.Outcome)
	servers *scoll.Membership // the membership when the broadcast began
	gathering
}

// Broadcast implements health.Broadcaster. It reaches the other live servers; this server's own
// answer is not part of the outcome.
func (b *Broadcaster) Broadcast(request []byte, done func(health.Outcome)) {
	b.stats.broadcasts.Add(1)
	if err := b.send(request, done); err != nil {
		b.stats.unsent.Add(1)
		b.cfg.Clock.AfterFunc(0, func() { done(health.Outcome{Err: err}) }) // in another goroutine, after Broadcast has returned
	}
}

// send begins a request. If it returns an error, nothing was sent.
func (b *Broadcaster) send(request []byte, done func(health.Outcome)) error {
	batch, err := wire.ParseBatch(request)
	if err != nil {
		return err
	}
	c := &call{done: done, servers: b.servers(), gathering: gathering{entries: batch.Entries.Len()}}
	r, err := b.group.NewRequest(scoll.RequestConfig{Payload: request, Live: true, Processing: b.cfg.Processing, Private: c})
	if err == nil {
		err = c.begin(r)
	}
	if err == nil {
		err = r.Send()
	}
	if err != nil {
		return fmt.Errorf("broadcast an eviction: %w", err)
	}
	return nil
}

// begin posts the buffers for the answers to one attempt of the request.
func (c *call) begin(r *scoll.Request) error {
	c.reset()
	return post(r, c.entries)
}

// complete makes the outcome of a broadcast.
func (b *Broadcaster) complete(r *scoll.Request, c *call) {
	if status := r.Status(); status != scoll.OK {
		b.stats.unsent.Add(1)
		c.done(health.Outcome{Err: fmt.Errorf("broadcast an eviction: %w", status)})
		return
	}
	answered := map[nid.NID]bool{r.NID(): true}
	for i := range r.Children() {
		for _, id := range r.ChildNIDs(i) {
			answered[id] = true
		}
	}
	for _, u := range r.Unreached() {
		answered[u.NID] = false
		b.cfg.Log.Debug("no answer to an eviction", slog.Any("nid", u.NID), slog.Any("err", u.Status))
	}
	answer := c.all()
	for _, id := range answer.Absent {
		answered[id] = false
	}
	o := health.Outcome{Reply: answer.Reply.AppendTo(nil)}
	for rank := range c.servers.Len() {
		if id := c.servers.NID(rank); !answered[id] && id != r.NID() {
			o.Missing = append(o.Missing, id)
		}
	}
	c.done(o)
}
