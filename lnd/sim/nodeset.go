package sim

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// NodeSet is a set of nodes: ranges in any order. The zero value is empty.
type NodeSet struct {
	ranges []nodeRange
}

type nodeRange struct{ first, last NodeID }

// AllNodes is every node.
var AllNodes = NodeSet{[]nodeRange{{0, 1<<31 - 1}}}

// Nodes returns the set of some nodes.
func Nodes(ids ...NodeID) NodeSet {
	var s NodeSet
	for _, id := range ids {
		s.ranges = append(s.ranges, nodeRange{id, id})
	}
	return s
}

// NodeRange returns the set of the nodes from first to last.
func NodeRange(first, last NodeID) NodeSet { return NodeSet{[]nodeRange{{first, last}}} }

// Has reports whether a node is in the set.
func (s NodeSet) Has(id NodeID) bool {
	for _, r := range s.ranges {
		if id >= r.first && id <= r.last {
			return true
		}
	}
	return false
}

// All yields the nodes of the set that are among the first n, in order of its
// ranges; one that is in two ranges comes twice.
func (s NodeSet) All(n int) iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for _, r := range s.ranges {
			for id := r.first; id <= r.last && int(id) < n; id++ {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// Len is how many of the first n nodes All yields.
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
	var s NodeSet
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
		s.ranges = append(s.ranges, nodeRange{NodeID(first - 1), NodeID(last - 1)})
	}
	return s, nil
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
