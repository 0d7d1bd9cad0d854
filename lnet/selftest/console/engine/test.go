package engine

import (
	"slices"
	"syscall"

	"ulnet/lnet/selftest/wire"
)

// Test is a test between the nodes of two groups.
type Test struct {
	Batch       string         `json:"batch"`       // name of the batch that it is added to
	From        string         `json:"from"`        // name of the group of the clients, which send the requests
	To          string         `json:"to"`          // name of the group of the servers
	Service     wire.Service   `json:"service"`     // wire.BRWService or wire.PingService
	Loop        int32          `json:"loop"`        // requests of each unit; negative: without end
	Concurrency int            `json:"concurrency"` // units of a client for each of its servers, 1 to 1024
	Distribute  int            `json:"distribute"`  // how many clients in a row get the same servers; at least 1
	Span        int            `json:"span"`        // how many servers each client gets; 1 to 341
	BRW         wire.BRWParams `json:"brw"`         // parameters of BRWService; Pages is not used
}

// test is a test of a batch.
type test struct {
	Test
	from, to *group
	numbers  []int32 // numbers that the test has at its clients, in the order of from; 0: the client does not have it
}

// known returns the clients that have the test, and its numbers there.
func (t *test) known() (nodes []*node, numbers []int32) {
	for i, number := range t.numbers {
		if number > 0 {
			nodes, numbers = append(nodes, t.from.nodes[i]), append(numbers, number)
		}
	}
	return nodes, numbers
}

// AddTest adds a test to a batch: first to its servers and, if all of them have it, to its
// clients. The test is part of the batch even if nodes have refused it.
type AddTest struct {
	Key  uint32 // key of the session
	Test Test   // the test
}

func (a *AddTest) begin(c *Console, o *operation) error {
	s, b, err := c.batchOf(a.Key, a.Test.Batch)
	if err != nil {
		return err
	}
	if err := a.Test.check(s.features); err != nil {
		return err
	}
	switch {
	case b.running:
		return fail(syscall.EINVAL, "stop it first (lst stop), or see by a query that it has ended", "batch %s is running", b.name)
	case b.uses > 0:
		return fail(syscall.EBUSY, "try again when it has ended", "a test is being added to batch %s", b.name)
	case s.tests >= c.cfg.MaxTests:
		return errFull("tests", c.cfg.MaxTests)
	}
	t := &test{Test: a.Test}
	if t.from, t.to, err = s.between(&a.Test); err != nil {
		return err
	}
	t.numbers = make([]int32, len(t.from.nodes))
	o.use(t.from)
	o.use(t.to)
	o.useBatch(b)
	nodes := slices.Concat(t.from.nodes, t.to.nodes)
	c.settle(o, s, b, nodes, func() {
		if err := b.undecided(nodes); err != nil || o.stopped != 0 {
			c.finish(o, err)
			return
		}
		c.addServers(o, s, b, t)
	})
	return nil
}

// between returns the groups of a test, whose nodes must be active.
func (s *session) between(t *Test) (from, to *group, err error) {
	if from, err = s.group(t.From); err != nil {
		return nil, nil, err
	}
	if to, err = s.group(t.To); err != nil {
		return nil, nil, err
	}
	fromAll, fromAny := from.active()
	toAll, toAny := to.active()
	switch {
	case !fromAny || !toAny:
		return nil, nil, fail(syscall.EINVAL, "look at the nodes (lst list_group --all)", "group %s or %s has no active node", t.From, t.To)
	case t.Span > len(to.nodes):
		return nil, nil, fail(syscall.EINVAL, "use a smaller span", "group %s has %d nodes, fewer than the %d that each client shall have", t.To, len(to.nodes), t.Span)
	case !fromAll || !toAll:
		return nil, nil, fail(syscall.ENETDOWN, "take them out of the groups (lst update_group --clean invalid), or refresh these", "nodes of group %s or %s are not active", t.From, t.To)
	}
	return from, to, nil
}

// addServers adds a test to its servers, and then to its clients.
func (c *Console) addServers(o *operation, s *session, b *batch, t *test) {
	b.tests = append(b.tests, t)
	s.tests++
	t.from.tests++
	t.to.tests++
	for _, n := range t.to.nodes {
		b.servers.add(n)
	}
	request := t.request(s, b)
	request.Loop = t.buffers()
	x := &transaction{
		of: o, service: wire.TestService, nodes: t.to.nodes, wait: mostWait,
		request: func(int) (wire.Body, []byte) { return &request, nil },
		take: func(a *Answer, n *node, _ *wire.Message) bool {
			if a.Server = true; a.OK() {
				b.added[n]++
			}
			return false
		},
	}
	x.then = func() {
		b.doubtAnswers(t, x.nodes, x.answers, false)
		if o.stopped != 0 || slices.ContainsFunc(x.answers, func(a Answer) bool { return !a.OK() }) {
			c.finish(o, nil)
			return
		}
		c.addClients(o, s, b, t)
	}
	c.ask(x)
}

// addClients adds a test to each of the test's clients, with the list of the servers that the client
// sends to.
func (c *Console) addClients(o *operation, s *session, b *batch, t *test) {
	for _, n := range t.from.nodes {
		b.clients.add(n)
	}
	index := make(map[*node]int, len(t.from.nodes))
	for i, n := range t.from.nodes {
		index[n] = i
	}
	x := &transaction{
		of: o, service: wire.TestService, nodes: t.from.nodes, wait: mostWait,
		request: func(i int) (wire.Body, []byte) {
			request := t.request(s, b)
			request.Client, request.Loop, request.Destinations, request.BRW.Offset = true, t.Loop, uint32(t.Span), t.BRW.Offset
			return &request, t.destinations(i)
		},
		take: func(a *Answer, n *node, _ *wire.Message) bool {
			if a.OK() {
				b.added[n]++
				t.numbers[index[n]] = b.added[n]
			}
			return false
		},
	}
	x.then = func() {
		b.doubtAnswers(t, x.nodes, x.answers, true)
		c.finish(o, nil)
	}
	c.ask(x)
}
