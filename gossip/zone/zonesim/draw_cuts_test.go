package zonesim_test

import (
	"fmt"
	"strings"
	"time"
)

// cutPlan draws a scenario of partitions and one-way cuts of all lengths up to 30 s, most of
// them about as long as the timeout. No node may be removed by another one from which nothing
// separates it, and in the end the views must be right again. At most one message in two
// hundred is lost.
func cutPlan(seed uint64) string {
	var p plan
	p.begin(seed, 6, 48, fmt.Sprintf(" loss %.1f%%", float64(seed%3)/4))
	p.at = 10 * time.Second
	for range 1 + p.IntN(4) {
		length := p.Between(100*time.Millisecond, 6*time.Second)
		if p.IntN(3) == 0 {
			length = p.Between(100*time.Millisecond, 30*time.Second)
		}
		if p.IntN(2) == 0 {
			p.Line("at %v partition %s", p.at, strings.Join(p.sides(), " | "))
		} else {
			p.Line("at %v cut %s -> %s", p.at, p.some(), p.some())
		}
		p.at += length
		p.Line("at %v heal", p.at)
		p.at += p.Between(100*time.Millisecond, 15*time.Second)
	}
	p.Line("always no-false-removal")
	return p.end(100 * time.Second)
}

// sides divides all nodes into two or three sets.
func (p *plan) sides() (list []string) {
	sides := make([][]string, 2+p.IntN(2))
	weight := 1 + p.IntN(8) // the first set gets a node this many times as often as each other set
	for k := range p.nodes() {
		i := p.IntN(len(sides) + weight - 1)
		i = max(i-weight+1, 0)
		sides[i] = append(sides[i], fmt.Sprint(k+1))
	}
	for _, s := range sides {
		if len(s) > 0 {
			list = append(list, strings.Join(s, ","))
		}
	}
	if len(list) == 1 { // all nodes are on one side, so the first node is put alone
		list = []string{"1", fmt.Sprintf("2-%d", p.nodes())}
	}
	return list
}

// some draws several nodes with consecutive numbers.
func (p *plan) some() string {
	first := 1 + p.IntN(p.nodes())
	return fmt.Sprintf("%d-%d", first, min(first+p.IntN(1+p.nodes()/2), p.nodes()))
}
