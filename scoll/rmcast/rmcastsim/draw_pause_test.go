package rmcastsim_test

import (
	"fmt"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

// pausePlan draws pauses of the managers and members of a group.
type pausePlan struct {
	plan

	managers int
	free     []time.Duration // by node: from when on it has no fault
	dead     int             // node that is down in this episode, or 0
}

// drawPauses draws a scenario with gossip. Processes of managers and members stop and go on, one alone or many
// together, for shorter or longer than any timeout, as they do when virtual machines are migrated. A manager may die
// just before, so that the next one stops while it asks the members. Meanwhile nodes send, leave and join, and links
// lose messages. In the end all nodes run, and then the group must be whole.
func drawPauses(seed uint64) string {
	p := &pausePlan{plan: plan{Plan: kit.NewPlan(seed, 8)}}
	p.nodes = 3 + p.IntN(8)
	p.managers = 1 + p.IntN(4)
	p.managers, p.free = min(p.managers, p.nodes), make([]time.Duration, p.nodes+1)
	p.Line("protocol rmcast\nnodes %d\nrun 200s\ncheck every 500ms", p.nodes)
	p.Line("link latency %s", p.Pick("500µs±400µs", "100ms±50ms"))
	p.Line("set managers %d\nset fifo %s\nset multicast %s", p.managers, p.Pick("on", "off"), p.Pick("on", "on", "off"))
	p.Line("set gossip on\nset discovery %s\nset member-timeout %s", p.Pick("300ms", "2s"), p.Pick("5s", "30s"))
	p.Line("set window %d\nset fragment 100", 4+p.IntN(30))
	at := 3 * time.Second
	for n := 1 + p.IntN(5); n > 0 && at < 90*time.Second; n-- {
		at = p.episode(at)
	}
	p.Line("at %v do all join\nexpect over within 60s\nexpect whole within 30s", at)
	p.Line("at %v do %d send 3\nexpect over within 10s\nexpect idle within 10s", 180*time.Second, 1+p.IntN(p.nodes))
	p.Line("expect proven\nexpect once\nexpect success-right\nexpect failed-right\nexpect lost-right\nalways bounded")
	return p.String()
}

// episode draws some pauses that begin at about the same time, and what happens meanwhile. It returns when all is over.
func (p *pausePlan) episode(at time.Duration) time.Duration {
	at += time.Duration(p.IntN(4000)) * time.Millisecond
	length := []time.Duration{time.Second, 2500 * time.Millisecond, 4 * time.Second, 9 * time.Second, 20 * time.Second}[p.IntN(5)]
	end := at + length
	p.dead = 0
	switch p.IntN(6) {
	case 0: // some nodes, all at once
		var list []string
		for node := 1; node <= p.nodes; node++ {
			if p.IntN(2) == 0 && p.take(node, at, end) {
				list = append(list, fmt.Sprint(node))
			}
		}
		if len(list) > 0 {
			p.Line("at %v pause %s for %v", at, strings.Join(list, ","), length)
		}
	case 1: // the next manager, when it takes over
		if node := 1 + p.IntN(p.managers); p.take(node, at, end) {
			p.dead = node
			p.Line("at %v %s %d\nat %v restart %d", at, p.Pick("kill", "crash"), node, end, node)
		}
		end = max(end, p.pause(1+p.IntN(p.managers), at+time.Duration(p.IntN(4000))*time.Millisecond, length))
	case 2, 3:
		end = p.stopInSearch(at, end)
	case 4:
		end = max(end, p.pause(1+p.IntN(p.managers), at, length))
	case 5: // nodes one after the other
		for range 1 + p.IntN(3) {
			end = max(end, p.pause(1+p.IntN(p.nodes), p.Between(at, end), length))
		}
	}
	p.meanwhile(at, length)
	return end
}

// meanwhile makes nodes send and leave, and links lose messages.
func (p *pausePlan) meanwhile(at, length time.Duration) {
	for range 3 + p.IntN(8) {
		p.do(p.Between(at, at+length), fmt.Sprintf("send %d %d", 1+p.IntN(4), 4+p.IntN(2)*p.IntN(300)))
	}
	if p.IntN(3) == 0 {
		p.do(p.Between(at, at+length), "leave")
		p.do(p.Between(at+length/2, at+length), "join")
	}
	if p.IntN(3) == 0 {
		p.Line("at %v link %d -> all loss %d%%", at, 1+p.IntN(p.nodes), 1+p.IntN(30))
		p.Line("at %v links reset", at+length)
	}
}

// do makes a node do something, unless it is down.
func (p *pausePlan) do(at time.Duration, what string) {
	if node := 1 + p.IntN(p.nodes); node != p.dead {
		p.Line("at %v do %d %s", at, node, what)
	}
}

// stopInSearch draws a manager that restarts, and stops when it asks the members. It returns the end of the pause, or end.
func (p *pausePlan) stopInSearch(at, end time.Duration) time.Duration {
	node := 1 + p.IntN(p.managers)
	if !p.take(node, at, end) {
		return end
	}
	p.dead = node
	back := at + p.Between(0, 3*time.Second)
	p.Line("at %v %s %d\nat %v restart %d", at, p.Pick("kill", "crash"), node, back, node)
	p.free[node] = back
	return max(end, p.pause(node, back+time.Duration(300+p.IntN(400))*time.Millisecond, time.Duration(2500+1500*p.IntN(2))*time.Millisecond))
}

// take reserves a node for a fault, unless it has one then.
func (p *pausePlan) take(node int, from, to time.Duration) bool {
	if p.free[node] >= from {
		return false
	}
	p.free[node] = to + time.Millisecond
	return true
}

// pause draws a pause and returns its end.
func (p *pausePlan) pause(node int, at, length time.Duration) time.Duration {
	if p.take(node, at, at+length) {
		p.Line("at %v pause %d for %v", at, node, length)
	}
	return at + length
}
