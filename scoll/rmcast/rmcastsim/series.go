package rmcastsim

import (
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

var series = []scenario.Quantity{
	{Name: "messages", Unit: "messages", Doc: "messages that nodes were told to send"},
	{Name: "under-way", Unit: "messages", Doc: "messages that are not over"},
	{Name: "deliveries", Unit: "messages", Doc: "messages delivered, summed over nodes"},
	{Name: "elapsed", Unit: "ms", Doc: "how long the latest message that was released took to that"},
	{Name: "repairs", Unit: "datagrams", Doc: "datagrams sent again, by nodes in their latest incarnations"},
	{Name: "fetches", Unit: "requests", Doc: "requests for datagrams that did not come"},
	{Name: "versions", Unit: "lists", Doc: "lists of members that a node keeps, at most"},
	{Name: "kept", Unit: "datagrams", Doc: "datagrams of all origins that a node keeps, at most"},
}

// Sample implements [scenario.Instance].
func (n *Net) Sample() []float64 {
	c := n.Counters()
	versions, kept := n.kept()
	return []float64{
		float64(len(n.ledger.all)), float64(n.ledger.open), float64(n.ledger.deliveries), ms(n.ledger.elapsed),
		float64(c.Repairs), float64(c.Fetches), float64(versions), float64(kept),
	}
}

// kept returns the largest number of lists, and of datagrams, that any node keeps.
func (n *Net) kept() (versions int, datagrams uint64) {
	for id := range sim.NodeID(n.cfg.Nodes) {
		s, ok := n.Status(id)
		if !ok {
			continue
		}
		sum := uint64(0)
		for _, t := range s.Streams {
			sum += t.Head - t.Stable
		}
		versions, datagrams = max(versions, s.Versions), max(datagrams, sum)
	}
	return versions, datagrams
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// Measures implements [scenario.Instance].
func (n *Net) Measures() []scenario.Measure {
	c := n.Counters()
	var outcomes [OriginGone + 1]int
	failed := 0
	for _, m := range n.ledger.all {
		outcomes[m.Outcome]++
		failed += len(m.Result.Failed)
	}
	took := n.Times()
	return []scenario.Measure{
		{Name: "messages", Value: float64(len(n.ledger.all))},
		{Name: "released", Value: float64(outcomes[Released])},
		{Name: "lost", Value: float64(outcomes[Lost])},
		{Name: "whose origin died", Value: float64(outcomes[OriginGone])},
		{Name: "members named as failed", Value: float64(failed)},
		{Name: "median time to the release", Unit: "ms", Value: ms(Percentile(took, 50))},
		{Name: "99th percentile", Unit: "ms", Value: ms(Percentile(took, 99))},
		{Name: "longest time to the release", Unit: "ms", Value: ms(Percentile(took, 100))},
		{Name: "lists of members", Value: float64(len(n.ledger.versions))},
		{Name: "copies of datagrams lost", Value: float64(n.ledger.lostCopies)},
		{Name: "datagrams", Value: float64(c.Datagrams)},
		{Name: "messages that shared a datagram", Value: float64(c.Packed)},
		{Name: "messages with acknowledgements", Value: float64(c.Acks)},
		{Name: "datagrams sent again", Value: float64(c.Repairs)},
		{Name: "requests for datagrams", Value: float64(c.Fetches)},
		{Name: "questions to children", Value: float64(c.Polls)},
		{Name: "datagrams that came again", Value: float64(c.Duplicates)},
		{Name: "children of failed members taken over", Value: float64(c.Takeovers)},
		{Name: "children suspected", Value: float64(n.ledger.suspects)},
		{Name: "messages that make no sense", Value: float64(c.Malformed + c.Inconsistent + c.Forged)},
	}
}

// Times returns the times from acceptance to release, ascending.
func (n *Net) Times() (took []time.Duration) {
	for _, m := range n.ledger.all {
		if m.Outcome == Released {
			took = append(took, m.Elapsed())
		}
	}
	slices.Sort(took)
	return took
}

// Percentile returns a percentile of ascending times by nearest rank.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}
