package main

import (
	"context"
	"fmt"
	"time"

	"ulnet/cmd/bench/worker"
)

// castWindow is the window of streams, in datagrams.
const castWindow = 128

// castStreams is a group for streams, and what becomes of its messages.
type castStreams struct {
	*castProcesses
	lab *castLab
}

func (l *castLab) streams(members int) (*castStreams, error) {
	c, err := l.group(members, memberSetup{Window: castWindow})
	if err != nil {
		return nil, err
	}
	// Connections are made.
	s := &castStreams{c, l}
	for _, p := range s.Crew {
		if _, err := worker.Ask[latencies](p, "ours", casterOrder{Bytes: castBytes, Warm: 5}); err != nil {
			return s, err
		}
	}
	_, err = worker.AskAll[bool](s.Crew, "forget", nil)
	return s, err
}

// castCounts is what a stream came to.
type castCounts struct {
	casterReceipts
	Missing uint64
	Sent    uint64 // datagrams
	Repairs uint64
}

// stream has a member send, and adds up what all have received of it, which has to be
// every message once.
func (s *castStreams) stream(member int, o casterOrder) (took time.Duration, n castCounts, err error) {
	before, err := s.reports()
	if err != nil {
		return 0, n, err
	}
	took, err = worker.Ask[time.Duration](s.Crew[member], "stream", o)
	if err != nil {
		return 0, n, err
	}
	after, err := s.reports()
	if err != nil {
		return 0, n, err
	}
	for i := range after {
		got := after[i].Received.Messages - before[i].Received.Messages
		n.Missing += uint64(o.Count) - min(got, uint64(o.Count))
		n.Twice += after[i].Received.Twice - before[i].Received.Twice
		n.Wrong += after[i].Received.Wrong - before[i].Received.Wrong
		n.Sent += after[i].Sent - before[i].Sent
		n.Repairs += after[i].Repairs - before[i].Repairs
	}
	return took, n, nil
}

// blast has the origin send plain datagrams, and returns how many a second left, and
// how many of them came, of each receiver, on the average.
func (s *castStreams) blast(ctx context.Context, o casterOrder) (rate, came float64, err error) {
	if _, err := worker.AskAll[bool](s.Crew, "forget", nil); err != nil {
		return 0, 0, err
	}
	took, err := worker.Ask[time.Duration](s.Crew[0], "blast", o)
	if err != nil {
		return 0, 0, err
	}
	if err := wait(ctx, 20*time.Millisecond); err != nil { // what was sent has arrived
		return 0, 0, err
	}
	all, err := s.reports()
	for _, r := range all {
		came += float64(r.Plain)
	}
	return float64(o.Count) / took.Seconds(), came / float64(o.Count*(len(all)-1)), err
}

// setLoss loses some of the group's datagrams, or of everything, on the way to all
// members but the first.
func (l *castLab) setLoss(share float64, everything bool) {
	for i, h := range l.hosts[1:] {
		if everything {
			l.cables[i+1].SetLoss(h, share)
		} else {
			l.cables[i+1].SetMulticastLoss(h, share)
		}
	}
}

// measureCastGoodput is G-RM-7, and the speed of the window beside plain multicast.
func measureCastGoodput(ctx context.Context, b *bench) (lines []line, err error) {
	n, err := compileNORM(ctx)
	if err != nil {
		return nil, err
	}
	defer n.remove()
	lines = []line{
		{what: "2 KiB messages to 7 receivers, window of 128, to plain UDP multicast", least: true, limit: 0.5},
		{what: "goodput to 8 receivers, 1 % of the group's datagrams lost, best of all rates, to NORM", least: true, limit: 1},
	}
	err = inCastLab(ctx, b, pick(b, 4, 9, 9), func(l *castLab) error {
		if lines[0], err = l.besidePlain(ctx, lines[0]); err != nil {
			return err
		}
		lines[1], err = l.besideNORM(ctx, n, lines[1])
		return err
	})
	return skip(lines, err)
}

// besidePlain compares streams with datagrams that nobody waits for.
func (l *castLab) besidePlain(ctx context.Context, to line) (line, error) {
	b := l.bench
	s, err := l.streams(pick(b, 3, 8, 8))
	if err != nil {
		return to, err
	}
	defer s.Stop()
	var ours, plain, came []float64
	var all castCounts
	o := casterOrder{Bytes: castBytes, Count: pick(b, 500, 10_000, 30_000)}
	for round := range pick(b, 1, 5, b.rounds) + 1 {
		took, n, err := s.stream(0, o)
		if err != nil {
			return to, err
		}
		if n.Missing+n.Twice+n.Wrong > 0 {
			return to, fmt.Errorf("not every message came once: %+v", n)
		}
		rate, share, err := s.blast(ctx, o)
		if err != nil {
			return to, err
		}
		if round == 0 {
			continue
		}
		ours, plain, came = append(ours, float64(o.Count)/took.Seconds()), append(plain, rate), append(came, share)
		all.Repairs += n.Repairs
	}
	to.ratio = compare(ours, plain)
	to.basis = fmt.Sprintf("%.0f : %.0f messages/s, of which %.1f %% came; %d payloads sent again; links of %d bytes", median(ours), median(plain), 100*median(came), all.Repairs, castMTU)
	return to, nil
}

// besideNORM has both send at the same rates, and compares the best of each.
func (l *castLab) besideNORM(ctx context.Context, n norm, to line) (line, error) {
	b := l.bench
	if n.missing != "" {
		to.skipped = n.missing
		return to, nil
	}
	s, err := l.streams(len(l.hosts))
	if err != nil {
		return to, err
	}
	defer s.Stop()
	l.setLoss(0.01, false)
	rates := pick(b, []float64{2000}, []float64{2000, 5000, 10_000, 20_000}, []float64{1000, 2000, 5000, 10_000, 20_000, 40_000, 80_000})
	var ours, theirs []float64
	for range pick(b, 1, 2, 10) {
		best := [2]float64{}
		for _, rate := range rates {
			o := casterOrder{Bytes: castBytes, Count: pick(b, 300, 1000, 2000), Rate: rate}
			took, got, err := s.stream(0, o)
			if err != nil {
				return to, err
			}
			if got.Missing+got.Twice+got.Wrong > 0 {
				return to, fmt.Errorf("not every message came once: %+v", got)
			}
			best[0] = max(best[0], float64(o.Count)/took.Seconds())
			if took, err = n.stream(ctx, l, len(l.hosts), castWindow, o); err != nil {
				return to, err
			}
			best[1] = max(best[1], float64(o.Count)/took.Seconds())
		}
		ours, theirs = append(ours, best[0]), append(theirs, best[1])
	}
	to.ratio = compare(ours, theirs)
	to.basis = fmt.Sprintf("%.0f : %.0f messages/s, a watermark for each %d, rates %.0f/s", median(ours), median(theirs), castWindow, rates)
	return to, nil
}
