package scollsim

import (
	"time"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll"
)

var series = []scenario.Quantity{
	{Name: "broadcasts", Unit: "broadcasts", Doc: "broadcasts begun"},
	{Name: "under-way", Unit: "broadcasts", Doc: "broadcasts under way"},
	{Name: "missing", Unit: "members", Doc: "members that the latest broadcast did not reach"},
	{Name: "elapsed", Unit: "ms", Doc: "how long the latest broadcast took to its result"},
	{Name: "timed-out", Unit: "waits", Doc: "waits for children that a time-out ended, by nodes in their latest incarnations"},
	{Name: "died", Unit: "waits", Doc: "waits for children that news of a death ended"},
	{Name: "relisted", Unit: "requests", Doc: "requests sent again with the list of members, to nodes that did not know the group"},
}

// Sample implements [scenario.Instance].
func (n *Net) Sample() []float64 {
	under := 0
	for _, b := range n.ledger.list {
		if b.Outcome == UnderWay {
			under++
		}
	}
	missing, elapsed := 0, time.Duration(0)
	if b := n.latest(""); b != nil && b.Outcome == Ended {
		missing, elapsed = len(b.Missing), b.Elapsed()
	}
	s := n.Counters()
	return []float64{
		float64(len(n.ledger.list)), float64(under), float64(missing), elapsed.Seconds() * 1e3,
		float64(s.TimedOut), float64(s.Died), float64(s.Relisted),
	}
}

// Sent returns how many LNet messages the latest incarnations of stacks have sent.
func (n *Net) Sent() (sum uint64) {
	for _, l := range n.incarnations {
		if k, ok := l.(*stack); ok {
			sum += k.lnet.Node.Stats().SendCount
		}
	}
	return sum
}

// Counters returns the sum of the counters of all nodes' latest incarnations.
func (n *Net) Counters() scoll.Stats { return kit.Sum(n.incarnations, incarnation.stats) }

// Measures implements [scenario.Instance].
func (n *Net) Measures() []scenario.Measure {
	c := n.Counters()
	var outcomes [RootGone + 1]int
	missing := 0
	var took kit.Delays
	for _, b := range n.ledger.list {
		outcomes[b.Outcome]++
		missing += len(b.Missing)
		if b.Outcome == Ended {
			took.Add(b.Elapsed())
		}
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	return []scenario.Measure{
		{Name: "broadcasts", Value: float64(len(n.ledger.list))},
		{Name: "with a result", Value: float64(outcomes[Ended])},
		{Name: "not sent", Value: float64(outcomes[NotSent])},
		{Name: "whose root died", Value: float64(outcomes[RootGone])},
		{Name: "members not reached", Value: float64(missing)},
		{Name: "mean time to the result", Unit: "ms", Value: ms(took.Mean())},
		{Name: "longest time to the result", Unit: "ms", Value: ms(took.Latest)},
		{Name: "waits that timed out", Value: float64(c.TimedOut)},
		{Name: "waits that a death ended", Value: float64(c.Died)},
		{Name: "services answered for", Value: float64(c.Silent)},
		{Name: "broadcasts sent once more", Value: float64(c.Again)},
		{Name: "requests sent again with the list of members", Value: float64(c.Relisted)},
		{Name: "requests that came twice", Value: float64(c.Replayed)},
		{Name: "requests that were held", Value: float64(c.Held)},
		{Name: "requests that were held too long", Value: float64(c.HeldTooLong)},
		{Name: "groups whose creator died", Value: float64(c.Destroyed)},
		{Name: "messages that make no sense", Value: float64(c.Malformed + c.Protocol + c.Spoofed + c.BadReply + c.Oversized + c.Stray)},
	}
}
