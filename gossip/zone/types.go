package zone

import (
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// Error says what is wrong with a configuration or an attribute, or why an agent does not
// do something, and what to do.
type Error = engine.Error

// Why an [Agent] does not do something: each is an *[Error].
var (
	ErrNotHere        error = &Error{Why: "no endpoint of the id is a NID of this node"}
	ErrNotJoined      error = &Error{Why: "the node does not take part: it has not joined, or has left"}
	ErrJoined         error = &Error{Why: "the node takes part already"}
	ErrOldIncarnation error = &Error{Why: "the incarnation is not above those before"}
	ErrClosed         error = &Error{Why: "the agent was closed"}
	ErrSelf           error = &Error{Why: "a node does not remove itself: it leaves"}
	ErrNoMember       error = &Error{Why: "that node is no member"}
	ErrUnguarded      error = &Error{Why: "no supervisor guards a zone of that name"}
	ErrNoAnswer       error = &Error{Why: "the supervisor of that zone does not answer with all members"}

	ErrKey   = engine.ErrKey   // an attribute's key does not have 1 to 255 bytes
	ErrTable = engine.ErrTable // the attributes would be too large; errors wrap ErrTable
	ErrKeys  = engine.ErrKeys  // the node would have too many attributes; errors wrap ErrKeys
)

// ID names a node: its name and network endpoints. IDs are comparable; the zero value
// names none.
type ID = wire.ID

// NewID returns the id of a node. Endpoints may come in any order.
func NewID(name string, endpoints ...nid.NID) (ID, error) { return wire.NewID(name, endpoints...) }

// ParseID parses NAME=NID[,NID...].
func ParseID(s string) (ID, error) { return wire.ParseID(s) }

// MustParseID is [ParseID] for tests and constants.
func MustParseID(s string) ID { return wire.MustParseID(s) }

// What an agent knows of nodes.
type (
	// Version says how recent news of a node is. Versions compare first by the node's
	// incarnation, which rises at each restart, and then by a number that only the node itself
	// raises.
	Version = wire.Version
	// Named is a node of another zone and a version of it.
	Named = wire.Named
	// Attribute is a key and a value that a node publishes of itself.
	Attribute = wire.Attribute
	// MemberStatus is what is known of a member.
	MemberStatus = engine.MemberStatus
	// GoneStatus is what is known of a former member.
	GoneStatus = engine.GoneStatus
	// Witness is a node that reported a member which was then removed.
	Witness = engine.Witness
	// LinkStatus is what is known of a neighbour.
	LinkStatus = engine.LinkStatus
	// SuspicionStatus is a report that was not refuted.
	SuspicionStatus = engine.SuspicionStatus
	// Explanation is all that is known of a node.
	Explanation = engine.Explanation
	// DelegationStatus is the role of a node of a base zone in the hierarchy.
	DelegationStatus = engine.DelegationStatus
	// CensusEntry is what the management zone knows of a base zone.
	CensusEntry = engine.CensusEntry
)

// CensusState says whether an entry of the census is up to date.
type CensusState = engine.CensusState

// The states of entries of the census.
const (
	Current = engine.Current // a supervisor hears the active delegate
	Stale   = engine.Stale   // no supervisor hears the delegate, but another delegate or supervisor may still take over
	Lost    = engine.Lost    // no supervisor is expected to hear the delegate again: the zone is dead, or cut off from all supervisors
)

// Event is an event of a zone. Joined and Left alternate for each node and incarnation;
// replaying them gives the view.
type Event = engine.Event

// EventKind tells events apart.
type EventKind = engine.EventKind

// The kinds of events, with the fields of [Event] that they use besides ID.
const (
	Joined            = engine.Joined            // sets Version: the node is in the view now
	Left              = engine.Left              // sets Version, Cause, Code: the node is no longer in the view
	AttributesChanged = engine.AttributesChanged // sets Keys, Attributes: attributes of the node have changed
	Suspected         = engine.Suspected         // sets Version: this node has filed a suspicion
	Doubted           = engine.Doubted           // sets Version: enough nodes report that the node is silent; it is removed soon unless it refutes that
	Refuted           = engine.Refuted           // sets Version: this node's new version, which refutes a suspicion
	Clash             = engine.Clash             // another node claims this node's id, or a member has the name of another member
	Refused           = engine.Refused           // sets Keys: an attribute of this node is not written
	FarAhead          = engine.FarAhead          // sets Version: that version of the node is refused, because it is too far ahead of the clock; reported at most once a minute
	Alarmed           = engine.Alarmed           // sets Zone, Suspect, Reporters: a member of a base zone is suspected
	Contested         = engine.Contested         // sets Zone, Members: a base zone has two active delegates, and the first of Members takes precedence
	SupervisorLost    = engine.SupervisorLost    // sets Zone, Suspect, Trouble: this delegate gave up a supervisor; reported once until the supervisor answers
	SupervisorFound   = engine.SupervisorFound   // sets Zone, Suspect: a supervisor that was given up answers again
	ZoneRefused       = engine.ZoneRefused       // sets Zone, Size: this supervisor guards Size zones, and has no room for another; reported at most once a minute
)

// Cause is why a node left the view.
type Cause = engine.Cause

// The causes.
const (
	Said      = engine.Said      // the node said goodbye, with Code
	Dead      = engine.Dead      // enough nodes suspect the node
	Restarted = engine.Restarted // a newer incarnation of the node joins at once
	Corrected = engine.Corrected // a neighbour had removed the node
	Parted    = engine.Parted    // this node itself has left by [Agent.Leave], and its view is empty
)

// CodeRemoved is the exit code of a node that an administrator removed.
const CodeRemoved = engine.CodeRemoved

// MonitorKey is the attribute by which a node declares itself a monitor, with any value: a
// monitor is notified of suspicions at once.
const MonitorKey = engine.MonitorKey
