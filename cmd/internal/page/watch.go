package page

import (
	"context"
	"sync"
	"time"

	"ulnet/lnet"
)

// WatchInterval is the usual time between two looks at the NIs, routes and peers of a node.
const WatchInterval = 2 * time.Second

// maxWatched is the number of peers above which Watch ignores changes of peers: looking at more peers
// takes more than a few milliseconds.
const maxWatched = 10_000

// Watch looks at the NIs, routes and peers of a node, first at once and then at each interval, and
// keeps the changes as events, until stop is called. It takes the locks that 'lnetctl peer show' takes,
// each for the time in which one object is copied. stop waits until the present look has ended, or ctx
// ends: a look at a node that is stuck may never end.
func (r *Recent) Watch(node *lnet.Node, interval time.Duration) (stop func(context.Context)) {
	return r.watch(func(c *changes) []Event { return c.look(node) }, interval)
}

func (r *Recent) watch(look func(*changes) []Event, interval time.Duration) (stop func(context.Context)) {
	quit, ended := make(chan struct{}), make(chan struct{})
	var c changes
	r.changed(look(&c)) // the first look yields no events; the next one is compared with it
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for waits(tick.C, quit) {
			r.changed(look(&c))
		}
	}()
	end := sync.OnceFunc(func() { close(quit) })
	return func(ctx context.Context) {
		end()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// waits waits for a tick and returns true, or returns false if quit is closed, even if a tick has come.
func waits(tick <-chan time.Time, quit <-chan struct{}) bool {
	select {
	case <-tick:
	case <-quit:
	}
	select {
	case <-quit:
		return false
	default:
		return true
	}
}

// look looks at a node, and returns the events.
func (c *changes) look(node *lnet.Node) []Event {
	c.begin(time.Now())
	peers, kinds := 0, []kind{anNI, aRoute, aPeer}
	for _, n := range node.Overview().NIs {
		peers += n.PeerCount
		if !n.NID.IsLo() {
			c.see(subject{kind: anNI, nid: n.NID}, condition{n.Status != "up", n.Health < maxHealth, n.Cause})
		}
	}
	for _, r := range node.Routes() {
		c.see(subject{kind: aRoute, nid: r.Gateway, net: r.Net.String()}, condition{down: !r.Alive, cause: r.Reason})
	}
	if peers > maxWatched {
		kinds = kinds[:2]
	} else {
		node.EachPeer(func(p *lnet.PeerSnapshot) {
			if !p.NID.IsLo() {
				c.see(subject{kind: aPeer, nid: p.NID, via: p.Via}, condition{p.State == "down", p.Health < maxHealth, p.Cause})
			}
		})
	}
	return c.end(kinds...)
}
