package engine

import "ulnet/lnet/nid"

// foreign is a list of participants other than this node's, with the positions of its participants
// in this node's list.
type foreign struct {
	list   *List
	ours   []int32            // index in this node's list, by index in the other list; -1: not in this node's list
	vector ageVector          // buffer for ages in the order of this node's list
	theirs ageVector          // buffer for ages in the order of the other list
	heard  map[nid.NID]uint64 // before a commit: the cycle (see ran) of the latest news of a participant that is in the other list alone
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

// hears stores the news that a ping in the other list has of participants that are in that list alone. Ages are
// those of the ping, and ran is the cycle of this node (see ran) in which it arrived.
func (f *foreign) hears(ages []byte, ran uint64) {
	for i, age := range ages {
		if age = olderByte(age); f.ours[i] >= 0 || age >= oldest || uint64(age) > ran {
			continue
		}
		id := f.list.NID(i)
		f.heard[id] = max(f.heard[id], ran-uint64(age))
	}
}

// ageOf returns the age of a participant that is in the other list alone, in this node's cycle ran. It returns unheard if
// the age is above again: that participant would not be alive, and others may have heard it later.
func (f *foreign) ageOf(id nid.NID, ran uint64, again int) byte {
	at, ok := f.heard[id]
	if !ok || ran-at > uint64(again) {
		return unheard
	}
	return byte(ran - at)
}

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
