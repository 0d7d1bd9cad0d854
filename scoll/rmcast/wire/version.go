package wire

import (
	"cmp"
	"fmt"

	"ulnet/lnet/nid"
)

// GroupID is the number of a group, 1 to 65535. Drivers map it to a multicast address.
type GroupID uint32

// maxGroup is the highest number of a group.
const maxGroup GroupID = 1<<16 - 1

// Check returns an error if g is not a valid number of a group.
func (g GroupID) Check() error {
	if g == 0 || g > maxGroup {
		return fmt.Errorf("rmcast: a group has a number from 1 to %d, not %d", maxGroup, g)
	}
	return nil
}

// Version names a list of members (RM-15). Versions of a later manager are above all versions
// of an earlier one (RM-A9). The zero value names none.
type Version struct {
	Epoch   uint64 // epoch of the manager
	Counter uint64 // number of the manager's list, from 1
}

// Compare compares versions by age.
func (v Version) Compare(w Version) int {
	if c := cmp.Compare(v.Epoch, w.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(v.Counter, w.Counter)
}

// IsValid reports whether v names a list.
func (v Version) IsValid() bool { return v.Counter != 0 }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Epoch, v.Counter) }

// ID identifies a member forever: a node that restarts, or joins again after it was expelled,
// is a new member.
type ID struct {
	NID         nid.NID // NID of the member's node
	Incarnation uint64  // rises with each start of the node, and each time the node joins
}

func (id ID) String() string { return fmt.Sprintf("%v/%d", id.NID, id.Incarnation) }

// Member is an entry of a list of members (RM-14).
type Member struct {
	ID
	Number uint32 // communication number, never reused in an epoch
}
