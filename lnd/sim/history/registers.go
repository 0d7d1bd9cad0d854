package history

import (
	"cmp"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// Registers: what is written to and read from registers is linearizable: each
// operation takes effect at one instant between its two records. A register
// belongs to the node of its number, which alone writes it, and holds 0 at
// first. An operation whose end is not told may have taken effect or not. The
// search of one register, which can be long, is given up after limit of real
// time, and that reported; 0 is no limit.
func Registers(l *Log, limit time.Duration) []Violation {
	f := findings{rule: "Registers", log: l}
	list := pick(l, Write, Written, Read, Answer)
	byRegister := func(a, b *entry) int { return cmp.Compare(a.subject, b.subject) }
	l.order(list, byRegister)
	for register := range l.groups(list, byRegister) {
		f.register(register, limit)
	}
	return f.list
}

// register checks one register, of which list are the records in order.
func (f *findings) register(list []int32, limit time.Duration) {
	for _, i := range list {
		if e := f.log.entry(int(i)); e.kind == Write && e.node != e.subject {
			f.add([]int32{i}, "node %v writes the register of node %v", e.node, e.subject)
			return
		}
	}
	ops, stray := f.log.operations(list)
	if stray >= 0 {
		e := f.log.entry(int(stray))
		f.add([]int32{stray}, "node %v was told of the end of an operation that it has not begun", e.node)
		return
	}
	owner := f.log.entry(int(list[0])).subject
	switch porcupine.CheckOperationsTimeout(registerModel, ops, limit) {
	case porcupine.Unknown:
		f.add(list[:1], "the register of node %v is undecided after %v", owner, limit)
	case porcupine.Illegal:
		n := f.log.shortest(list, limit)
		e := f.log.entry(int(list[n-1]))
		f.add(list[max(0, n-maxRecords):n], "no order of the operations on the register of node %v explains what node %v was told", owner, e.node)
	}
}

// shortest is how many of the records it takes until they are not linearizable:
// a part from the beginning of a linearizable history is linearizable too.
func (l *Log) shortest(list []int32, limit time.Duration) int {
	low, high := 0, len(list) // low records are fine, high are not
	for high-low > 1 {
		middle := (low + high) / 2
		ops, _ := l.operations(list[:middle])
		if porcupine.CheckOperationsTimeout(registerModel, ops, limit) == porcupine.Illegal {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// access is an operation on a register.
type access struct {
	write bool
	value uint64 // of a write
}

// registerModel is a register by itself.
var registerModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		if a := input.(access); a.write {
			return true, a.value
		}
		return state == output, state
	},
}

// operations pairs the records of one register. Time is their place in the
// log. A read without an end says nothing; a write without one may take effect
// at any time. stray is an end without a beginning, or -1.
func (l *Log) operations(list []int32) (ops []porcupine.Operation, stray int32) {
	type client struct{ node, incarnation, kind uint32 }
	open := map[client]int{} // index in all, of what has not ended
	var all []porcupine.Operation
	for _, i := range list {
		e := l.entry(int(i))
		begins := e.kind == Write || e.kind == Read
		c := client{uint32(e.node), e.incarnation, uint32(e.kind)}
		if !begins {
			c.kind-- // of what it ends
		}
		at, was := open[c]
		switch {
		case begins:
			open[c] = len(all)
			a := access{write: e.kind == Write, value: e.value}
			all = append(all, porcupine.Operation{ClientId: int(e.node), Input: a, Call: int64(i), Return: math.MaxInt64})
		case !was:
			return nil, i
		default:
			delete(open, c)
			all[at].Return, all[at].Output = int64(i), e.value
		}
	}
	for _, op := range all {
		if op.Return != math.MaxInt64 || op.Input.(access).write {
			ops = append(ops, op)
		}
	}
	return ops, -1
}
