package main

import (
	"fmt"
	"net/netip"
	"slices"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/scoll/rmcast"
)

// serveSpinner starts a goroutine that uses a core of its process without pause.
func serveSpinner(w *worker.Worker, _ struct{}) bool {
	go func() {
		for n := 0; w.Context().Err() == nil; n++ {
		}
	}()
	return true
}

// Parameters of the streams of goal G-RM-8.
const (
	needlessMembers  = 8
	needlessSpinners = 4
	needlessLimit    = 0.1 // largest share of payloads that are sent again, in percent of those sent
)

// measureCastNeedless measures goal G-RM-8 with processes on loopback: how many needless repairs
// there are if nothing is lost but the processes compete for the cores, and how much slower
// streams become if members discard some of the datagrams.
func measureCastNeedless(b *measurement) {
	s := loopbackStreams(b, needlessMembers)
	defer s.Stop()
	o := casterOrder{Bytes: castBytes, Count: pick(b, 300, 5000, 5000)}
	rounds := pick(b, 1, 5, b.rounds)
	b.add(s.besideLoad(rounds, o))
	for _, f := range []struct {
		what   string
		faults rmcast.Faults
		least  float64
	}{
		{"members discard 30 % of the datagrams: rate, to that without loss", rmcast.Faults{Datagrams: 0.3}, 0.4},
		{"members discard 10 % of the control messages: rate, to that without loss", rmcast.Faults{Acks: 0.1}, 0.5},
	} {
		l := s.lossy(rounds, o, f.faults)
		l.what, l.least, l.limit = f.what, true, f.least
		b.add(l)
	}
}

// loopbackStreams starts a group of processes with loopback addresses.
func loopbackStreams(b *measurement, members int) *castStreams {
	l := &castLab{measurement: b}
	for i := range members {
		l.addrs = append(l.addrs, netip.AddrFrom4([4]byte{127, 0, 5, byte(i + 1)}))
	}
	l.port = must(loopback.FreePort(l.addrs...))
	return l.streams(members)
}

// besideLoad counts repairs without loss while other processes use the cores.
func (s *castStreams) besideLoad(rounds int, o casterOrder) line {
	var spinners worker.Crew
	defer func() { spinners.Stop() }()
	for range needlessSpinners {
		spinners = append(spinners, must(s.lab.bench.start(s.lab.ctx, worker.Config{Kind: "spinner"})))
	}
	var shares, rates []float64
	repairs, sent := uint64(0), uint64(0)
	for range rounds {
		took, n := s.exact(o)
		shares = append(shares, 100*float64(n.Repairs)/float64(n.Sent))
		rates = append(rates, float64(o.Count)/took.Seconds())
		repairs, sent = repairs+n.Repairs, sent+n.Sent
	}
	return line{
		what: "payloads sent again without loss, beside 4 busy processes", ratio: 100 * float64(repairs) / float64(sent), unit: "%", limit: needlessLimit,
		basis: fmt.Sprintf("%d of %d messages to %d members, %.2f %% in the worst round; %.0f messages/s", repairs, sent, needlessMembers, slices.Max(shares), median(rates)),
	}
}

// lossy compares streams with and without faults, which it runs in turns.
func (s *castStreams) lossy(rounds int, o casterOrder, faults rmcast.Faults) line {
	var lossy, perfect []float64
	repairs, sent := uint64(0), uint64(0)
	for range rounds {
		for _, f := range []rmcast.Faults{{}, faults} {
			must(worker.AskAll[bool](s.Crew, "faults", f))
			took, n := s.exact(o)
			rate := float64(o.Count) / took.Seconds()
			if f == (rmcast.Faults{}) {
				perfect = append(perfect, rate)
				continue
			}
			lossy = append(lossy, rate)
			repairs, sent = repairs+n.Repairs, sent+n.Sent
		}
	}
	must(worker.AskAll[bool](s.Crew, "faults", rmcast.Faults{}))
	return line{
		ratio: compare(lossy, perfect),
		basis: fmt.Sprintf("%.0f : %.0f messages/s to %d members; %d payloads sent again for %d messages", median(lossy), median(perfect), needlessMembers, repairs, sent),
	}
}
