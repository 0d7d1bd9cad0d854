package wire

import (
	"cmp"
	"fmt"

	"ulnet/lnet/nid"
)

// GroupID is the number of a group, 1 to 65535, which drivers map to an address of theirs.
type GroupID uint32

// maxGroup is the highest number of a group.
const maxGroup GroupID = 1<<16 - 1

// Check returns an error for a number that no group has.
func (g GroupID) Check() error {
	if g == 0 || g > maxGroup {
		return fmt.Errorf("rmcast: a group has a number from 1 to %d, not %d", maxGroup, g)
	}
	return nil
}

// Version names one list of members (RM-15). Versions of a later manager are
// above all of an earlier one (RM-A9). The zero value names none.
type Version struct {
	Epoch   uint64 // of the manager
	Counter uint64 // of its lists, from 1
}

// Compare orders versions by age.
func (v Version) Compare(w Version) int {
	if c := cmp.Compare(v.Epoch, w.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(v.Counter, w.Counter)
}

// IsValid reports whether v names a list.
func (v Version) IsValid() bool { return v.Counter != 0 }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Counter) }

// ID tells members apart for ever: a node that restarts, or joins again after it
// was expelled, is another one.
type ID struct {
	NID         nid.NID
	Incarnation uint64 // rises with every incarnation of the node, and every time it joins
}

func (id ID) String() string { return fmt.Sprintf("%v/%d", id.NID, id.Incarnation) }

// Member is a member as lists have it (RM-14).
type Member struct {
	ID
	Number uint32 // the communication number, never used again in an epoch
}
