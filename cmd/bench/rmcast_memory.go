package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Of the group whose memory is watched.
const (
	castSources = 8
	memoryBytes = 2 << 10
)

// measureCastMemory is G-RM-5: all members of a group send at the same time, on
// loopback, in this process, while another one joins and leaves again and again.
func measureCastMemory(ctx context.Context, b *bench) ([]line, error) {
	each, joins := pick(b, 200, 10_000, 100_000), pick(b, 2, 50, 50)
	g, err := newCastCrowd()
	if err != nil {
		return nil, err
	}
	defer g.close()
	before := liveHeap()
	peak, streams, changes, took, err := g.run(ctx, each, joins)
	if err != nil {
		return nil, err
	}
	// Every member keeps a window of each origin, and so does who comes and goes.
	limit := float64((len(g.members)+1)*len(g.members)) * castWindow * (memoryBytes + wire.HeaderSize)
	kept, versions, err := g.settle(ctx)
	if err != nil {
		return nil, err
	}
	basis := fmt.Sprintf("%d sources x %d messages of %d bytes in %v, %d joins and leaves", len(g.members), each, memoryBytes, took.Round(time.Second), changes)
	return []line{
		{what: "heap of all members, to their windows x size", ratio: float64(max(peak, before)-before) / limit, limit: 1, basis: fmt.Sprintf("%.1f : %.1f MB; %s", float64(max(peak, before)-before)/1e6, limit/1e6, basis)},
		{what: "datagrams of one origin that are kept, to its window, worst", ratio: float64(streams) / castWindow, limit: 1, basis: fmt.Sprintf("%d : %d", streams, castWindow)},
		{what: "datagrams that are kept in the end", ratio: float64(kept), unit: "datagrams", basis: basis},
		{what: "lists of members that are kept in the end, beyond the newest", ratio: float64(versions), unit: "lists", basis: "of all members; " + basis},
		{what: "messages missing, twice or altered at the sources", ratio: float64(g.wrong(each)), unit: "messages", basis: basis},
	}, nil
}

// castCrowd is the members of such a group, and one who comes and goes.
type castCrowd struct {
	members []*caster
	guest   *caster
}

func newCastCrowd() (g *castCrowd, err error) {
	g = new(castCrowd)
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	setup := memberSetup{Window: castWindow, Fragment: memoryBytes}
	for i := range castSources + 1 {
		setup.Addrs = append(setup.Addrs, netip.AddrFrom4([4]byte{127, 0, 4, byte(i + 1)}))
	}
	if setup.Port, err = loopback.FreePort(setup.Addrs...); err != nil {
		return g, err
	}
	for setup.Rank = range setup.Addrs {
		c, err := newCaster(setup)
		if c != nil && setup.Rank < castSources {
			g.members = append(g.members, c)
		} else {
			g.guest = c
		}
		if err != nil {
			return g, err
		}
	}
	for _, c := range append(g.members, g.guest) {
		if err := c.gather(len(setup.Addrs)); err != nil {
			return g, fmt.Errorf("the group does not form: %w", err)
		}
	}
	return g, nil
}

// run has all send, and returns the largest heap that was seen meanwhile, how many
// datagrams of an origin a member kept at most, and how often the guest came or went.
func (g *castCrowd) run(ctx context.Context, each, joins int) (peak uint64, most, changes int, took time.Duration, err error) {
	began := time.Now()
	errs := make(chan error, len(g.members))
	var wg sync.WaitGroup
	for _, c := range g.members {
		wg.Go(func() {
			_, err := c.stream(casterOrder{Bytes: memoryBytes, Count: each})
			errs <- err
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	managers := []nid.NID{g.members[0].id.NID}
	for running := true; running; {
		if changes < 2*joins {
			if err = g.change(ctx, managers, changes%2 == 1); err != nil {
				break
			}
			changes++
		}
		peak = max(peak, liveHeap())
		for _, c := range g.members {
			for _, s := range c.group.Status().Streams {
				most = max(most, int(s.Head-min(s.Stable, s.Head)))
			}
		}
		select {
		case <-ended:
			running = false
		case <-ctx.Done():
			err = ctx.Err()
			running = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	<-ended
	for range g.members {
		if failed := <-errs; err == nil {
			err = failed
		}
	}
	return peak, most, changes, time.Since(began), err
}

// change has the guest leave, or join.
func (g *castCrowd) change(ctx context.Context, managers []nid.NID, join bool) error {
	ctx, cancel := context.WithTimeout(ctx, casterPatience)
	defer cancel()
	if !join {
		return g.guest.group.Leave(ctx)
	}
	if err := g.guest.join(managers); err != nil {
		return err
	}
	return g.guest.group.Ready(ctx)
}

// settle waits until nothing is kept any more, and returns what is.
func (g *castCrowd) settle(ctx context.Context) (datagrams, versions int, err error) {
	look := func() bool {
		datagrams, versions = 0, 0
		for _, c := range g.members {
			s := c.group.Status()
			versions += s.Versions - 1
			for _, stream := range s.Streams {
				datagrams += int(stream.Head - min(stream.Stable, stream.Head))
			}
		}
		return datagrams == 0 && versions == 0
	}
	if err := await(ctx, casterPatience, look); err != nil && ctx.Err() != nil {
		return 0, 0, err
	}
	return datagrams, versions, nil
}

// wrong is how many messages the sources did not get once.
func (g *castCrowd) wrong(each int) (n uint64) {
	want := uint64(len(g.members) * each)
	for _, c := range g.members {
		r := c.receipts.seen()
		n += max(want, r.Messages) - min(want, r.Messages) + r.Twice + r.Wrong
	}
	return n
}

func (g *castCrowd) close() {
	for _, c := range append(g.members, g.guest) {
		if c != nil {
			c.close()
		}
	}
}
