package wire

import "fmt"

// Refusal is the reason why a node refuses a message between members and managers. The
// message's sender is told the reason.
type Refusal uint32

// The reasons.
const (
	RefusedAhead    Refusal = 1 + iota // the epoch or incarnation is more than a day above the clock
	RefusedStranger                    // the sender is not among the nodes that may be members
	RefusedQuorum                      // the manager hears too few members
	RefusedLimits                      // the sender's multicast datagrams are shorter than the group requires
	RefusedVersion                     // the sender has another protocol version
	RefusedFull                        // the group has no room for further members
)

// String returns the meaning of a reason for the node whose message is refused.
func (r Refusal) String() string {
	switch r {
	case RefusedAhead:
		return "an epoch or incarnation is more than a day above the wall clock: set the clocks right, and restart lnetd where they were wrong"
	case RefusedStranger:
		return "the node is not on the list of those that may be members: add it to Admit of Manage and Join (members of the group)"
	case RefusedQuorum:
		return "the group has no manager that hears most members of its latest list: reconnect them, or have those that are gone for good expelled (Agent.Expel, 'scollctl mcast expel')"
	case RefusedLimits:
		return "the datagrams of this node are shorter than LeastFragment (least_fragment) of the group: use a network with a larger MTU, or lower it on the managers"
	case RefusedVersion:
		return "the node runs another version of reliable multicast: install the same version of ulnet on all nodes of the group, and restart lnetd there"
	case RefusedFull:
		return "the group has no room for further members: have Members of Config (max_members) raised on its managers, or let other nodes leave"
	}
	return fmt.Sprintf("refused for reason %d", uint32(r))
}
