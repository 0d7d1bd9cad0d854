package history

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/sim"
)

// perfect is a group whose members are informed of everything at once, and of which at least
// three are up.
type perfect struct {
	t           *rapid.T
	now         time.Duration
	records     []Record
	up          []bool
	incarnation []uint32
	value       uint64
}

func (p *perfect) tell(node int, kind Kind, subject int, value uint64, text string) {
	p.now += time.Duration(rapid.IntRange(0, 1000).Draw(p.t, "after")) * time.Millisecond
	r := Record{At: p.now, Node: sim.NodeID(node), Kind: kind, Subject: sim.NodeID(subject), Value: value, Text: text}
	if node >= 0 {
		r.Incarnation = p.incarnation[node]
	}
	p.records = append(p.records, r)
}

func (p *perfect) alive() (list []int) {
	for i, up := range p.up {
		if up {
			list = append(list, i)
		}
	}
	return list
}

func (p *perfect) anyAlive() int { return rapid.SampledFrom(p.alive()).Draw(p.t, "node") }

func (p *perfect) start(id int) {
	p.up[id] = true
	p.tell(id, Start, -1, 0, "")
	for _, other := range p.alive() {
		p.tell(other, Join, id, 0, "")
		if other != id {
			p.tell(id, Join, other, 0, "")
		}
	}
}

func (p *perfect) end(id int) {
	p.tell(id, rapid.SampledFrom([]Kind{Kill, Crash}).Draw(p.t, "end"), -1, 0, "")
	p.up[id] = false
	p.incarnation[id]++
	for _, other := range p.alive() {
		p.tell(other, Death, id, 0, "")
	}
}

func (p *perfect) toggle() {
	id := rapid.IntRange(0, len(p.up)-1).Draw(p.t, "node")
	switch {
	case !p.up[id]:
		p.start(id)
	case len(p.alive()) > 3:
		p.end(id)
	}
}

func (p *perfect) broadcast() {
	p.value++
	sender, value := p.anyAlive(), p.value
	p.tell(sender, Send, -1, value, "")
	for _, id := range rapid.Permutation(p.alive()).Draw(p.t, "order") {
		p.tell(id, Delivery, sender, value, "")
	}
	for id, up := range p.up {
		if !up {
			p.tell(sender, Unreached, id, value, "")
		}
	}
	p.tell(sender, Completion, -1, value, "")
}

func (p *perfect) trouble() {
	id := p.anyAlive()
	p.tell(id, Pause, -1, 0, "")
	p.tell(-1, Partition, -1, 0, "1,2 | 3")
	p.tell(id, Resume, -1, 0, "")
	p.tell(-1, Heal, -1, 0, "")
}

// validHistory draws a history that breaks no rule and ends with records of every kind.
func validHistory(t *rapid.T) []Record {
	n := rapid.IntRange(4, 6).Draw(t, "nodes")
	p := &perfect{t: t, up: make([]bool, n), incarnation: make([]uint32, n)}
	for id := range n {
		p.start(id)
	}
	acts := []func(){p.toggle, p.broadcast, p.trouble}
	for range rapid.IntRange(0, 12).Draw(t, "acts") {
		acts[rapid.IntRange(0, len(acts)-1).Draw(t, "act")]()
	}
	if list := p.alive(); len(list) > 3 { // the last change has to end a membership
		p.end(list[0])
	}
	for _, act := range acts[1:] {
		act()
	}
	return p.records
}

func logOf(records []Record) *Log {
	l := New()
	for _, r := range records {
		l.Append(r)
	}
	return l
}

// last returns the index of the last record of a kind.
func last(records []Record, k Kind) int {
	i := len(records) - 1
	for records[i].Kind != k {
		i--
	}
	return i
}

// mutations has, by the name of a checker, a function that changes a valid history so that it breaks the
// rule of that checker.
var mutations = map[string]func(r []Record) []Record{
	"AtMostOnce": func(r []Record) []Record {
		i := last(r, Delivery)
		return slices.Insert(r, i, r[i])
	},
	"Alternation": func(r []Record) []Record {
		i := last(r, Join)
		return slices.Insert(r, i, r[i])
	},
	"NoResurrection": func(r []Record) []Record {
		i := last(r, Death)
		again := r[i]
		again.Kind, again.At = Join, r[len(r)-1].At
		return append(r, again)
	},
	"NoFalse": func(r []Record) []Record {
		d := r[last(r, Delivery)]
		o := r[last(r, Delivery)-1]
		return append(r, Record{At: r[len(r)-1].At + time.Minute, Node: d.Node, Incarnation: d.Incarnation, Kind: Death, Subject: o.Node})
	},
	"ExactFailureSet": func(r []Record) []Record {
		i := last(r, Unreached)
		return slices.Delete(r, i, i+1)
	},
}

func TestValidHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := logOf(validHistory(t))
		for _, check := range checkers {
			for _, v := range check(l) {
				t.Errorf("%v", v)
			}
		}
	})
}

func TestMutatedHistories(t *testing.T) {
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := logOf(mutate(validHistory(t)))
				if len(checkers[name](l)) == 0 {
					for r := range l.All() {
						t.Log(r)
					}
					t.Error("nothing found")
				}
			})
		})
	}
}
