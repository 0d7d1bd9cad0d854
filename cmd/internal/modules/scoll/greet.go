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
	maxGreeted   = 64 // largest number of members to greet at the start
	greetAtATime = 4
	greetTimeout = 2 * time.Second
)

// greet sends LNet pings to other members of the configuration's groups, to open connections to
// them. A member that failed to connect to this node before this node was up does not try again
// for up to max_reconnectms, and in that time its broadcasts would not reach this node. A
// connection from this node ends that wait. If gossip runs, this is not necessary.
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

// greeted returns the members to greet: first this node's parents in the trees of those roots
// that may run actions here, then the others.
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
