package engine

// windowSize bounds the distance between the oldest and the newest sequence number of a root's
// broadcasts over a group that are under way.
const windowSize = 256

// window is a sliding window for the detection of duplicates.
type window struct {
	top  uint64 // the highest number seen; 0: none yet
	bits [windowSize / 64]uint64
}

// add records a number, from 1, and reports whether it is new. Numbers below the window
// count as seen.
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

// slide moves the window up so that sequence number n is its highest.
func (w *window) slide(n uint64) {
	if n-w.top >= windowSize {
		w.bits = [windowSize / 64]uint64{}
	} else {
		for i := n; i > w.top; i-- { // n may be the highest number of its type
			w.bits[i%windowSize/64] &^= 1 << (i % 64)
		}
	}
	w.top = n
}
