package engine

import (
	"slices"
	"syscall"
	"time"

	"ulnet/lnet/selftest/wire"
)

// batch is a set of tests that run together.
type batch struct {
	name    string
	id      uint64 // number of the batch at the nodes
	running bool   // the batch was run, was not stopped since, and no query has found that it has ended
	tests   []*test
	clients set
	servers set
	added   map[*node]int32 // tests of the batch that a node has, as client and as server
	doubts  map[*node]*doubt
	uses    int // number of tests that are being added
}

// Batch describes a batch.
type Batch struct {
	Name         string     `json:"name"`              // name of the batch
	Running      bool       `json:"running"`           // the batch was run, was not stopped since, and no query has found that it has ended
	Clients      []Node     `json:"clients,omitempty"` // the clients of the tests
	Servers      []Node     `json:"servers,omitempty"` // the servers of the tests
	ClientCounts Counts     `json:"client_counts"`     // the clients by state
	ServerCounts Counts     `json:"server_counts"`     // the servers by state
	Tests        []TestInfo `json:"tests,omitempty"`   // tests of the batch, of which the first has the number 1
}

// TestInfo describes a test of a batch. Its nodes are those of the groups From and To, which
// cannot change any more.
type TestInfo struct {
	Test                // the groups and the parameters of the test
	ClientCounts Counts `json:"client_counts"` // clients of the test, by state
	ServerCounts Counts `json:"server_counts"` // servers of the test, by state
}

// addBatch makes a batch.
func (s *session) addBatch(c *Console, name string) {
	c.batches++
	s.batches = append(s.batches, &batch{name: name, id: c.batches, added: map[*node]int32{}})
}

func (s *session) batch(name string) (*batch, error) {
	if i := slices.IndexFunc(s.batches, func(b *batch) bool { return b.name == name }); i >= 0 {
		return s.batches[i], nil
	}
	return nil, fail(syscall.ENOENT, "list the batches that there are (lst list_batch)", "there is no batch %s", name)
}

// useBatch keeps other operations from adding tests to a batch until o has ended.
func (o *operation) useBatch(b *batch) {
	b.uses++
	o.batches = append(o.batches, b)
}

// AddBatch makes a batch without tests.
type AddBatch struct {
	Key  uint32 // key of the session
	Name string // name of the new batch, 1 to 31 bytes
}

func (a *AddBatch) begin(c *Console, o *operation) error {
	s, err := c.current(a.Key)
	if err != nil {
		return err
	}
	if err := checkName("batch", a.Name); err != nil {
		return err
	}
	if _, err := s.batch(a.Name); err == nil {
		return fail(syscall.EEXIST, "use another name, or add tests to it", "batch %s exists already", a.Name)
	}
	if len(s.batches) >= c.cfg.MaxBatches {
		return errFull("batches", c.cfg.MaxBatches)
	}
	s.addBatch(c, a.Name)
	c.finish(o, nil)
	return nil
}

// Run starts the tests of a batch at all its clients.
type Run struct {
	Key     uint32        // key of the session
	Batch   string        // name of the batch
	Timeout time.Duration // how long to wait for a node, 3 s to 30 s
}

func (r *Run) begin(c *Console, o *operation) error {
	s, b, err := c.batchOf(r.Key, r.Batch)
	if err != nil {
		return err
	}
	request := wire.Batch{Session: s.id, Batch: b.id, Op: wire.RunBatch, Argument: seconds(r.Timeout)}
	c.ask(&transaction{
		of: o, service: wire.BatchService, nodes: slices.Clone(b.clients.nodes), wait: r.Timeout,
		request: func(int) (wire.Body, []byte) { return &request, nil },
		then: func() {
			b.running = b.running || slices.ContainsFunc(o.result.Answers, func(a Answer) bool { return a.OK() })
			c.finish(o, nil)
		},
	})
	return nil
}

// seconds returns a time in seconds, rounded up.
func seconds(d time.Duration) uint32 {
	return uint32(min(max(d+time.Second-1, 0)/time.Second, 1<<31-1))
}

// Stop stops the tests of a batch at all its clients.
type Stop struct {
	Key   uint32 // key of the session
	Batch string // name of the batch
	Force bool   // the RPCs of the tests are aborted; false: each unit ends after its RPC
}

