package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Parameters of the group whose memory is measured.
const (
	castSources = 8
	memoryBytes = 2 << 10
)

// measureCastMemory measures goal G-RM-5: all members of a group, which are in this process,
// send at the same time over loopback, while another member joins and leaves again and again.
func measureCastMemory(b *measurement) {
	each, joins := pick(b, 200, 10_000, 100_000), pick(b, 2, 50, 50)
	g := newChurningGroup(b)
	defer g.close()
	before := liveHeap()
	peak, streams, changes, took := g.run(b, each, joins)
	// Every member, including the guest, may buffer a window of datagrams of each origin.
	limit := float64((len(g.members)+1)*len(g.members)) * castWindow * (memoryBytes + wire.HeaderSize)
	kept, versions := g.settle(b)
	basis := fmt.Sprintf("%d sources x %d messages of %d bytes in %v, %d joins and leaves", len(g.members), each, memoryBytes, took.Round(time.Second), changes)
	b.add(
		line{what: "heap of all members, to their windows x size", ratio: float64(max(peak, before)-before) / limit, limit: 1, basis: fmt.Sprintf("%.1f : %.1f MB; %s", float64(max(peak, before)-before)/1e6, limit/1e6, basis)},
		line{what: "datagrams of one origin that are kept, to its window, worst", ratio: float64(streams) / castWindow, limit: 1, basis: fmt.Sprintf("%d : %d", streams, castWindow)},
		line{what: "datagrams that are kept in the end", ratio: float64(kept), unit: "datagrams", basis: basis},
		line{what: "lists of members that are kept in the end, beyond the newest", ratio: float64(versions), unit: "lists", basis: "of all members; " + basis},
		line{what: "messages missing, twice or altered at the sources", ratio: float64(g.wrong(each)), unit: "messages", basis: basis},
	)
}

// churningGroup consists of the members of the group that measureCastMemory measures, and a
// guest that joins and leaves it again and again.
type churningGroup struct {
	members []*caster
	guest   *caster
}

func newChurningGroup(b *measurement) *churningGroup {
	g := new(churningGroup)
	setup := memberSetup{Window: castWindow, Fragment: memoryBytes}
	for i := range castSources + 1 {
		setup.Addrs = append(setup.Addrs, netip.AddrFrom4([4]byte{127, 0, 4, byte(i + 1)}))
	}
	setup.Port = must(loopback.FreePort(setup.Addrs...))
	for setup.Rank = range castSources {
		g.members = append(g.members, newCaster(setup))
	}
	setup.Rank = castSources
	g.guest = newCaster(setup)
	for _, c := range append(g.members, g.guest) {
		if err := c.gather(len(setup.Addrs)); err != nil {
			b.check(fmt.Errorf("the group does not form: %w", err))
		}
	}
	return g
}

// run makes all members send. It returns the largest live heap in that time, the largest number
// of datagrams of one origin that a member buffered, how often the guest joined or left, and how
// long it took.
func (g *churningGroup) run(b *measurement, each, joins int) (peak uint64, most, changes int, took time.Duration) {
	began := time.Now()
	ended := make(chan error, len(g.members))
	for _, c := range g.members {
		go func() {
			_, err := c.stream(casterOrder{Bytes: memoryBytes, Count: each})
			ended <- err
		}()
	}
	managers := []nid.NID{g.members[0].id.NID}
	for sending := len(g.members); sending > 0; {
		if changes < 2*joins {
			g.change(b.ctx, managers, changes%2 == 1)
			changes++
		}
		peak = max(peak, liveHeap())
		for _, c := range g.members {
			for _, s := range c.group.Status().Streams {
				most = max(most, int(s.Head-min(s.Stable, s.Head)))
			}
		}
		select {
		case err := <-ended:
			b.check(err)
			sending--
		case <-b.ctx.Done():
			b.check(nil)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return peak, most, changes, time.Since(began)
}

// change makes the guest join or leave.
func (g *churningGroup) change(ctx context.Context, managers []nid.NID, join bool) {
	ctx, cancel := context.WithTimeout(ctx, casterPatience)
	defer cancel()
	if !join {
		succeed(g.guest.group.Leave(ctx))
		return
	}
	g.guest.join(managers)
	succeed(g.guest.group.Ready(ctx))
}

// settle waits, at most for casterPatience, until the members have freed all buffered datagrams and
// all rosters except the newest. It returns how many of these datagrams and rosters are left.
func (g *churningGroup) settle(b *measurement) (datagrams, versions int) {
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
	_ = await(b.ctx, casterPatience, look) // a timeout is no error here, because the caller gets what is left
	b.check(nil)
	return datagrams, versions
}

// wrong returns the number of messages that members did not receive exactly once.
func (g *churningGroup) wrong(each int) (n uint64) {
	want := uint64(len(g.members) * each)
	for _, c := range g.members {
		r := c.receipts.seen()
		n += max(want, r.Messages) - min(want, r.Messages) + r.Twice + r.Wrong
	}
	return n
}

func (g *churningGroup) close() {
	for _, c := range append(g.members, g.guest) {
		c.close()
	}
}
