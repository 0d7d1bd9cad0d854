package main

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/scoll/rmcast"
)

// serveSpinner is a process that wants a core for itself.
func serveSpinner(w *worker.Worker, _ struct{}) (bool, error) {
	go func() {
		for n := 0; w.Context().Err() == nil; n++ {
		}
	}()
	return true, nil
}

// Of the streams of G-RM-8.
const (
	needlessMembers  = 8
	needlessSpinners = 4
	needlessLimit    = 0.1 // per cent of the messages
)

// measureCastNeedless is G-RM-8: what is sent again though nothing is lost, by processes
// on loopback that do not get the cores when they want them, and how much slower streams
// are when the members discard a part of what arrives.
func measureCastNeedless(ctx context.Context, b *bench) ([]line, error) {
	s, err := loopbackStreams(ctx, b, needlessMembers)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	o := casterOrder{Bytes: castBytes, Count: pick(b, 300, 5000, 5000)}
	first, err := s.besideLoad(pick(b, 1, 5, b.rounds), o)
	if err != nil {
		return nil, err
	}
	lines := []line{first}
	for _, f := range []struct {
		what   string
		faults rmcast.Faults
		least  float64
	}{
		{"members discard 30 % of the datagrams: rate, to that without loss", rmcast.Faults{Datagrams: 0.3}, 0.4},
		{"members discard 10 % of the control messages: rate, to that without loss", rmcast.Faults{Acks: 0.1}, 0.5},
	} {
		l, err := s.lossy(pick(b, 1, 5, b.rounds), o, f.faults)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		l.what, l.least, l.limit = f.what, true, f.least
		lines = append(lines, l)
	}
	return lines, nil
}

// loopbackStreams is a group of processes with addresses of the loopback.
func loopbackStreams(ctx context.Context, b *bench, members int) (s *castStreams, err error) {
	l := &castLab{ctx: ctx, bench: b}
	for i := range members {
		l.addrs = append(l.addrs, netip.AddrFrom4([4]byte{127, 0, 5, byte(i + 1)}))
	}
	if l.port, err = loopback.FreePort(l.addrs...); err != nil {
		return nil, err
	}
	return l.streams(members)
}

// besideLoad counts what is sent again without loss while processes take the cores.
func (s *castStreams) besideLoad(rounds int, o casterOrder) (l line, err error) {
	var spinners worker.Crew
	defer func() { spinners.Stop() }()
	for range needlessSpinners {
		p, err := s.lab.bench.start(s.lab.ctx, worker.Config{Kind: "spinner"})
		if err != nil {
			return l, err
		}
		spinners = append(spinners, p)
	}
	var shares, rates []float64
	repairs, sent := uint64(0), uint64(0)
	for range rounds {
		took, n, err := s.exact(o)
		if err != nil {
			return l, err
		}
		shares = append(shares, 100*float64(n.Repairs)/float64(n.Sent))
		rates = append(rates, float64(o.Count)/took.Seconds())
		repairs, sent = repairs+n.Repairs, sent+n.Sent
	}
	return line{
		what: "payloads sent again without loss, beside 4 busy processes", ratio: 100 * float64(repairs) / float64(sent), unit: "%", limit: needlessLimit,
		basis: fmt.Sprintf("%d of %d messages to %d members, %.2f %% in the worst round; %.0f messages/s", repairs, sent, needlessMembers, slices.Max(shares), median(rates)),
	}, nil
}

// lossy compares streams with faults and without, in turns.
func (s *castStreams) lossy(rounds int, o casterOrder, faults rmcast.Faults) (l line, err error) {
	var lossy, perfect []float64
	repairs, sent := uint64(0), uint64(0)
	for range rounds {
		for _, f := range []rmcast.Faults{{}, faults} {
			if _, err := worker.AskAll[bool](s.Crew, "faults", f); err != nil {
				return l, err
			}
			took, n, err := s.exact(o)
			if err != nil {
				return l, err
			}
			rate := float64(o.Count) / took.Seconds()
			if f == (rmcast.Faults{}) {
				perfect = append(perfect, rate)
				continue
			}
			lossy = append(lossy, rate)
			repairs, sent = repairs+n.Repairs, sent+n.Sent
		}
	}
	_, err = worker.AskAll[bool](s.Crew, "faults", rmcast.Faults{})
	return line{
		ratio: compare(lossy, perfect),
		basis: fmt.Sprintf("%.0f : %.0f messages/s to %d members; %d payloads sent again for %d messages", median(lossy), median(perfect), needlessMembers, repairs, sent),
	}, err
}

// exact has the first member send a stream of which every message must come once.
func (s *castStreams) exact(o casterOrder) (took time.Duration, n castCounts, err error) {
	took, n, err = s.stream(0, o)
	if err == nil && n.Missing+n.Twice+n.Wrong > 0 {
		err = fmt.Errorf("not every message came once: %+v", n)
	}
	return took, n, err
}
