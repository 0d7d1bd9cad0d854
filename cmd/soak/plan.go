package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnd/lndtest/netlab/netem"
)

// faultKind is a kind of fault.
type faultKind uint8

const (
	faultLoss    faultKind = iota // nftables drops packets to the host
	faultRate                     // a token bucket (tbf) on the host's interface limits the rate
	faultDelay                    // the emulated link delays frames, with jitter
	faultReorder                  // the emulated link reorders frames
	faultDouble                   // the emulated link duplicates frames
	faultCorrupt                  // the emulated link corrupts frames
	faultMix                      // the emulated link does all of these
	faultLink                     // the host's link is down
	faultMTU                      // another MTU at both ends of the host's link
	faultReset                    // the host answers TCP with RST
	faultStop                     // the worker gets SIGSTOP, and later SIGCONT
	faultKill                     // the worker gets SIGKILL, and a new incarnation starts
	faultKinds
)

func (k faultKind) String() string {
	return [...]string{
		"loss", "rate", "delay", "reorder", "duplicate", "corrupt", "mix", "link down", "mtu", "tcp reset", "stop", "kill",
	}[k]
}

// ofProcess reports whether a kind of fault affects a worker process rather than a link.
// Processes and links have their faults independently of each other.
func (k faultKind) ofProcess() bool { return k == faultStop || k == faultKill }

// fault is one fault and its duration.
type fault struct {
	At, For time.Duration // when the fault begins, as the time since the start of the run, and its duration
	Host    int
	Link    int // number of the host's link, if the fault is one of a link
	Kind    faultKind

	Wire netem.Plan // fault of the emulated link
	Ends ends       // ends of the link that have the fault
	Loss float64
	Rate int64 // with faultRate: bits per second
	MTU  int
}

// ends is a set of ends of a link.
type ends uint8

const (
	hostEnd   ends = 1 << iota // the fault affects frames that the host sends
	switchEnd                  // the fault affects frames that the host receives
)

func (f *fault) String() string {
	s := fmt.Sprintf("%v at host %d for %v", f.Kind, f.Host, f.For.Round(time.Millisecond))
	if f.Link > 0 {
		s = fmt.Sprintf("%v at link %d of host %d for %v", f.Kind, f.Link, f.Host, f.For.Round(time.Millisecond))
	}
	switch f.Kind {
	case faultLoss:
		s += fmt.Sprintf(": %.2g%%", 100*f.Loss)
	case faultRate:
		s += fmt.Sprintf(": %d Mbit/s", f.Rate/1_000_000)
	case faultMTU:
		s += fmt.Sprintf(": %d", f.MTU)
	case faultDelay, faultReorder, faultDouble, faultCorrupt, faultMix:
		s += fmt.Sprintf(": %v %v", []string{"", "sent", "received", "both ways"}[f.Ends], f.Wire)
	}
	return s
}

// Limits of a plan.
const (
	longestFault        = 8 * time.Second
	longestPause        = 4 * time.Second // longest time between two faults of a link
	longestOutage       = 6 * time.Second // longest time for which a link is down or a process is stopped
	shortestIncarnation = 3 * time.Second // shortest time between two faults of a process
	longestIncarnation  = 25 * time.Second
	calm                = 0.1 // share of the run, at the end, that has no faults
	shortestCalm        = 10 * time.Second
)

// recovery is the time after the last fault from which each operation must succeed. By then, operations that
// began before have ended, connections are made again, and gateways that were down have answered a check.
func (l layout) recovery() time.Duration {
	d := transactionTimeout*3/2 + maxReconnect
	if l.routers > 0 {
		d += 2 * (checkInterval + checkTimeout)
	}
	return d
}

// faultsEnd returns when the faults of a run end. If the run is long enough, some of it is left after the recovery.
func (l layout) faultsEnd(length time.Duration) time.Duration {
	quiet := time.Duration(float64(length) * calm)
	if needed := l.recovery() + shortestCalm; needed <= length/3 {
		quiet = max(quiet, needed)
	}
	return length - quiet
}

// newPlan draws the faults of a run. Equal arguments give equal plans.
func newPlan(seed uint64, l layout, length time.Duration, kinds []faultKind) []fault {
	var ofLink, ofProcess []faultKind
	for _, k := range kinds {
		if k.ofProcess() {
			ofProcess = append(ofProcess, k)
		} else {
			ofLink = append(ofLink, k)
		}
	}
	until := l.faultsEnd(length)
	var all []fault
	for host := range l.hosts() {
		random := rand.New(rand.NewPCG(seed, uint64(host)<<8|1))
		lasts := func() time.Duration { return between(random, shortestIncarnation, longestIncarnation) }
		all = append(all, sequence(random, fault{Host: host}, until, ofProcess, lasts)...)
		for link := range l.links(host) {
			random := rand.New(rand.NewPCG(seed, uint64(host)<<8|uint64(link)<<1))
			pause := func() time.Duration { return between(random, 0, longestPause) }
			all = append(all, sequence(random, fault{Host: host, Link: link}, until, ofLink, pause)...)
		}
	}
	slices.SortStableFunc(all, func(a, b fault) int { return cmp.Compare(a.At, b.At) })
	return all
}

// sequence draws faults one after the other.
func sequence(random *rand.Rand, where fault, until time.Duration, kinds []faultKind, pause func() time.Duration) []fault {
	if len(kinds) == 0 {
		return nil
	}
	var all []fault
	for at := pause(); ; {
		f := newFault(random, kinds[random.IntN(len(kinds))])
		f.At, f.Host, f.Link = at, where.Host, where.Link
		if at+f.For > until {
			return all
		}
		all = append(all, f)
		at += f.For + pause()
	}
}

func newFault(random *rand.Rand, kind faultKind) fault {
	const ms = time.Millisecond
	f := fault{Kind: kind, For: between(random, 500*ms, longestFault), Ends: ends(1 + random.IntN(3))}
	chance := func(most float64) float64 { return most * (0.05 + 0.95*random.Float64()) }
	switch kind {
	case faultLoss:
		f.Loss = chance(0.1)
	case faultRate:
		f.Rate = 20_000_000 + random.Int64N(180_000_000)
	case faultDelay:
		f.Wire = netem.Plan{Delay: between(random, ms, 100*ms), Jitter: between(random, 0, 20*ms)}
	case faultReorder:
		f.Wire = netem.Plan{Reorder: chance(0.2), HoldBack: between(random, ms, 20*ms)}
	case faultDouble:
		f.Wire = netem.Plan{Duplicate: chance(0.2)}
	case faultCorrupt:
		f.Wire = netem.Plan{Corrupt: chance(0.05)}
	case faultMix:
		f.Wire = netem.Plan{
			Delay: between(random, 0, 20*ms), Jitter: between(random, 0, 5*ms), Rate: 50_000_000 + random.Int64N(200_000_000),
			Loss: chance(0.03), Reorder: chance(0.05), Duplicate: chance(0.05), Corrupt: chance(0.02),
		}
	case faultLink, faultStop:
		f.For = between(random, 100*ms, longestOutage)
	case faultMTU:
		f.MTU = []int{576, 1280, 1500, 4000}[random.IntN(4)]
	case faultReset:
		f.For = between(random, 10*ms, 2000*ms)
	case faultKill:
		f.For = between(random, 0, 2000*ms)
	}
	return f
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}
