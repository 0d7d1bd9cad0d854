package engine

import "ulnet/lnet/nid"

// foreign is a list of participants other than this node's, with the positions of its participants
// in this node's list.
type foreign struct {
	list   *List
	ours   []int32            // index in this node's list, by index in the other list; -1: not in this node's list
	vector ageVector          // buffer for ages in the order of this node's list
	theirs ageVector          // buffer for ages in the order of the other list
	heard  map[nid.NID]uint64 // before a commit: the cycle (see ran) in which this node last heard a participant that is in the other list alone
}

func newForeign(list, ours *List) *foreign {
	f := &foreign{list: list, ours: make([]int32, list.Len()), heard: make(map[nid.NID]uint64)}
	for i := range f.ours {
		f.ours[i] = int32(ours.Index(list.NID(i)))
	}
	f.vector, f.theirs = newAgeVector(ours.Len()), newAgeVector(list.Len())
	return f
}

func (f *foreign) toOurs(i int) int { return int(f.ours[i]) }

// translate converts a vector in the order of the foreign list to the order of this node's list.
// The result is valid until the next call.
func (f *foreign) translate(theirs []byte) []byte {
	f.vector.forget()
	for i, age := range theirs {
		if k := f.ours[i]; k >= 0 {
			f.vector.bytes[k] = age
		}
	}
	return f.vector.Bytes()
}

// render converts this node's vector to the order of the foreign list. The result is valid until
// the next call.
func (f *foreign) render(ours ageVector) ageVector {
	f.theirs.forget()
	for i, k := range f.ours {
		if k >= 0 {
			f.theirs.bytes[i] = ours.bytes[k]
		}
	}
	return f.theirs
}
