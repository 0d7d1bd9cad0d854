package healthsim

import (
	"fmt"
	"strings"
	"time"
)

// WildPlan draws a scenario with any faults of servers, clients and links, many at the same
// time. Some time after all faults have ended the cluster has to have recovered.
func WildPlan(seed uint64) string {
	var p plan
	p.begin(seed, fmt.Sprintf(" loss %d%%", seed%3*2))
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "latency", "slow"}
	p.Mix(kinds)
	kinds = kinds[:1+p.IntN(5)]
	text := strings.Join(kinds, " ")
	p.Line("random faults %d from 22s to 150s of %s", 1+p.IntN(min(3+len(kinds), 8)), text)
	cuts := !strings.Contains(text, "partition") && !strings.Contains(text, "cut")
	for p.at = 30 * time.Second; p.at < 150*time.Second; p.at += p.Between(5*time.Second, 30*time.Second) {
		p.use()
		p.abuse()
		if cuts && p.apart < p.at && p.IntN(3) == 0 {
			p.cutOff(p.some(p.servers + planClients))
		}
	}
	p.at = max(150*time.Second, p.apart)
	if seed%3 > 0 {
		p.Line("at %v link all -> all loss 0%%", p.at)
	}
	return settings(p.end(240*time.Second, "uniform-most"))
}

// abuse adds orders of administrators, takeovers of ids, and faults of disks to the plan.
func (p *plan) abuse() {
	client, server := p.clientNode(p.IntN(planClients)), 1+p.IntN(p.servers)
	switch p.IntN(10) {
	case 0:
		p.drain()
	case 1:
		p.Line("at %v do 1-%d evict %d", p.at, p.servers, client)
	case 2:
		p.takeOver()
	case 3:
		p.Line("at %v do %d clientless on", p.at, client)
	case 4:
		p.Line("at %v do %d traffic on\nat %v do %d quit", p.at, client, p.at, client)
	case 5:
		p.Line("at %v do %d disk broken\nat %v do %d disk works", p.at, server, p.later(time.Second, 60*time.Second), server)
	case 6:
		p.Line("at %v do %d disk broken\nat %v do %d disk works", p.at, server, p.later(time.Second, 60*time.Second), server)
		p.Line("at %v do %d shed 2", p.at, server)
	}
}

// takeOver ends a client for good, and makes another node use its id.
func (p *plan) takeOver() {
	k, other := p.IntN(planClients), p.IntN(planClients)
	if p.gone[k] > p.at {
		return
	}
	client := p.clientNode(k)
	p.Line("at %v do %d clientless on\nat %v do %d quit", p.at, client, p.at, client)
	if p.gone[k] = forever; p.gone[other] <= p.at {
		p.Line("at %v do %d impersonate %d", p.later(1, 40*time.Second), p.clientNode(other), client)
		p.gone[other] = forever
	}
}
