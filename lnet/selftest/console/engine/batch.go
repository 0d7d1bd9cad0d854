package engine

// batch is a set of tests that run together.
type batch struct {
	name string
	id   uint64 // its number at the nodes
}

// addBatch makes a batch.
func (s *session) addBatch(c *Console, name string) *batch {
	c.batches++
	b := &batch{name: name, id: c.batches}
	s.batches = append(s.batches, b)
	return b
}
