package healthsim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// use adds a command that makes a client attach to servers or disconnect from them, or makes the
// client or other programs of its node send messages.
func (p *plan) use() {
	k := p.IntN(planClients)
	if p.gone[k] > p.at {
		return
	}
	client, server := p.clientNode(k), 1+p.IntN(p.servers)
	switch p.IntN(5) {
	case 0:
		for range 1 + p.IntN(3) {
			p.Line("at %v do %d attach %d", p.at, client, 1+p.IntN(p.servers))
		}
	case 1:
		p.Line("at %v do %d traffic on", p.at, client)
	case 2:
		p.Line("at %v do %d busy on", p.at, client)
	case 3:
		p.Line("at %v do %d detach %d", p.at, client, server)
	}
}

// clientFault adds the end of a client. Its node or another one starts it again, or its node
// goes on without it.
func (p *plan) clientFault() {
	k, other := p.IntN(planClients), p.IntN(planClients)
	if p.gone[k] > p.at {
		return
	}
	client := p.clientNode(k)
	until := p.later(time.Millisecond, 40*time.Second)
	switch p.IntN(6) {
	case 0, 1:
		p.Line("at %v kill %d\nat %v restart %d", p.at, client, until, client)
		p.gone[k] = until
	case 2: // the client quits, and other programs of its node go on sending for a time
		p.Line("at %v do %d traffic on\nat %v do %d quit\nat %v kill %d\nat %v restart %d", p.at, client, p.at, client, until, client, until+time.Second, client)
		p.gone[k] = until + time.Second
	case 3: // the client quits, and other programs of its node go on sending until the end
		p.Line("at %v do %d traffic on\nat %v do %d quit", p.at, client, p.at, client)
		p.gone[k] = forever
	case 4: // the node restarts without its client; only other programs of the node send messages
		p.Line("at %v do %d clientless on\nat %v kill %d\nat %v restart %d", p.at, client, p.at, client, until, client)
		p.gone[k] = forever
	case 5: // from then on another node uses the client's id
		p.Line("at %v do %d quit", p.at, client)
		p.gone[k] = forever
		if p.gone[other] <= p.at {
			p.Line("at %v do %d impersonate %d", until, p.clientNode(other), client)
			p.gone[other] = forever
		}
	}
}

// well draws up to count servers that have had no fault for some time. It draws so few that only a
// minority of all servers has faults once the drawn servers have faults, too.
func (p *plan) well(count int) (list []int) {
	var well []int
	for k, until := range p.busy {
		if p.at >= until+10*time.Second {
			well = append(well, k)
		}
	}
	p.Shuffle(len(well), func(i, j int) { well[i], well[j] = well[j], well[i] })
	for most := (p.servers-1)/2 - (p.servers - len(well)); len(list) < min(count, most, len(well)); {
		list = append(list, well[len(list)])
	}
	slices.Sort(list)
	return list
}

// serverFault adds a fault of some servers.
func (p *plan) serverFault() {
	list := p.well(1)
	if len(list) == 0 {
		return
	}
	k, keeping := list[0], " keeping state"
	if p.IntN(4) == 0 {
		keeping = ""
	}
	kind := p.IntN(7)
	if kind < 2 && p.at <= p.drained[k] { // the server must be up when its draining ends
		kind = 2
	}
	switch kind {
	case 0:
		p.busy[k] = p.later(60*time.Second, 90*time.Second)
		p.Line("at %v kill %d\nat %v restart %d%s", p.at, k+1, p.busy[k], k+1, keeping)
	case 1:
		p.busy[k] = p.later(100*time.Millisecond, 10*time.Second)
		p.Line("at %v kill %d\nat %v restart %d%s", p.at, k+1, p.busy[k], k+1, keeping)
	case 2:
		p.busy[k] = p.later(500*time.Millisecond, 40*time.Second)
		p.Line("at %v pause %d for %v", p.at, k+1, p.busy[k]-p.at)
	case 3, 4:
		if p.at > p.apart+10*time.Second {
			p.minorities()
		}
	case 5:
		p.drain()
	case 6:
		p.busy[k] = p.later(time.Second, 30*time.Second)
		p.Line("at %v do %d disk broken\nat %v do %d disk works", p.at, k+1, p.busy[k], k+1)
	}
}

// minorities cuts a minority of the servers off, up to three times, one after the other.
func (p *plan) minorities() {
	for range []int{1, 1, 1, 2, 3}[p.IntN(5)] {
		list := p.well(1 + p.IntN(3))
		if len(list) == 0 {
			return
		}
		p.cutOff(list)
		for _, k := range list {
			p.busy[k] = p.apart
		}
		p.at = p.apart + p.Between(10*time.Second, 20*time.Second)
	}
}

// cutOff cuts some nodes off from all or some of the other servers, but from no client, for 0.1 to
// 60 s, in one direction or both.
func (p *plan) cutOff(list []int) {
	p.apart = p.later(100*time.Millisecond, []time.Duration{time.Second, 10 * time.Second, 60 * time.Second}[p.IntN(3)])
	var rest []int
	for k := range p.servers {
		if !slices.Contains(list, k) && (p.IntN(8) > 0 || k == p.servers-1 && len(rest) == 0) {
			rest = append(rest, k)
		}
	}
	if len(rest) == 0 || len(list) == 0 {
		return
	}
	way := p.IntN(4)
	if way != 0 {
		p.Line("at %v cut %s -> %s", p.at, nodes(list), nodes(rest))
	}
	if way != 1 {
		p.Line("at %v cut %s -> %s", p.at, nodes(rest), nodes(list))
	}
	p.Line("at %v heal", p.apart)
}

// drain drains some or all servers, and perhaps ends the draining.
func (p *plan) drain() {
	list := p.some(p.servers)
	if p.IntN(3) == 0 {
		list = nil
		for k := range p.servers {
			list = append(list, k)
		}
	}
	list = slices.DeleteFunc(list, func(k int) bool { return p.at <= p.busy[k] }) // leaves out servers that may be down
	if len(list) == 0 {
		return
	}
	p.Line("at %v do %s drain on", p.at, nodes(list))
	if p.IntN(2) == 0 {
		until := p.later(time.Second, 60*time.Second)
		for _, k := range list {
			p.drained[k] = max(p.drained[k], until)
		}
		p.Line("at %v do %s drain off", until, nodes(list))
	}
}

// some draws each of the numbers 0 to of-1 with a probability of one third, but at least one number.
func (p *plan) some(of int) (list []int) {
	for k := range of {
		if p.IntN(3) == 0 {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		list = []int{p.IntN(of)}
	}
	return list
}

// nodes formats indexes of nodes for a scenario, where nodes are counted from 1.
func nodes(list []int) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = strconv.Itoa(k + 1)
	}
	return strings.Join(words, ",")
}
