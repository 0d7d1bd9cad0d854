package softroce

import (
	"bytes"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// TestAllowanceTake: one queue pair, or several in turn, take one packet at a time until none is
// granted any more. Then each has as many packets in flight as the table says, or one more.
func TestAllowanceTake(t *testing.T) {
	for _, test := range []struct{ ends, most, each int }{
		{1, 100, 80}, {2, 100, 44}, {4, 100, 23}, {10, 100, 9}, {200, 100, 1}, {1, 0, 1}, {3, 1, 1},
	} {
		a := &allowance{most: int64(test.most)}
		onWay := make([]int, test.ends)
		for range 1000 {
			for i := range onWay {
				onWay[i] += a.take(onWay[i], 1)
			}
		}
		for i, n := range onWay {
			if n < test.each || n > test.each+1 {
				t.Errorf("%d ends of %d packets: end %d has %d, want %d", test.ends, test.most, i, n, test.each)
			}
			a.give(n)
		}
		if a.used.Load() != 0 {
			t.Errorf("%d left", a.used.Load())
		}
	}
	if n := (*allowance)(nil).take(3, 1000); n != 1000 {
		t.Errorf("without a bound %d", n)
	}
}

// TestAllowanceShared: eight connections send at once over links without loss. Together they
// stay within the allowance, none waits for a probe, and at the end all of the allowance is
// given back.
func TestAllowanceShared(t *testing.T) {
	const most, ends = 40, 8
	a := &allowance{most: most}
	bulk := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // 320,000 bytes: 313 packets
	var pairs []*pair
	for i := range uint64(ends) {
		p := newPair(t, i, weather{delay: time.Millisecond}, func(c *rcConfig) {
			if c.ID == 0 {
				c.Allowance = a
			}
		})
		p.post(0, p.write(0, 1, 0, bulk), send(2, []byte("done")))
		pairs = append(pairs, p)
	}
	highest := int64(0)
	for now := time.Duration(0); now < time.Second; now += 100 * time.Microsecond {
		for _, p := range pairs {
			p.run(now)
			highest = max(highest, a.used.Load())
		}
	}
	if highest > most+ends || highest < most/2 { // beyond the allowance, each end may have one packet in flight
		t.Errorf("%d packets on the way, of %d", highest, most)
	}
	for i, p := range pairs {
		c := p.ends[0].counters
		if len(p.got[1]) != 1 || !bytes.Equal(p.memory[1].bytes[:len(bulk)], bulk) || c.Probes+c.Resent != 0 {
			t.Errorf("pair %d: %d messages, %+v", i, len(p.got[1]), c)
		}
	}
	if n := a.used.Load(); n != 0 {
		t.Errorf("%d packets are not given back", n)
	}
}

// TestAllowanceGivenBack: the allowance is given back in full although links lose packets and
// connections fail.
func TestAllowanceGivenBack(t *testing.T) {
	a := &allowance{most: 20}
	for seed := range uint64(5) {
		p := newPair(t, seed, weather{delay: time.Millisecond, jitter: time.Millisecond, loss: 0.05, duplicate: 0.05}, func(c *rcConfig) { c.Allowance = a })
		bulk := bytes.Repeat([]byte{byte(seed + 1)}, 100_000)
		for i := range 2 {
			p.post(i, p.write(i, 1, 0, bulk), send(2, []byte("done")))
		}
		p.run(time.Minute)
		if len(p.got[0])+len(p.got[1]) != 2 || a.used.Load() != 0 {
			t.Fatalf("seed %d: %d packets are not given back", seed, a.used.Load())
		}
		p.link.drop = func(int, *ibta.Packet) bool { return true }
		p.post(0, p.write(0, 3, 0, bulk))
		if a.used.Load() == 0 {
			t.Fatal("nothing is on the way")
		}
		p.run(p.now + time.Minute)
		if p.failed[0] != verbs.RetryExceeded || a.used.Load() != 0 {
			t.Fatalf("seed %d: %v, %d packets are not given back", seed, p.failed[0], a.used.Load())
		}
	}
}

// TestPostAtTheEnd: a request that is posted in the same step in which the last retry of another one
// fails is flushed.
func TestPostAtTheEnd(t *testing.T) {
	p := newPair(t, 1, weather{}, func(c *rcConfig) { c.RetryCount = 0 })
	p.link.drop = func(int, *ibta.Packet) bool { return true }
	p.post(0, send(1, []byte("one")))
	p.now = time.Minute
	p.post(0, send(2, []byte("two")))
	want := []verbs.Status{verbs.RetryExceeded, verbs.Flushed}
	if len(p.done[0]) != 2 || p.done[0][0].Status != want[0] || p.done[0][1].Status != want[1] {
		t.Errorf("%+v", p.done[0])
	}
}

// TestAllowanceUsedUp: the packets in flight of a queue pair request no ACK, and the allowance is
// used up. The queue pair sends one packet more than it is allowed, which requests an ACK, instead
// of waiting for a probe.
func TestAllowanceUsedUp(t *testing.T) {
	a := &allowance{most: 40}
	p := newPair(t, 1, weather{delay: 50 * time.Microsecond}, func(cfg *rcConfig) { cfg.Allowance = a })
	p.post(0, send(1, make([]byte, 4*testMTU)))                         // the last packet requests an ACK
	p.post(0, p.write(0, 2, 0, make([]byte, 30*testMTU)), send(3, nil)) // the first 12 packets request no ACK
	others := a.take(0, 1000)
	others += a.take(0, 1000) + a.take(0, 1000)
	p.run(time.Second)
	if c := p.ends[0].counters; c.Probes != 0 || len(p.done[0]) != 2 {
		t.Errorf("%+v, %d done", c, len(p.done[0]))
	}
	if a.give(others); a.used.Load() != 0 {
		t.Errorf("%d packets are not given back", a.used.Load())
	}
	p.explain()
}

// besideSilent returns how long a connection takes to write 1 MiB, while others with the same allowance
// have sent to hosts that are gone.
func besideSilent(t *testing.T, silent int) time.Duration {
	a := &allowance{most: 8}
	shared := func(c *rcConfig) {
		if c.ID == 0 {
			c.Allowance = a
		}
	}
	var pairs []*pair
	for i := range silent {
		p := newPair(t, uint64(i), weather{drop: func(int, *ibta.Packet) bool { return true }}, shared)
		p.post(0, send(1, make([]byte, 3000)))
		pairs = append(pairs, p)
	}
	live := newPair(t, 100, weather{delay: 200 * time.Microsecond}, shared)
	live.post(0, live.write(0, 1, 0, make([]byte, 1<<20)), send(2, nil))
	for now := time.Duration(0); len(live.done[0]) == 0; now += 100 * time.Microsecond {
		if now > time.Minute {
			t.Fatalf("nothing is done beside %d", silent)
		}
		for _, p := range append(pairs, live) {
			p.run(now)
		}
	}
	took := live.now
	for _, p := range pairs {
		p.run(time.Minute)
	}
	if n := a.used.Load(); n != 0 {
		t.Errorf("%d packets are not given back", n)
	}
	return took
}

// TestAllowanceBesideSilent: packets to hosts that do not answer take no part of the allowance for long.
func TestAllowanceBesideSilent(t *testing.T) {
	alone := besideSilent(t, 0)
	if took := besideSilent(t, 10); took > 2*alone {
		t.Errorf("1 MiB take %v beside connections to silent hosts, %v alone", took, alone)
	}
}

// TestAllowanceOfStopped: connections whose peer is stopped for 100 ms send no more than the allowance in
// that time, and go on as soon as it answers. The packets wait in its socket meanwhile.
func TestAllowanceOfStopped(t *testing.T) {
	const most, ends, stopped, trip = 20, 4, 100 * time.Millisecond, 50 * time.Microsecond
	a := &allowance{most: most}
	var pairs []*pair
	for i := range uint64(ends) {
		p := newPair(t, i, weather{delay: stopped}, func(c *rcConfig) {
			if c.ID == 0 {
				c.Allowance = a
			}
		})
		p.post(0, p.write(0, 1, 0, make([]byte, 60*testMTU)), send(2, nil))
		pairs = append(pairs, p)
	}
	for now := time.Duration(0); now < stopped; now += time.Millisecond {
		for _, p := range pairs {
			p.run(now)
			p.link.delay = max(trip, stopped-now)
		}
	}
	sent := 0
	for _, p := range pairs {
		sent += p.sent[0] - int(p.ends[0].counters.Probes)
	}
	if sent > most+ends {
		t.Errorf("%d packets wait in the socket of the peer, of %d", sent, most)
	}
	for now := stopped; now < stopped+10*time.Millisecond; now += trip {
		for _, p := range pairs {
			p.run(now)
			p.link.delay = trip
		}
	}
	for i, p := range pairs {
		if c := p.ends[0].counters; len(p.done[0]) != 1 || c.Timeouts+c.Resent != 0 {
			t.Errorf("pair %d: %d done, %+v", i, len(p.done[0]), c)
		}
	}
	if n := a.used.Load(); n != 0 {
		t.Errorf("%d packets are not given back", n)
	}
}
