package scoll

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
)

const (
	maxGreeted   = 64 // members, at the start
	greetAtATime = 4
	greetTimeout = 2 * time.Second
)

// greet opens connections to other members of the configuration's groups, by
// LNet pings. Who has tried in vain to reach this node before it was there does
// not try again for up to max_reconnectms, and broadcasts would miss this node
// for so long; when it comes itself that is over. Gossip needs no help.
func (c *collective) greet(ctx context.Context) {
	todo := make(chan nid.NID)
	for range greetAtATime {
		c.workers.Go(func() {
			for id := range todo {
				_, err := discovery.Ping(ctx, c.m.Table, nid.ProcessID{NID: id, PID: nid.LustrePID}, discovery.PingOptions{Source: c.self, Timeout: greetTimeout})
				c.m.Log.Debug("greeted", slog.Any("member", id), slog.Any("err", err))
			}
		})
	}
	defer close(todo)
	for _, id := range c.greeted() {
		select {
		case todo <- id:
		case <-ctx.Done():
			return
		}
	}
}

// greeted returns whom to greet: first those from whom requests come, if a root
// is who may have actions run here, then the others.
func (c *collective) greeted() (list []nid.NID) {
	add := func(id nid.NID) {
		if id.IsValid() && id != c.self && len(list) < maxGreeted && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	for _, others := range []bool{false, true} {
		for _, g := range c.cfg.Groups {
			named, err := c.group(g.Name)
			if err != nil || !slices.Contains(g.NIDs, c.self) {
				continue
			}
			for _, id := range g.NIDs {
				switch {
				case others:
					add(id)
				case slices.ContainsFunc(c.cfg.Admin.AllowRoots, func(s nid.Set) bool { return s.Has(id) }):
					add(parents(named.members, named.tree, id)(c.self))
				}
				if len(list) == maxGreeted {
					return list
				}
			}
		}
	}
	return list
}
