package tree

import "fmt"

// KNomial is the k-nomial topology: to get the parent of a rank, write the rank
// in base K, and set its lowest digit that is not 0 to 0. K is at least 2; 2 is
// the binomial tree.
type KNomial int

// String returns the text that [Parse] takes.
func (k KNomial) String() string { return fmt.Sprintf("k-nomial %d", int(k)) }

// lowest returns K^j for the lowest digit j of v that is not zero.
func (k KNomial) lowest(v int) int {
	p := 1
	for v%(p*int(k)) == 0 {
		p *= int(k)
	}
	return p
}

// Parent implements Topology.
func (k KNomial) Parent(v, _ int) int {
	p := k.lowest(v)
	return v - v/p%int(k)*p
}

// span returns how many ranks the subtree of v would have if n were a power of K: for the root that is the
// lowest power of K that is not below n, for other ranks it is K to the power of the number of zero digits at
// the end of v.
func (k KNomial) span(v, n int) int {
	if v != 0 {
		return k.lowest(v)
	}
	p := 1
	for p < n {
		p *= int(k)
	}
	return p
}

// Child implements Topology. The children of v are the ranks v + q·p below n, for each power p of K that is
// below span(v, n), and q from 1 to K-1.
func (k KNomial) Child(v, n, i int) (child int, ok bool) {
	p := 1
	for ; i >= int(k)-1; i -= int(k) - 1 {
		p *= int(k)
	}
	child = v + p*(i+1)
	return child, p < k.span(v, n) && child < n
}

// Size implements Topology.
func (k KNomial) Size(v, n int) int { return min(k.span(v, n), n-v) }

// Depth implements Topology. The node that is x ranks after v is as many levels below v as x has nonzero
// digits in base K. So the depth is the largest number of nonzero digits of any x from 0 to size-1. If size-1
// itself does not have the most, lower one of its digits by one, and set all digits after it to K-1: one of
// the numbers made in this way has the most.
func (k KNomial) Depth(v, n int) int {
	last := k.Size(v, n) - 1
	most, above := 0, 0 // above: number of nonzero digits before position i
	p, i := 1, 0
	for p <= last/int(k) {
		p *= int(k)
		i++
	}
	for ; p > 0; p /= int(k) {
		digit := last / p % int(k)
		switch {
		case digit >= 2:
			return max(most, above+i+1) // lower this digit by one and set all digits after it to K-1: no x has more nonzero digits
		case digit == 1:
			most = max(most, above+i)
			above++
		}
		i--
	}
	return max(most, above)
}
