package sim

// Cuts says which nodes are separated by partitions and cuts. The zero value separates none.
type Cuts struct {
	Sides []int32   // by node: its side of the partition, 0 for those in no set; nil: there is no partition
	Pairs []Severed // cuts that are in force
}

// Severed is a cut: nothing gets from one set to the other.
type Severed struct {
	From, To NodeSet // nodes that send, nodes that no longer receive from them
}

// Partition replaces the partition, and keeps cuts. nodes is the number of nodes.
func (c *Cuts) Partition(nodes int, sets []NodeSet) {
	c.Sides = make([]int32, nodes)
	for i, s := range sets {
		for id := range s.All(nodes) {
			c.Sides[id] = int32(i + 1)
		}
	}
}

// Cut adds a cut from one set to another.
func (c *Cuts) Cut(from, to NodeSet) { c.Pairs = append(c.Pairs, Severed{from, to}) }

// Heal ends the partition and all cuts.
func (c *Cuts) Heal() { c.Sides, c.Pairs = nil, nil }

// Some reports whether there is a partition or a cut.
func (c *Cuts) Some() bool { return c.Sides != nil || len(c.Pairs) > 0 }

// Apart reports whether messages from one node cannot reach another.
func (c *Cuts) Apart(from, to NodeID) bool {
	if c.Sides != nil && c.Sides[from] != c.Sides[to] {
		return true
	}
	for i := range c.Pairs {
		if c.Pairs[i].From.Has(from) && c.Pairs[i].To.Has(to) {
			return true
		}
	}
	return false
}