func (t *Stop) begin(c *Console, o *operation) error {
	s, b, err := c.batchOf(t.Key, t.Batch)
	if err != nil {
		return err
	}
	request := wire.Batch{Session: s.id, Batch: b.id, Op: wire.StopBatch}
	if t.Force {
		request.Argument = 1
	}
	c.ask(&transaction{
		of: o, service: wire.BatchService, nodes: slices.Clone(b.clients.nodes), wait: mostWait,
		request: func(int) (wire.Body, []byte) { return &request, nil },
		take: func(a *Answer, _ *node, m *wire.Message) bool {
			if m.Status == wire.EPERM {
				a.Status = 0
			}
			return false
		},
		then: func() {
			b.running = b.running && slices.ContainsFunc(o.result.Answers, func(a Answer) bool { return !a.OK() })
			c.finish(o, nil)
		},
	})
	return nil
}

// Query asks the clients of a batch, or of one of its tests, how much of it runs.
type Query struct {
	Key     uint32        // key of the session
	Batch   string        // name of the batch
	Test    int           // number of a test, from 1 on; 0: the batch
	Timeout time.Duration // how long to wait for a node, 3 s to 30 s
}

func (q *Query) begin(c *Console, o *operation) error {
	s, b, err := c.batchOf(q.Key, q.Batch)
	if err != nil {
		return err
	}
	if q.Test == 0 {
		q.ask(c, o, s, b, slices.Clone(b.clients.nodes), nil)
		return nil
	}
	if q.Test < 0 || q.Test > len(b.tests) {
		return fail(syscall.ENOENT, "list the tests that there are (lst list_batch)", "batch %s has no test %d", b.name, q.Test)
	}
	t := b.tests[q.Test-1]
	c.settle(o, s, b, t.from.nodes, func() {
		nodes, numbers := t.known()
		q.ask(c, o, s, b, nodes, numbers)
	})
	return nil
}

// ask asks nodes, clients of a batch, how much of the batch runs; with numbers, it asks how much of one
// test runs: numbers[i] is the number that the test has at nodes[i].
func (q *Query) ask(c *Console, o *operation, s *session, b *batch, nodes []*node, numbers []int32) {
	c.ask(&transaction{
		of: o, service: wire.BatchService, nodes: nodes, wait: q.Timeout,
		request: func(i int) (wire.Body, []byte) {
			request := &wire.Batch{Session: s.id, Batch: b.id, Op: wire.QueryBatch}
			if numbers != nil {
				request.Test = numbers[i]
			}
			return request, nil
		},
		take: func(a *Answer, _ *node, m *wire.Message) bool {
			a.Active = m.Body.(*wire.BatchReply).Active
			return false
		},
		then: func() {
			if q.Test == 0 {
				b.running = b.running && slices.ContainsFunc(o.result.Answers, func(a Answer) bool { return !a.OK() || a.Active > 0 })
			}
			c.finish(o, nil)
		},
	})
}

// batchOf returns the session and a batch.
func (c *Console) batchOf(key uint32, name string) (*session, *batch, error) {
	s, err := c.current(key)
	if err != nil {
		return nil, nil, err
	}
	b, err := s.batch(name)
	return s, b, err
}

// Batches returns the batches in the order in which they were made, without their nodes and
// tests. ESRCH: there is no session.
func (c *Console) Batches() ([]Batch, error) {
	s, err := c.existing()
	if err != nil {
		return nil, err
	}
	list := make([]Batch, len(s.batches))
	for i, b := range s.batches {
		list[i] = b.summary()
	}
	return list, nil
}

// Batch returns a batch with its nodes and tests. ENOENT: there is none of this name.
func (c *Console) Batch(name string) (Batch, error) {
	s, err := c.existing()
	if err != nil {
		return Batch{}, err
	}
	b, err := s.batch(name)
	if err != nil {
		return Batch{}, err
	}
	d := b.summary()
	d.Clients, d.Servers = listOf(b.clients.nodes), listOf(b.servers.nodes)
	for _, t := range b.tests {
		d.Tests = append(d.Tests, TestInfo{Test: t.Test, ClientCounts: countsOf(t.from.nodes), ServerCounts: countsOf(t.to.nodes)})
	}
	return d, nil
}

func (b *batch) summary() Batch {
	return Batch{Name: b.name, Running: b.running, ClientCounts: countsOf(b.clients.nodes), ServerCounts: countsOf(b.servers.nodes)}
}
