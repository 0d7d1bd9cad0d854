package healthsim

import "time"

// ReachPlan draws a scenario in which clients are cut off from a minority of the servers, their masters as often as
// not, in one direction or both, for up to a minute. In between servers and clients have the same faults as in a mild
// plan, of which only a minority of the servers has any at a time. Clients or other programs of their nodes may exchange
// messages with servers all the time, so that clients need not ping. Discovery may be slower than evictions, disks slow,
// and clocks wrong. No client that runs may be evicted, since it finds a master among the other servers.
func ReachPlan(seed uint64) string {
	var p plan
	p.begin(seed, "")
	p.Line("set discovery %s\nset store %s\nset claims %s", p.Pick("3400ms", "3400ms", "17s", "40s"), p.Pick("3ms", "3ms", "500ms", "2s"), p.Pick("on", "off"))
	if seed%5 == 0 {
		p.Line("at 1s skew 1-%d %dppm\nat 3s skew %d-%d -%dppm", p.servers, tolerableSkew, p.servers+1, p.servers+planClients, tolerableSkew)
	}
	if seed%3 > 0 {
		p.Line("at %ds do %d-%d %s on", 4+seed%17, p.servers+1, p.servers+planClients, []string{"busy", "traffic"}[seed%3-1])
	}
	for range 3 + p.IntN(5) {
		p.use()
		switch p.IntN(6) {
		case 0:
			p.clientFault()
		case 1, 2:
			p.serverFault()
		default:
			p.unreached()
		}
		p.at += p.Between(0, 30*time.Second)
	}
	return settings(p.end(200*time.Second, "uniform-most"))
}

// unreached cuts some clients off from up to half of the servers that are well.
func (p *plan) unreached() {
	if p.at <= p.apart+10*time.Second {
		return
	}
	list := p.well(1 + p.IntN(3))
	if len(list) == 0 {
		return
	}
	p.apart = p.later(100*time.Millisecond, []time.Duration{10 * time.Second, 30 * time.Second, 60 * time.Second}[p.IntN(3)])
	clients := p.some(planClients)
	for i := range clients {
		clients[i] += p.servers
	}
	way := p.IntN(4)
	if way != 0 {
		p.Line("at %v cut %s -> %s", p.at, nodes(clients), nodes(list))
	}
	if way != 1 {
		p.Line("at %v cut %s -> %s", p.at, nodes(list), nodes(clients))
	}
	p.Line("at %v heal", p.apart)
	for _, k := range list {
		p.busy[k] = p.apart
	}
}
