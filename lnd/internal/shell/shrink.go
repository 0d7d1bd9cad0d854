package shell

import "maps"

// shrinkAt is the least size of a table of peers that is worth copying.
const shrinkAt = 4096

// Shrink returns m, or a copy if m once had many more keys. A map keeps the memory of its largest
// size for ever, and forged or short-lived peers can make a map as large as they like. The owner
// keeps the variable that most points to: the largest length of m since m was made.
func Shrink[K comparable, V any](m map[K]V, most *int) map[K]V {
	if m == nil || *most < shrinkAt || len(m) > *most/4 {
		return m
	}
	*most = len(m)
	small := make(map[K]V, len(m))
	maps.Copy(small, m)
	return small
}
