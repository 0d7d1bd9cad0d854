//go:build !race

package effort

// Race says whether the race detector watches: programs are slower and larger then, and
// allocate more.
const Race = false
