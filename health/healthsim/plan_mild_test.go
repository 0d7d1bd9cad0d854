package healthsim

import (
	"slices"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// planClients is the number of clients in a plan.
const planClients = 6

// forever is longer than any plan.
const forever = time.Hour

// plan writes the text of a random scenario.
type plan struct {
	kit.Plan
	servers int
	at      time.Duration
	busy    []time.Duration // by server: time at which its latest fault ends
	drained []time.Duration // by server: time at which it ends draining
	gone    []time.Duration // by client: time at which it is up again on its own node
	apart   time.Duration   // time at which the latest partition ends
}

// later draws a time that is between a and b after p.at.
func (p *plan) later(a, b time.Duration) time.Duration { return p.at + p.Between(a, b) }

// clientNode returns the number of the node of client k in a scenario, where nodes are counted from 1.
func (p *plan) clientNode(k int) int { return p.servers + 1 + k }

// begin writes the settings that plans share.
func (p *plan) begin(seed uint64, network string) {
	p.Plan = kit.NewPlan(seed, 12)
	p.servers = 3 + p.IntN(5)
	p.busy, p.drained, p.gone = make([]time.Duration, p.servers), make([]time.Duration, p.servers), make([]time.Duration, planClients)
	p.Line("protocol health\nnodes %d\nset servers %d\nset attach %d", p.servers+planClients, p.servers, p.IntN(p.servers+1))
	p.Line("boot %d-%d at 2s\ncheck every 1s\nset late 20%%\nset unsent 10%%", p.servers+1, p.servers+planClients)
	p.Line("link latency 2ms±1ms duplicate 5%% reorder 10%% hold 200ms±200ms%s", network)
	p.at = 22 * time.Second
}

// end writes the expectations. Some must hold all the time, the others at the end of the run, when
// there has been no fault for the duration calm.
func (p *plan) end(calm time.Duration, uniform string) string {
	last := max(p.at, p.apart)
	for _, until := range slices.Concat(p.busy, p.drained, p.gone) {
		if until < forever {
			last = max(last, until)
		}
	}
	for after := calm / 2; after < calm; after += 20 * time.Second {
		p.Line("at %v do %d-%d doubt", last+after, p.servers+1, p.servers+planClients)
	}
	p.Line("run %v\nexpect settled\nalways %s\nalways no-false-eviction\nalways no-false-loss", last+calm+5*time.Second, uniform)
	return p.String()
}

// settings moves the length of the run, which is known only in the end, up to the other
// settings.
func settings(text string) string {
	head, tail, _ := strings.Cut(text, "\nrun ")
	length, tail, _ := strings.Cut(tail, "\n")
	first, rest, _ := strings.Cut(head, "\n")
	return first + "\nrun " + length + "\n" + rest + "\n" + tail
}

// MildPlan draws a scenario of faults for which no well-behaved client may be evicted (goal
// G-CH-3). At any time a minority of the servers is affected: they die, are restarted quickly or
// late, with or without records, are paused, are cut off in one direction or both, or cannot
// write. Any number of servers are drained. Clients are restarted, or end while their nodes go
// on, and other nodes take their ids. Messages are delayed and duplicated, requests to evict are
// repeated much later, and broadcasts fail.
func MildPlan(seed uint64) string {
	var p plan
	p.begin(seed, "")
	for range 2 + p.IntN(4) {
		p.use()
		if p.IntN(4) == 0 {
			p.clientFault()
		} else {
			p.serverFault()
		}
		p.at += p.Between(0, 30*time.Second)
	}
	return settings(p.end(90*time.Second, "uniform"))
}
