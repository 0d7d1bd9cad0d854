package wire

import "fmt"

// MaxIncarnation is the highest valid incarnation. Higher ones are refused, because a node with such
// an incarnation could not take an even higher one to refute a suspicion.
const MaxIncarnation = 1<<63 - 1

// Version says how recent news of a node is (MS-5): versions are ordered by Inc, then by Minor.
// The zero value is not a valid version.
type Version struct {
	Inc   uint64 `json:"inc"`   // the node's incarnation, which rises at each restart
	Minor uint32 `json:"minor"` // begins at 1 in each incarnation; only the node itself raises it
}

// IsValid reports whether a node can have this version.
func (v Version) IsValid() bool { return v.Inc > 0 && v.Inc <= MaxIncarnation && v.Minor > 0 }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool { return v.Inc < w.Inc || v.Inc == w.Inc && v.Minor < w.Minor }

// String returns the incarnation and the minor number with a dot between.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Inc, v.Minor) }

// Next returns the version after v: the next minor number or, after the highest minor number, the first
// version of the next incarnation.
func (v Version) Next() Version {
	if v.Minor == 1<<32-1 {
		return Version{v.Inc + 1, 1}
	}
	return Version{v.Inc, v.Minor + 1}
}
