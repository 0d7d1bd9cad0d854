package sim

// event is one entry of the queue.
type event struct {
	at   int64  // virtual time, ns
	seq  uint64 // order at the same instant: how many were pushed before
	node int32
	ref  int32 // what it is about, by kind
	kind eventKind
}

type eventKind uint8

const (
	evTimer  eventKind = iota // node's wake
	evArrive                  // message ref reaches node
	evHop                     // message ref reaches the next queue on its way
	evReady                   // node's CPU is free again
	evReset                   // node learns that the process of node ref died
	evAction                  // action ref of the user
	evStart                   // node's first step in this life
)

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// queue holds events and yields the earliest first.
type queue struct {
	heap []event // 4-ary
	seq  uint64
}

func (q *queue) len() int { return len(q.heap) }

func (q *queue) push(e event) {
	e.seq = q.seq
	q.seq++
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

// next returns when the earliest event is due.
func (q *queue) next() (at int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// pop removes the earliest event. The queue must not be empty.
func (q *queue) pop() event {
	first := q.heap[0]
	n := len(q.heap) - 1
	e := q.heap[n]
	q.heap = q.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		best := child
		for c := child + 1; c < min(child+4, n); c++ {
			if q.heap[c].before(&q.heap[best]) {
				best = c
			}
		}
		if !q.heap[best].before(&e) {
			break
		}
		q.heap[i] = q.heap[best]
		i = best
	}
	q.heap[i] = e
	return first
}
