package engine

import "fmt"

// invariants returns an error if an invariant of the machine does not hold. It is called after
// every step.
func (m *Machine) invariants() error {
	others, admitted, active, lists := 0, 0, 0, uint64(0)
	inFlight := make(map[*group]int)
	for _, r := range m.requests.slots {
		if r.phase == idle {
			continue
		}
		active++
		lists += r.list
		if !r.root {
			others++
		}
		if r.hasSlot {
			admitted++
		}
		if r.group != nil && !(r.root && r.phase == closing) {
			inFlight[r.group]++
		}
		if err := r.invariants(); err != nil {
			return fmt.Errorf("request %x, %v: %w", uint64(r.id), r.phase, err)
		}
	}
	if others != m.incoming || active != m.requests.active {
		return fmt.Errorf("%d requests, %d of others: counted %d and %d", m.requests.active, m.incoming, active, others)
	}
	if lists != m.lists {
		return fmt.Errorf("lists of %d bytes are fetched, counted %d", m.lists, lists)
	}
	strange := 0
	for i, g := range m.table.list {
		if !g.creator && g.lru.class != ofOurs {
			strange++
		}
		if g.index != i || m.table.groups[g.key] != g {
			return fmt.Errorf("group %v is lost", g.key.id)
		}
		if g.inFlight != inFlight[g] {
			return fmt.Errorf("group %v has %d requests, counted %d", g.key.id, g.inFlight, inFlight[g])
		}
	}
	if strange != m.table.cache.others() {
		return fmt.Errorf("%d groups of others, counted %d", m.table.cache.others(), strange)
	}
	if err := m.table.invariants(); err != nil {
		return err
	}
	if err := m.shares.invariants(admitted, m.incoming-admitted, strange, m.lists); err != nil {
		return err
	}
	if err := m.admission.invariants(admitted, m.requests.slots); err != nil {
		return err
	}
	for i, r := range m.requests.heap {
		if r.heapAt != i || i > 0 && m.requests.less(i, (i-1)/2) {
			return fmt.Errorf("the heap is out of order at %d", i)
		}
	}
	return nil
}

// invariants checks that a group can be displaced exactly if nothing uses it.
func (t *table) invariants() error {
	queues := []*queue{&t.cache.ours}
	for _, h := range t.cache.holders {
		for i := range h.parts {
			queues = append(queues, &h.parts[i].oob, &h.parts[i].regular)
		}
	}
	may := 0
	for _, q := range queues {
		tick := uint64(0)
		for g := q.first; g != nil; g = g.lru.next {
			if may++; g.lru.queue != q || g.lru.tick <= tick || g.index < 0 {
				return fmt.Errorf("group %v is in the wrong position of its queue", g.key.id)
			}
			tick = g.lru.tick
		}
	}
	for _, g := range t.list {
		stays := g.creator || g.inFlight > 0 || g.lru.pinned || g.lru.holds > 0
		if stays == (g.lru.queue != nil) {
			return fmt.Errorf("group %v stays: %v, but may go: %v", g.key.id, stays, !stays)
		}
		if !stays {
			may--
		}
	}
	if may != 0 {
		return fmt.Errorf("%d groups more may go than there are", may)
	}
	return nil
}

// invariants compares the shares of nodes with the requests and groups.
func (s *shares) invariants(active, waiting, groups int, fetch uint64) error {
	var all share
	for _, one := range s.of { // any order: the result is a sum
		all.active += one.active
		all.waiting += one.waiting
		all.body += one.body
		all.groups += one.groups
		all.bytes += one.bytes
		all.fetch += one.fetch
		if one.active < 0 || one.waiting < 0 || one.groups < 0 {
			return fmt.Errorf("a node holds %+v", one)
		}
	}
	if want := (share{active, waiting, s.bodies, groups, s.bytes, fetch}); all != want {
		return fmt.Errorf("nodes hold %+v, there is %+v", all, want)
	}
	if n := s.strangers; n.active > active || n.waiting > waiting || n.body > s.bodies || n.groups > groups || n.active < 0 || n.groups < 0 || n.bytes > s.bytes || n.fetch > fetch {
		return fmt.Errorf("strangers hold %+v of %+v", n, all)
	}
	return nil
}

// invariants compares the queues with the requests that are held.
func (p *admission) invariants(admitted int, all []*request) error {
	lines, waiting := 0, 0
	for _, r := range all {
		if r.phase == held && !r.root {
			waiting++
		}
	}
	for _, l := range p.lines {
		lines += len(l.list)
		if len(l.list) == 0 {
			return fmt.Errorf("the line of %v is empty", l.peer)
		}
		for _, r := range l.list {
			if r.phase != held || r.parent != l.peer || r.levels() != l.levels {
				return fmt.Errorf("request %x, %v, is in the line of %v with %d levels", uint64(r.id), r.phase, l.peer, l.levels)
			}
		}
	}
	if lines != waiting || p.taken != admitted || p.freed {
		return fmt.Errorf("%d requests are held, %d are in lines; %d have a slot, counted %d", waiting, lines, admitted, p.taken)
	}
	return nil
}

func (r *request) invariants() error {
	pending := 0
	for i := range r.children {
		if r.children[i].state != done {
			pending++
		}
	}
	switch {
	case pending != r.pending:
		return fmt.Errorf("%d children are pending, counted %d", r.pending, pending)
	case r.calls < 0:
		return fmt.Errorf("%d calls", r.calls)
	case !r.root && r.hasSlot != (r.phase > held):
		return fmt.Errorf("has a slot: %v", r.hasSlot)
	case r.phase > running && pending > 0:
		return fmt.Errorf("%d children are pending", pending)
	case !r.root && !r.answered && r.heapAt < 0:
		return fmt.Errorf("there is no answer if the service sends none")
	case r.phase == running && pending > 0 && r.heapAt < 0 && !r.pipe.loading:
		return fmt.Errorf("nothing will end the wait for %d children", pending)
	}
	return nil
}
