package path

// Reason tells why a candidate lost.
type Reason uint8

// The reasons.
const (
	Chosen           Reason = iota // it did not lose
	Fixed                          // source, destination or router of the message are fixed
	Remembered                     // the peer is not multi-rail, and gets messages from the NI that it knows
	NotReached                     // its net does not lead to the destination
	Dead                           // the route is down
	LinkDown                       // its link is down, or its node says that it is
	WorseHealth                    // than the chosen one
	WorsePriority                  // a higher priority value
	NotPreferred                   // a rule prefers the chosen one
	MoreHops                       // than the chosen route
	MoreBytes                      // are on their way to it
	FewerCredits                   // are available
	MoreMessages                   // are on their way to it
	UsedLater                      // than the chosen one
	ComesLater                     // equal in everything, and later in the list
	NetWorseHealth                 // the best NI of its net is worse than that of the chosen net
	NetWorsePriority               // its net has a higher priority value
	NetUsedLater                   // its net was used later
)

var reasons = [...]string{
	Chosen: "chosen", Fixed: "the message must not use it", Remembered: "the peer knows another NI",
	NotReached: "does not lead there", Dead: "route is down", LinkDown: "is down", WorseHealth: "lower health",
	WorsePriority: "higher priority value", NotPreferred: "a rule prefers the chosen one", MoreHops: "more hops",
	MoreBytes: "more bytes queued", FewerCredits: "fewer credits", MoreMessages: "more messages under way",
	UsedLater: "used later", ComesLater: "equal, comes later", NetWorseHealth: "its net has lower health",
	NetWorsePriority: "its net has a higher priority value", NetUsedLater: "its net was used later",
}

func (r Reason) String() string { return reasons[r] }

// MarshalText returns what String does.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// reasonsOf are the reasons for each field of a score.
type reasonsOf struct{ fitness, rank, preferred, room, lastUse Reason }

var (
	ofLocal  = reasonsOf{WorseHealth, WorsePriority, NotPreferred, FewerCredits, UsedLater}
	ofRemote = reasonsOf{WorseHealth, WorsePriority, NotPreferred, MoreMessages, UsedLater}
	ofNet    = reasonsOf{NetWorseHealth, NetWorsePriority, NotPreferred, FewerCredits, NetUsedLater}
)

// lost is the reason why b lost against a.
func lost(a, b score, of reasonsOf) Reason {
	switch {
	case a.fitness != b.fitness && b.fitness == -1:
		return LinkDown
	case a.fitness != b.fitness:
		return of.fitness
	case a.rank != b.rank:
		return of.rank
	case a.preferred != b.preferred:
		return of.preferred
	case a.room != b.room:
		return of.room
	case a.lastUse != b.lastUse:
		return of.lastUse
	}
	return ComesLater
}
