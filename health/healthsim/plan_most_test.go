package healthsim

import "time"

// MostPlan draws a scenario in which any number of servers die and come back with their records, or are
// separated from the other servers and the clients, one time after the other. In between, clients are paused
// or cut off, for no longer than a client may be without being evicted.
func MostPlan(seed uint64) string {
	var p plan
	p.begin(seed, "")
	for range 3 + p.IntN(5) {
		p.use()
		until := p.later(100*time.Millisecond, 50*time.Second)
		switch list := nodes(p.some(p.servers)); p.IntN(5) {
		case 0, 1:
			p.Line("at %v kill %s\nat %v restart %s keeping state", p.at, list, until, list)
		case 2:
			p.Line("at %v partition %s\nat %v heal", p.at, list, until)
		case 3:
			until = p.at
			for range 1 + p.IntN(4) {
				p.at = until
				until = p.later(100*time.Millisecond, 6500*time.Millisecond)
				p.Line("at %v cut %d-%d -> %s\nat %v heal", p.at, p.servers+1, p.servers+planClients, list, until)
				until += p.Between(15*time.Second, 30*time.Second)
			}
		case 4:
			p.Line("at %v pause %d-%d for %v", p.at, p.servers+1, p.servers+planClients, min(until-p.at, 11*time.Second))
		}
		p.at = until + p.Between(0, 20*time.Second)
	}
	return settings(p.end(200*time.Second, "uniform-most"))
}
