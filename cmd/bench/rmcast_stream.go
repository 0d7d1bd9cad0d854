package main

import (
	"fmt"
	"time"

	"ulnet/cmd/bench/worker"
)

// castWindow is the window of streams, in datagrams.
const castWindow = 128

// castStreams is a group of processes for streams.
type castStreams struct {
	*castProcesses
	lab *castLab
}

func (l *castLab) streams(members int) *castStreams {
	s := &castStreams{l.group(members, memberSetup{Window: castWindow}), l}
	// Each member sends a message first, which opens the connections.
	for _, p := range s.Crew {
		must(worker.Ask[latencies](p, "ours", casterOrder{Bytes: castBytes, Warm: 5}))
	}
	must(worker.AskAll[bool](s.Crew, "forget", nil))
	return s
}

// castCounts are the totals of a stream.
type castCounts struct {
	casterReceipts
	Missing uint64
	Sent    uint64 // number of datagrams that were sent
	Repairs uint64
}

// stream makes a member send, and returns how long that took, and the totals of all members.
// Each member should have received every message once.
func (s *castStreams) stream(member int, o casterOrder) (took time.Duration, n castCounts) {
	before := s.reports()
	took = must(worker.Ask[time.Duration](s.Crew[member], "stream", o))
	for i, after := range s.reports() {
		got := after.Received.Messages - before[i].Received.Messages
		n.Missing += uint64(o.Count) - min(got, uint64(o.Count))
		n.Twice += after.Received.Twice - before[i].Received.Twice
		n.Wrong += after.Received.Wrong - before[i].Received.Wrong
		n.Sent += after.Sent - before[i].Sent
		n.Repairs += after.Repairs - before[i].Repairs
	}
	s.lab.check(nil)
	return took, n
}

// exact makes the first member send, and ends the measurement unless every message arrives
// once.
func (s *castStreams) exact(o casterOrder) (took time.Duration, n castCounts) {
	took, n = s.stream(0, o)
	if n.Missing+n.Twice+n.Wrong > 0 {
		s.lab.check(fmt.Errorf("not every message came once: %+v", n))
	}
	return took, n
}

// blast makes the origin send plain datagrams. It returns the rate at which they were sent, and
// the share of them that a receiver got on average.
func (s *castStreams) blast(o casterOrder) (rate, came float64) {
	must(worker.AskAll[bool](s.Crew, "forget", nil))
	took := must(worker.Ask[time.Duration](s.Crew[0], "blast", o))
	s.lab.check(wait(s.lab.ctx, 20*time.Millisecond)) // wait until all datagrams have arrived
	all := s.reports()
	for _, r := range all {
		came += float64(r.Plain)
	}
	return float64(o.Count) / took.Seconds(), came / float64(o.Count*(len(all)-1))
}

// setLoss drops a share of the multicast datagrams, or of all packets, to all members except the
// first.
func (l *castLab) setLoss(share float64, everything bool) {
	for i, h := range l.hosts[1:] {
		if everything {
			l.cables[i+1].SetLoss(h, share)
		} else {
			l.cables[i+1].SetMulticastLoss(h, share)
		}
	}
}

// measureCastGoodput measures goal G-RM-7, and the goodput compared with plain multicast.
func measureCastGoodput(b *measurement) {
	n := must(compileNORM(b.ctx))
	defer n.remove()
	lines := []line{
		{what: "2 KiB messages to 7 receivers, window of 128, to plain UDP multicast", least: true, limit: 0.5},
		{what: "goodput to 8 receivers, 1 % of the group's datagrams lost, best of all rates, to NORM", least: true, limit: 1, skipped: n.missing},
	}
	missing := b.inCastLab(pick(b, 4, 9, 9), func(l *castLab) {
		l.besidePlain(&lines[0])
		if n.missing == "" {
			l.besideNORM(n, &lines[1])
		}
	})
	if missing != "" {
		skip(lines, missing)
	}
	b.add(lines...)
}

// besidePlain compares the goodput of streams with that of plain datagrams that are not
// acknowledged.
func (l *castLab) besidePlain(to *line) {
	s := l.streams(pick(l.measurement, 3, 8, 8))
	defer s.Stop()
	var ours, plain, came []float64
	repairs := uint64(0)
	o := casterOrder{Bytes: castBytes, Count: pick(l.measurement, 500, 10_000, 30_000)}
	for round := range pick(l.measurement, 1, 5, l.rounds) + 1 {
		took, n := s.exact(o)
		rate, share := s.blast(o)
		if round == 0 {
			continue
		}
		ours, plain, came = append(ours, float64(o.Count)/took.Seconds()), append(plain, rate), append(came, share)
		repairs += n.Repairs
	}
	to.ratio = compare(ours, plain)
	to.basis = fmt.Sprintf("%.0f : %.0f messages/s, of which %.1f %% came; %d payloads sent again; links of %d bytes", median(ours), median(plain), 100*median(came), repairs, castMTU)
}

// besideNORM makes rmcast and NORM send at the same rates, and compares their best goodput.
func (l *castLab) besideNORM(n norm, to *line) {
	s := l.streams(len(l.hosts))
	defer s.Stop()
	l.setLoss(0.01, false)
	rates := pick(l.measurement, []float64{2000}, []float64{2000, 5000, 10_000, 20_000}, []float64{1000, 2000, 5000, 10_000, 20_000, 40_000, 80_000})
	var ours, theirs []float64
	for range pick(l.measurement, 1, 2, 10) {
		best := [2]float64{}
		for _, rate := range rates {
			o := casterOrder{Bytes: castBytes, Count: pick(l.measurement, 300, 1000, 2000), Rate: rate}
			took, _ := s.exact(o)
			best[0] = max(best[0], float64(o.Count)/took.Seconds())
			took = n.stream(l, len(l.hosts), castWindow, o)
			best[1] = max(best[1], float64(o.Count)/took.Seconds())
		}
		ours, theirs = append(ours, best[0]), append(theirs, best[1])
	}
	to.ratio = compare(ours, theirs)
	to.basis = fmt.Sprintf("%.0f : %.0f messages/s, a watermark for each %d, rates %.0f/s", median(ours), median(theirs), castWindow, rates)
}
