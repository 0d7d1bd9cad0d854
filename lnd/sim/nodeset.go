package sim

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NodeSet is a set of nodes. The zero value is empty.
type NodeSet struct {
	ranges []nodeRange // ascending ranges with gaps between them
}

type nodeRange struct{ first, last NodeID }

// AllNodes is the set of all nodes.
var AllNodes = NodeSet{[]nodeRange{{0, math.MaxInt32}}}

// Nodes returns the set of the given nodes.
func Nodes(ids ...NodeID) NodeSet {
	ranges := make([]nodeRange, len(ids))
	for i, id := range ids {
		ranges[i] = nodeRange{id, id}
	}
	return newNodeSet(ranges)
}

// NodeRange returns the set of the nodes from first to last.
func NodeRange(first, last NodeID) NodeSet { return newNodeSet([]nodeRange{{first, last}}) }

// newNodeSet returns the set of all nodes in the given ranges, which may overlap and be in any order.
func newNodeSet(ranges []nodeRange) NodeSet {
	slices.SortFunc(ranges, func(a, b nodeRange) int { return cmp.Compare(a.first, b.first) })
	var s NodeSet
	for _, r := range ranges {
		r.first = max(r.first, 0)
		k := len(s.ranges) - 1
		switch {
		case r.first > r.last:
		case k >= 0 && int(r.first) <= int(s.ranges[k].last)+1:
			s.ranges[k].last = max(s.ranges[k].last, r.last)
		default:
			s.ranges = append(s.ranges, r)
		}
	}
	return s
}

// Has reports whether a node is in the set.
func (s NodeSet) Has(id NodeID) bool {
	i, found := slices.BinarySearchFunc(s.ranges, id, func(r nodeRange, id NodeID) int { return cmp.Compare(r.first, id) })
	return found || i > 0 && id <= s.ranges[i-1].last
}

// All yields the nodes of the set that are among the first n, ascending.
func (s NodeSet) All(n int) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for _, r := range s.ranges {
			for id := int(r.first); id <= int(r.last) && id < n; id++ {
				if !yield(NodeID(id)) {
					return
				}
			}
		}
	}
}

// Len is how many of the first n nodes are in the set.
func (s NodeSet) Len(n int) int {
	count := 0
	for _, r := range s.ranges {
		count += max(0, min(int(r.last)+1, n)-int(r.first))
	}
	return count
}

// ParseNodes parses a set such as 1-500,600 of the nodes 1 to n, or "all".
func ParseNodes(text string, n int) (NodeSet, error) {
	if text == "all" {
		return AllNodes, nil
	}
	var ranges []nodeRange
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil || err2 != nil:
			return NodeSet{}, fmt.Errorf("%q is no set of nodes: want all, or numbers and ranges such as 1-500,600", text)
		case first < 1 || last > n:
			return NodeSet{}, fmt.Errorf("%q: nodes are numbered 1 to %d", text, n)
		case first > last:
			return NodeSet{}, fmt.Errorf("%q: %d is after %d", text, first, last)
		}
		ranges = append(ranges, nodeRange{NodeID(first - 1), NodeID(last - 1)})
	}
	return newNodeSet(ranges), nil
}

// String returns the text that [ParseNodes] takes.
func (s NodeSet) String() string {
	var b []string
	for _, r := range s.ranges {
		switch {
		case r == AllNodes.ranges[0]:
			return "all"
		case r.first == r.last:
			b = append(b, r.first.String())
		default:
			b = append(b, r.first.String()+"-"+r.last.String())
		}
	}
	return strings.Join(b, ",")
}
