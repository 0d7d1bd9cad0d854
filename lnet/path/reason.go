package path

// Reason says why a candidate was not chosen.
type Reason uint8

// The reasons, in the order of comparison.
const (
	Chosen           Reason = iota // the candidate was chosen
	Fixed                          // source, destination or router of the message are fixed
	Remembered                     // the peer is not multi-rail, and gets messages from the NI that it knows
	NotReached                     // the candidate's net does not lead to the destination
	Dead                           // the candidate's route is down
	LinkDown                       // the candidate's link is down, or its node says so
	WorseHealth                    // the candidate's health is below that of the chosen one
	WorsePriority                  // the candidate has a higher priority value
	NotPreferred                   // a rule prefers the chosen candidate
	MoreHops                       // the candidate's route has more hops than the chosen one
	MoreBytes                      // more bytes are on their way to the candidate
	FewerCredits                   // the candidate has fewer credits available
	MoreMessages                   // more messages are on their way to the candidate
	UsedLater                      // the candidate was used more recently than the chosen one
	ComesLater                     // the candidate is equal, but later in the list
	NetLinkDown                    // no link of this node to the candidate's net, or to its gateway, is up
	NetWorseHealth                 // the best NI of its net is worse than that of the chosen net
	NetWorsePriority               // the candidate's net has a higher priority value
	NetUsedLater                   // the candidate's net was used more recently
)

var reasons = [...]string{
	Chosen: "chosen", Fixed: "the message must not use it", Remembered: "the peer knows another NI",
	NotReached: "does not lead there", Dead: "route is down", LinkDown: "is down", WorseHealth: "lower health",
	WorsePriority: "higher priority value", NotPreferred: "a rule prefers the chosen one", MoreHops: "more hops",
	MoreBytes: "more bytes queued", FewerCredits: "fewer credits", MoreMessages: "more messages under way",
	UsedLater: "used later", ComesLater: "equal, comes later", NetLinkDown: "our link there is down",
	NetWorseHealth:   "its net has lower health",
	NetWorsePriority: "its net has a higher priority value", NetUsedLater: "its net was used later",
}

func (r Reason) String() string { return reasons[r] }

// MarshalText returns the text of String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// lost returns the reason why NI a is preferred to NI b. The parameter room is the reason that it
// returns if b has fewer credits.
func lost(a, b score, room Reason) Reason {
	const priority = 1<<priorityBits - 1
	switch {
	case a.first>>priorityBits != b.first>>priorityBits:
		if (a.first^b.first)>>priorityBits&isDown != 0 {
			return LinkDown
		}
		return WorseHealth
	case (a.first^b.first)&priority>>preferredBits != 0:
		return WorsePriority
	case a.first != b.first:
		return NotPreferred
	case a.second != b.second:
		return room
	case a.lastUse != b.lastUse:
		return UsedLater
	}
	return ComesLater
}

// lostNet returns the reason why the net b lost against a.
func lostNet(a, b score) Reason {
	switch {
	case (a.first^b.first)&noLink != 0:
		return NetLinkDown
	case a.first != b.first:
		return NetWorseHealth
	case a.second != b.second:
		return NetWorsePriority
	case a.lastUse != b.lastUse:
		return NetUsedLater
	}
	return ComesLater
}
