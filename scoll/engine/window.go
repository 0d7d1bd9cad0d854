package engine

// windowSize is how many broadcasts of a root over a group may be under way at
// a time, from the oldest to the newest.
const windowSize = 256

// window remembers which of the latest numbers have been seen.
type window struct {
	top  uint64 // the highest, 0 before there is one
	bits [windowSize / 64]uint64
}

// add takes note of a number, from 1, and reports whether it is new. What is
// too old to be known counts as seen.
func (w *window) add(n uint64) bool {
	if n > w.top {
		w.slide(n)
	}
	if w.top-n >= windowSize {
		return false
	}
	word, bit := &w.bits[n%windowSize/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// slide makes n the highest number.
func (w *window) slide(n uint64) {
	if n-w.top >= windowSize {
		w.bits = [windowSize / 64]uint64{}
	} else {
		for i := n; i > w.top; i-- { // n may be the highest number that there is
			w.bits[i%windowSize/64] &^= 1 << (i % 64)
		}
	}
	w.top = n
}
